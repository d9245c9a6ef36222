#include "runtime/kernel/contraction.h"

#include <algorithm>
#include <utility>
#include <vector>

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

}  // namespace

std::optional<Contraction> ReadEquation(const Node& node) {
  const std::string dense = absl::StrReplaceAll(GetString(node, "equation", ""), {{" ", ""}});
  const std::vector<std::string> sides = absl::StrSplit(dense, "->");
  const std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  if (sides.size() != 2 || terms.size() != 2 || Has(dense, '.')) return std::nullopt;
  Contraction result{.a = terms[0], .b = terms[1], .y = sides[1], .batch = {}, .rows = {}, .columns = {}, .sum = {}};
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

bool DoSizesAgree(const Contraction& contraction, const Tensor& a, const Tensor& b) {
  if (contraction.a.size() != a.rank() || contraction.b.size() != b.rank()) return false;
  for (size_t i = 0; i < contraction.a.size(); ++i) {
    const size_t at = contraction.b.find(contraction.a[i]);
    if (at != std::string::npos && b.dim(at) != a.dim(i)) return false;
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
