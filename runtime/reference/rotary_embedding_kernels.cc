// RotaryEmbedding, of ai.onnx and of com.microsoft, whose inputs are in another order.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/kernel/no_kernel_error.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/attention_families.h"
#include "runtime/reference/attention_heads.h"
#include "runtime/reference/rotary.h"

namespace amp {
namespace {

RotaryPairs PairsOf(const Node& node) {
  return GetInt(node, "interleaved", 0) != 0 ? RotaryPairs::kNeighbours : RotaryPairs::kHalves;
}

// How many elements of a token of `size` are turned.
absl::StatusOr<int64_t> RotatedElements(const Node& node, int64_t size) {
  const int64_t stated = GetInt(node, "rotary_embedding_dim", 0), rotated = stated == 0 ? size : stated;
  if (rotated >= 0 && rotated <= size && rotated % 2 == 0) return rotated;
  return ModelError("expected an even number up to ", size, " of elements to rotate, found ", rotated);
}

absl::Status CheckCaches(const KernelContext& context, const Rotation& rotation, size_t port, int64_t half) {
  if (rotation.cosines.dims().back() == half) return absl::OkStatus();
  return ModelError("expected both caches [.., ", half, "], found ", context.Input(port).TypeText());
}

absl::Status Finish(KernelContext& context, Tensor rotated) {
  if (context.Input(0).rank() == 3) {
    AMP_ASSIGN_OR_RETURN(rotated, JoinHeads(rotated));
  }
  return SetRounded(context, 0, rotated, context.Input(0).dtype());
}

// Caches of ai.onnx are rows by position, or by batch and place in the sequence.
absl::Status SetRows(const KernelContext& context, const Tensor& x, Rotation& rotation) {
  const int64_t batch = x.dim(0), length = x.dim(2), half = rotation.cosines.dims().back();
  if (context.HasInput(3)) {
    if (rotation.cosines.rank() != 2 || context.Input(3).dims() != Dims{batch, length}) {
      return ModelError("expected caches of rank 2 and position_ids ", DimsText({batch, length}), ", found ",
                        context.Input(1).TypeText(), " and ", context.Input(3).TypeText());
    }
    AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> positions, context.InputInts(3));
    return SetRotaryPositions(positions, rotation);
  }
  if (rotation.cosines.dims() != Dims{batch, length, half}) {
    return ModelError("expected caches ", DimsText({batch, length, half}), ", found ", context.Input(1).TypeText());
  }
  const int64_t tokens = x.num_elements() == 0 ? 0 : batch * length;
  for (int64_t i = 0; i < tokens; ++i) rotation.rows.push_back(static_cast<size_t>(i));
  return absl::OkStatus();
}

absl::Status RotaryEmbedding(KernelContext& context) {
  const Node& node = context.node();
  AMP_ASSIGN_OR_RETURN(const Tensor wide, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor x, SplitHeads(wide, GetInt(node, "num_heads", 0), "num_heads"));  // [B, H, L, E]
  AMP_ASSIGN_OR_RETURN(const int64_t rotated, RotatedElements(node, x.dim(3)));
  Rotation rotation;
  rotation.pairs = PairsOf(node);
  AMP_RETURN_IF_ERROR(ReadRotaryCaches(context, 1, 2, rotation));
  AMP_RETURN_IF_ERROR(CheckCaches(context, rotation, 1, rotated / 2));
  AMP_RETURN_IF_ERROR(SetRows(context, x, rotation));
  AMP_ASSIGN_OR_RETURN(Tensor result, Rotate(x, rotation));
  return Finish(context, std::move(result));
}

// ---- com.microsoft: input, position_ids, cos_cache, sin_cache
// ----------------------------------------------------------

// Without a number of heads, a head is as wide as the caches say.
absl::StatusOr<Tensor> SplitByCache(const KernelContext& context, const Rotation& rotation) {
  AMP_ASSIGN_OR_RETURN(const Tensor wide, ToFloat64(context.Input(0)));
  const Node& node = context.node();
  if (wide.rank() != 3 || GetInt(node, "rotary_embedding_dim", 0) != 0) {
    return SplitHeads(wide, GetInt(node, "num_heads", 0), "num_heads");
  }
  const int64_t size = 2 * rotation.cosines.dims().back();
  return SplitHeads(wide, size == 0 ? 0 : wide.dim(2) / size, "heads");
}

// One position is that of the first token of every sequence.
absl::StatusOr<std::vector<int64_t>> PositionsOf(const KernelContext& context, const Tensor& x) {
  AMP_ASSIGN_OR_RETURN(std::vector<int64_t> positions, context.InputInts(1));
  const int64_t batch = x.dim(0), length = x.dim(2);
  if (context.Input(1).dims() == Dims{batch, length}) return positions;
  if (positions.size() != 1 || context.Input(1).rank() != 1) {
    return ModelError("position_ids: expected [1] or ", DimsText({batch, length}), ", found ",
                      context.Input(1).TypeText());
  }
  const int64_t first = positions[0];
  positions.clear();
  for (int64_t i = 0; i < batch * length; ++i) positions.push_back(first + i % length);
  return positions;
}

absl::Status MicrosoftRotaryEmbedding(KernelContext& context) {
  const Node& node = context.node();
  if (GetInt(node, "is_packed_batching", 0) != 0) {
    return NoKernelError(absl::StrCat("is_packed_batching: expected 0: no kernel for it"));
  }
  Rotation rotation;
  rotation.pairs = PairsOf(node);
  AMP_RETURN_IF_ERROR(ReadRotaryCaches(context, 2, 3, rotation));
  if (rotation.cosines.rank() != 2) {
    return ModelError("expected caches of rank 2, found ", context.Input(2).TypeText());
  }
  AMP_ASSIGN_OR_RETURN(const Tensor x, SplitByCache(context, rotation));
  AMP_ASSIGN_OR_RETURN(const int64_t rotated, RotatedElements(node, x.dim(3)));
  AMP_RETURN_IF_ERROR(CheckCaches(context, rotation, 2, rotated / 2));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> positions, PositionsOf(context, x));
  AMP_RETURN_IF_ERROR(SetRotaryPositions(positions, rotation));
  AMP_ASSIGN_OR_RETURN(Tensor result, Rotate(x, rotation));
  return Finish(context, std::move(result));
}

constexpr KernelRow kRows[] = {
    {"RotaryEmbedding", RotaryEmbedding},
    {"RotaryEmbedding", MicrosoftRotaryEmbedding, "com.microsoft"},
};

}  // namespace

absl::Span<const KernelRow> RotaryEmbeddingKernels() { return kRows; }

}  // namespace amp
