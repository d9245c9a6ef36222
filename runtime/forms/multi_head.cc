#include "runtime/forms/multi_head.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/kernel/doubles.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

// Whether a mask lets key `key` of a query take part.
using Allows = std::function<bool(size_t batch, size_t query, size_t key)>;

struct Mask {
  Allows allows = nullptr;  // null: all
  bool differs_by_query = false;
};

absl::StatusOr<Mask> ReadMask(const KernelContext& context, size_t port, const Dims& scores) {
  if (!context.HasInput(port)) return Mask();
  const int64_t batch = scores[0], queries = scores[2], keys = scores[3];
  const Tensor& mask = context.Input(port);
  AMP_ASSIGN_OR_RETURN(std::vector<double> values, ReadDoubles(mask));
  const bool has_beginnings = mask.dims() == Dims{2 * batch};
  if (mask.dims() == Dims{batch} || has_beginnings) {
    return Mask{[values = std::move(values), has_beginnings, batch](size_t sample, size_t, size_t key) {
      const double begin = has_beginnings ? values[static_cast<size_t>(batch) + sample] : 0;
      return static_cast<double>(key) < values[sample] && static_cast<double>(key) >= begin;
    }};
  }
  const bool is_by_query = mask.dims() == Dims{batch, queries, keys};
  if (mask.dims() != Dims{batch, keys} && !is_by_query) {
    return ModelError("expected a mask [", batch, "], [", batch, ",", keys, "] or [", batch, ",", queries, ",", keys,
                      "], found ", mask.TypeText());
  }
  const auto rows = static_cast<size_t>(is_by_query ? queries : 1), width = static_cast<size_t>(keys);
  const auto allows = [values = std::move(values), rows, width](size_t sample, size_t query, size_t key) {
    return values[(sample * rows + (rows == 1 ? 0 : query)) * width + key] > 0;
  };
  return Mask{allows, is_by_query};
}

}  // namespace

MultiHeadForm ReadMultiHead(const Node& node) {
  MultiHeadForm form;
  form.heads = GetInt(node, "num_heads", 0);
  const float scale = GetFloat(node, "scale", 0);
  if (scale != 0) form.scale = scale;
  form.barred = GetFloat(node, "mask_filter_value", form.barred);
  form.is_causal = GetInt(node, "unidirectional", 0) != 0;
  return form;
}

absl::StatusOr<std::vector<int64_t>> ReadMultiHeadWidths(const Node& node, int64_t columns) {
  std::vector<int64_t> widths = GetInts(node, "qkv_hidden_sizes").value_or(std::vector<int64_t>(3, columns / 3));
  const bool fits = widths.size() == 3 && widths[0] >= 0 && widths[1] >= 0 && widths[0] <= columns &&
                    widths[1] <= columns - widths[0] && widths[2] == columns - widths[0] - widths[1];
  if (fits) return widths;
  return ModelError("expected widths of q, k and v that make ", columns, ", found ", DimsText(widths));
}

absl::StatusOr<Tensor> MakeMultiHeadMask(const KernelContext& context, const MultiHeadForm& form, size_t port,
                                         const Dims& scores, int64_t past) {
  AMP_ASSIGN_OR_RETURN(const Mask mask, ReadMask(context, port, scores));
  const bool is_causal = form.is_causal && scores[2] > 1;
  if (mask.allows == nullptr && !is_causal) return Tensor();
  const int64_t rows = mask.differs_by_query || is_causal ? scores[2] : 1;
  AMP_ASSIGN_OR_RETURN(Tensor added, Tensor::Create(DType::kFloat32, {scores[0], 1, rows, scores[3]}));
  const auto out = added.mutable_elements<float>();
  const auto queries = static_cast<size_t>(rows), keys = static_cast<size_t>(scores[3]);
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t key = i % keys, query = i / keys % queries;
    out[i] = mask.allows == nullptr || mask.allows(i / keys / queries, query, key) ? 0 : form.barred;
    const bool is_ahead = key > query + static_cast<size_t>(past) && query + 1 < queries;
    if (is_causal && is_ahead) out[i] = std::numeric_limits<float>::lowest();
  }
  return added;
}

}  // namespace amp
