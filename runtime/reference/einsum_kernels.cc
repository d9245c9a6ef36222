// Einsum: operands are contracted one after another, each time by a batch of matrix products.
//
//   "bij,bjk,k->bi":  bij * bjk -> bik (a batch for each b, a sum over j);  bik * k -> bi (a sum over k)
//
// A label is one character, or one axis of the ellipsis. What is summed in each step are the labels that neither the
// output nor a later operand has.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/families.h"
#include "runtime/reference/matrix_product.h"

namespace amp {
namespace {

// The character; axes of the ellipsis count down from -1, the last one. So their order is that of implicit outputs.
using Label = int;
using Labels = std::vector<Label>;

// Elements of an operand by labels, one stride for each.
struct Term {
  Tensor elements;  // of an accumulator type
  std::map<Label, int64_t> strides;
};

struct Equation {
  std::vector<std::string> terms;
  std::string output;
  bool implicit = false;
};

absl::StatusOr<Equation> ParseEquation(const std::string& text, size_t num_operands) {
  const std::string dense = absl::StrReplaceAll(text, {{" ", ""}});
  const std::vector<std::string> sides = absl::StrSplit(dense, "->");
  Equation equation = {.terms = absl::StrSplit(sides[0], ','), .output = "", .implicit = sides.size() == 1};
  if (sides.size() == 2) equation.output = sides[1];
  if (sides.size() > 2 || equation.terms.size() != num_operands) {
    return ModelError("equation: expected ", num_operands, " terms and at most one '->', found '", Escaped(text), "'");
  }
  return equation;
}

// Labels of a term, whose ellipsis stands for `ellipsis` axes.
absl::StatusOr<Labels> ParseTerm(absl::string_view term, size_t ellipsis) {
  Labels labels;
  bool seen = false;
  while (!term.empty()) {
    const char c = term.front();
    if (absl::StartsWith(term, "...") && !seen) {
      for (size_t i = ellipsis; i > 0; --i) labels.push_back(-static_cast<Label>(i));
      term.remove_prefix(3);
      seen = true;
      continue;
    }
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
      return ModelError("equation: expected letters and at most one '...' in a term, found '",
                        Escaped(std::string(term)), "'");
    }
    labels.push_back(c);
    term.remove_prefix(1);
  }
  return labels;
}

absl::StatusOr<Labels> LabelsOf(absl::string_view term, const Tensor& x) {
  const bool has_ellipsis = absl::StrContains(term, "...");
  const size_t letters = term.size() - (has_ellipsis ? 3 : 0);
  const bool fits = has_ellipsis ? x.rank() >= letters : x.rank() == letters;
  if (!fits)
    return ModelError("equation: expected axes as in '", Escaped(std::string(term)), "', found ", x.TypeText());
  return ParseTerm(term, x.rank() - std::min(letters, x.rank()));
}

// Size of each label. Errors: one that has two, neither of which is 1.
absl::Status AddSizes(const Labels& labels, const Tensor& x, std::map<Label, int64_t>& sizes) {
  for (size_t i = 0; i < labels.size(); ++i) {
    int64_t& size = sizes.try_emplace(labels[i], 1).first->second;
    if (size == 1) size = x.dim(i);
    if (x.dim(i) != size && x.dim(i) != 1) {
      return ModelError("equation: expected one size for each label, found ", size, " and ", x.dim(i));
    }
  }
  return absl::OkStatus();
}

// A label that comes twice walks along the diagonal; an axis of size 1 is repeated.
Term MakeTerm(const Labels& labels, Tensor elements) {
  Term term;
  const Dims strides = BroadcastStrides(elements.dims(), elements.dims());
  for (size_t i = 0; i < labels.size(); ++i) term.strides[labels[i]] += strides[i];
  term.elements = std::move(elements);
  return term;
}

Dims SizesOf(const Labels& labels, const std::map<Label, int64_t>& sizes) {
  Dims dims;
  for (const Label label : labels) dims.push_back(sizes.at(label));
  return dims;
}

Labels Joined(absl::Span<const Labels> parts) {
  Labels all;
  for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// The elements in the order of `labels`, row by row; those that the term lacks repeat.
absl::StatusOr<Tensor> Arrange(const Term& term, const Labels& labels, const std::map<Label, int64_t>& sizes) {
  const Dims dims = SizesOf(labels, sizes);
  Dims strides;
  for (const Label label : labels) {
    const auto it = term.strides.find(label);
    strides.push_back(it == term.strides.end() ? 0 : it->second);
  }
  AMP_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(term.elements.dtype(), dims));
  AMP_RETURN_IF_ERROR(CopyStrided(term.elements, 0, strides, result));
  return result;
}

// The number of elements of a shape that may be too large for a tensor. Errors: it is.
absl::StatusOr<int64_t> Count(const Labels& labels, const std::map<Label, int64_t>& sizes) {
  int64_t count = 1;
  for (const Label label : labels) {
    if (__builtin_mul_overflow(count, sizes.at(label), &count)) return LimitError("expected fewer elements");
  }
  return count;
}

// Multiplies two terms, and sums over their labels that are not in `keep`.
absl::StatusOr<Term> Contract(const Term& a, const Term& b, const std::set<Label>& keep,
                              const std::map<Label, int64_t>& sizes) {
  Labels batch, left, right, sum;
  for (const auto& [label, size] : sizes) {
    const bool in_a = a.strides.contains(label), in_b = b.strides.contains(label);
    if (!in_a && !in_b) continue;
    (!keep.contains(label) ? sum : in_a && in_b ? batch : in_a ? left : right).push_back(label);
  }
  AMP_ASSIGN_OR_RETURN(const int64_t batches, Count(batch, sizes));
  AMP_ASSIGN_OR_RETURN(const int64_t m, Count(left, sizes));
  AMP_ASSIGN_OR_RETURN(const int64_t k, Count(sum, sizes));
  AMP_ASSIGN_OR_RETURN(const int64_t n, Count(right, sizes));
  AMP_ASSIGN_OR_RETURN(const Tensor of_a, Arrange(a, Joined({batch, left, sum}), sizes));
  AMP_ASSIGN_OR_RETURN(const Tensor of_b, Arrange(b, Joined({batch, sum, right}), sizes));
  AMP_ASSIGN_OR_RETURN(const Tensor matrices_a, Reshape(of_a, {batches, m, k}));
  AMP_ASSIGN_OR_RETURN(const Tensor matrices_b, Reshape(of_b, {batches, k, n}));
  AMP_ASSIGN_OR_RETURN(const Tensor product, MultiplyMatrices(matrices_a, matrices_b));
  const Labels labels = Joined({batch, left, right});
  AMP_ASSIGN_OR_RETURN(Tensor elements, Reshape(product, SizesOf(labels, sizes)));
  return MakeTerm(labels, std::move(elements));
}

absl::StatusOr<Labels> OutputLabels(const Equation& equation, absl::Span<const Labels> operands,
                                    const std::map<Label, int64_t>& sizes) {
  std::map<Label, int> counts;
  size_t ellipsis = 0;
  for (const Labels& labels : operands) {
    for (const Label label : labels) {
      ++counts[label];
      if (label < 0) ellipsis = std::max(ellipsis, static_cast<size_t>(-label));
    }
  }
  Labels output;
  if (equation.implicit) {
    for (const auto& [label, count] : counts) {
      if (label < 0 || count == 1) output.push_back(label);
    }
    return output;
  }
  AMP_ASSIGN_OR_RETURN(output, ParseTerm(equation.output, ellipsis));
  const std::set<Label> distinct(output.begin(), output.end());
  for (const Label label : output) {
    if (!sizes.contains(label) || distinct.size() != output.size()) {
      return ModelError("equation: expected labels of operands in the output, each once, found '",
                        Escaped(equation.output), "'");
    }
  }
  return output;
}

absl::Status Einsum(KernelContext& context) {
  const std::string text = GetString(context.node(), "equation", "");
  AMP_ASSIGN_OR_RETURN(const Equation equation, ParseEquation(text, context.num_inputs()));
  std::map<Label, int64_t> sizes;
  std::vector<Labels> labels;
  std::vector<Term> terms;
  for (size_t i = 0; i < context.num_inputs(); ++i) {
    AMP_ASSIGN_OR_RETURN(Tensor wide, ToAccumulator(context.Input(i)));
    AMP_ASSIGN_OR_RETURN(Labels own, LabelsOf(equation.terms[i], wide));
    AMP_RETURN_IF_ERROR(AddSizes(own, wide, sizes));
    terms.push_back(MakeTerm(own, std::move(wide)));
    labels.push_back(std::move(own));
  }
  AMP_ASSIGN_OR_RETURN(const Labels output, OutputLabels(equation, labels, sizes));
  AMP_ASSIGN_OR_RETURN(Tensor one, FilledFloat64({}, 1));
  if (terms[0].elements.dtype() == DType::kUint64) one = Tensor::Of<uint64_t>(DType::kUint64, {}, {1});
  Term result = MakeTerm({}, std::move(one));
  for (size_t i = 0; i < terms.size(); ++i) {
    std::set<Label> keep(output.begin(), output.end());
    for (size_t later = i + 1; later < terms.size(); ++later) keep.insert(labels[later].begin(), labels[later].end());
    AMP_ASSIGN_OR_RETURN(result, Contract(result, terms[i], keep, sizes));
  }
  AMP_ASSIGN_OR_RETURN(const Tensor sum, Arrange(result, output, sizes));
  AMP_ASSIGN_OR_RETURN(Tensor y, FromAccumulator(sum, context.Input(0).dtype()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"Einsum", Einsum},
};

}  // namespace

absl::Span<const KernelRow> EinsumKernels() { return kRows; }

}  // namespace amp
