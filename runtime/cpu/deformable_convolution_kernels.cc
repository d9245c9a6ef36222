// DeformConv in float32: what the moved taps read is gathered into the columns of a matrix, which oneDNN multiplies by
// the weights.
//
//   columns [C * taps, positions]     of one sample: channel c at what offset moves each tap to, times the mask
#include <algorithm>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/cpu/batched_product.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/prepared.h"
#include "runtime/forms/deformable.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/float_parts.h"
#include "runtime/loops/weighted_rows.h"
#include "runtime/onednn/open_library.h"
#include "runtime/reference/accumulator.h"

namespace amp {
namespace {

Refusal WhyNotDeformable(const KernelContext& context) {
  if (onednn::OpenLibrary().library == nullptr) return "oneDNN is not there";
  for (size_t i = 0; i < context.num_inputs(); ++i) {
    if (context.HasInput(i) && !IsLoopFloat(context.Input(i).dtype())) return kNoLoopFloat;
  }
  const absl::StatusOr<DeformableForm> form = ReadDeformable(context);
  if (!form.ok()) return "what does not fit";
  return form->positions == 0 ? "no elements" : nullptr;
}

// The inputs that move taps, in float64: a place among thousands of elements needs its digits.
struct Moves {
  Tensor offset, mask;
};

// The rows of `columns` that one tap of an offset group fills.
void GatherTap(const DeformableForm& form, const Moves& moves, size_t sample, size_t group, size_t tap, const float* x,
               float* columns) {
  const size_t at = form.FirstOfTap(sample, group, tap), at_once = PositionsAtOnce(form);
  const size_t channels = form.channels_in_offset_group();
  const double* const masks = moves.mask.num_elements() == 0 ? nullptr : Doubles(moves.mask).data() + at;
  for (size_t first = 0; first < form.positions; first += at_once) {
    const size_t count = std::min(at_once, form.positions - first);
    const double* const offsets = Doubles(moves.offset).data() + at * form.num_axes();
    const FloatWeights weights(ElementsOfTap(form, offsets, tap, first, count));
    for (size_t c = group * channels; c < (group + 1) * channels; ++c) {
      float* const row = columns + (c * form.taps + tap) * form.positions + first;
      weights.OfRow(x + c * form.image_size, row);
      for (size_t p = 0; masks != nullptr && p < count; ++p) row[p] *= static_cast<float>(masks[first + p]);
    }
  }
}

absl::StatusOr<Moves> ReadMoves(const KernelContext& context) {
  Moves moves;
  AMP_ASSIGN_OR_RETURN(moves.offset, ToFloat64(context.Input(kDeformableOffset)));
  if (context.HasInput(kDeformableMask)) {
    AMP_ASSIGN_OR_RETURN(moves.mask, ToFloat64(context.Input(kDeformableMask)));
  }
  return moves;
}

absl::Status DeformConv(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const DeformableForm form, ReadDeformable(context));
  AMP_ASSIGN_OR_RETURN(const Moves moves, ReadMoves(context));
  AMP_ASSIGN_OR_RETURN(const Tensor x, Widened(context, context.Input(kDeformableX)));
  AMP_ASSIGN_OR_RETURN(const Tensor w, Widened(context, context.Input(kDeformableW)));
  std::vector<float> bias;
  if (context.HasInput(kDeformableBias)) bias = ReadAll(BestLoops(), context.Input(kDeformableBias));
  const auto groups = static_cast<int64_t>(form.groups), positions = static_cast<int64_t>(form.positions);
  const auto rows = static_cast<int64_t>(form.channels * form.taps);
  const ContractionSizes sizes = {
      .batch = groups, .m = static_cast<int64_t>(form.filters) / groups, .k = rows / groups, .n = positions};
  AMP_ASSIGN_OR_RETURN(Tensor columns, context.MakeScratch(DType::kFloat32, {groups, rows / groups, positions}));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, context.Input(kDeformableX).dtype(), form.dims));
  const FloatSink out(BestLoops(), *y);
  const size_t of_sample = form.filters * form.positions;
  for (size_t sample = 0; sample < form.batch; ++sample) {
    const float* const image = x.elements<float>().data() + sample * form.channels * form.image_size;
    float* const gathered = columns.mutable_elements<float>().data();
    ParallelFor(form.offset_groups * form.taps, form.channels_in_offset_group() * form.positions * 8,
                [&](const Share& share) {
                  for (size_t i = share.first; i < share.end; ++i) {
                    GatherTap(form, moves, sample, i / form.taps, i % form.taps, image, gathered);
                  }
                });
    AMP_ASSIGN_OR_RETURN(Tensor product, BatchedProduct(context, w, columns, sizes, false));
    float* const sums = product.mutable_elements<float>().data();
    for (size_t i = 0; !bias.empty() && i < of_sample; ++i) sums[i] += bias[i / form.positions];
    float* const to = out.Begin(sample * of_sample, sums);
    if (to != sums) std::copy_n(sums, of_sample, to);
    out.End(sample * of_sample, of_sample, sums);
  }
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {.op_type = "DeformConv", .function = DeformConv, .refusal = WhyNotDeformable, .family = "onednn"}};

}  // namespace

absl::Span<const KernelRow> LibraryDeformableConvolutionKernels() { return kRows; }

}  // namespace amp
