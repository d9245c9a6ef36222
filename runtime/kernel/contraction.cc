#include "runtime/kernel/contraction.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

bool AreDistinct(std::string labels) {
  std::sort(labels.begin(), labels.end());
  return std::adjacent_find(labels.begin(), labels.end()) == labels.end();
}

bool Has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

int64_t SizeOf(const std::string& labels, const std::string& of, const Tensor& x) {
  int64_t size = 1;
  for (const char label : labels) size *= x.dim(of.find(label));
  return size;
}

// Returns the distinct labels among `candidates` that `labels` has, in the order in which it has them.
std::string LabelsIn(const std::string& candidates, const std::string& labels) {
  std::string found;
  for (const char label : labels) {
    if (Has(candidates, label) && !Has(found, label)) found += label;
  }
  return found;
}

// Returns nothing if it is no batch of matrix products.
std::optional<Contraction> ContractionOf(const std::string& a, const std::string& b, const std::string& y) {
  Contraction result{.a = a, .b = b, .y = y, .batch = {}, .rows = {}, .columns = {}, .sum = {}};
  if (!AreDistinct(result.a) || !AreDistinct(result.b) || !AreDistinct(result.y)) return std::nullopt;
  for (const char label : result.y) {
    const bool in_a = Has(result.a, label), in_b = Has(result.b, label);
    if (!in_a && !in_b) return std::nullopt;
    (in_a && in_b ? result.batch : in_a ? result.rows : result.columns) += label;
  }
  for (const char label : result.a) {
    if (Has(result.y, label)) continue;
    if (!Has(result.b, label)) return std::nullopt;
    result.sum += label;
  }
  const bool sums_alone = std::any_of(result.b.begin(), result.b.end(),
                                      [&](char label) { return !Has(result.y, label) && !Has(result.a, label); });
  if (sums_alone || result.sum.empty()) return std::nullopt;
  return result;
}

}  // namespace

std::vector<Contraction> ReadEquation(const Node& node) {
  const std::string dense = absl::StrReplaceAll(GetString(node, "equation", ""), {{" ", ""}});
  const std::vector<std::string> sides = absl::StrSplit(dense, "->");
  const std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  if (sides.size() != 2 || terms.size() < 2 || Has(dense, '.')) return {};
  std::vector<Contraction> products;
  std::string joined = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    const std::vector<std::string> later(terms.begin() + static_cast<std::ptrdiff_t>(i) + 1, terms.end());
    std::string kept = sides[1];
    if (!later.empty()) kept = LabelsIn(absl::StrCat(kept, absl::StrJoin(later, "")), joined + terms[i]);
    const std::optional<Contraction> product = ContractionOf(joined, terms[i], kept);
    if (!product.has_value()) return {};
    products.push_back(*product);
    joined = kept;
  }
  return products;
}

bool DoSizesAgree(absl::Span<const Contraction> products, const KernelContext& context) {
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < context.num_inputs(); ++i) {
    const std::string& labels = i == 0 ? products[0].a : products[i - 1].b;
    const Tensor& x = context.Input(i);
    if (labels.size() != x.rank()) return false;
    for (size_t axis = 0; axis < labels.size(); ++axis) {
      if (sizes.try_emplace(labels[axis], x.dim(axis)).first->second != x.dim(axis)) return false;
    }
  }
  return true;
}

ContractionSizes SizesOf(const Contraction& form, const Tensor& a, const Tensor& b) {
  return {SizeOf(form.batch, form.a, a), SizeOf(form.rows, form.a, a), SizeOf(form.sum, form.a, a),
          SizeOf(form.columns, form.b, b)};
}

Dims DimsOf(const Contraction& form, const std::string& labels, const Tensor& a, const Tensor& b) {
  Dims dims;
  for (const char label : labels) {
    dims.push_back(Has(form.a, label) ? a.dim(form.a.find(label)) : b.dim(form.b.find(label)));
  }
  return dims;
}

absl::StatusOr<Tensor> Ordered(const KernelContext& context, const Tensor& x, const std::string& labels,
                               const std::string& wanted) {
  if (labels == wanted) return x;
  const Dims strides = RowStrides(x.dims());
  Dims dims, wanted_strides;
  for (const char label : wanted) {
    dims.push_back(x.dim(labels.find(label)));
    wanted_strides.push_back(strides[labels.find(label)]);
  }
  AMP_ASSIGN_OR_RETURN(Tensor result, context.MakeScratch(x.dtype(), std::move(dims)));
  AMP_RETURN_IF_ERROR(CopyStrided(x, 0, wanted_strides, result));
  return result;
}

}  // namespace amp
