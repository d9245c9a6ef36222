// DeformConv: a convolution that reads each tap where an offset moved it to, between the elements around that point.
#include <algorithm>
#include <utility>

#include "runtime/forms/deformable.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/convolution.h"
#include "runtime/reference/families.h"
#include "runtime/reference/matrix_product.h"

namespace amp {
namespace {

struct Operands {
  Tensor x, w, offset, mask;  // float64; mask without elements where there is none
};

// Columns [C * taps, positions] of one sample.
void GatherMoved(const DeformableForm& form, const Operands& operands, size_t sample, absl::Span<double> columns) {
  const size_t at_once = PositionsAtOnce(form), positions = form.positions, channels = form.channels_in_offset_group();
  const double* const x = Doubles(operands.x).data() + sample * form.channels * form.image_size;
  const bool has_mask = operands.mask.num_elements() != 0;
  for (size_t i = 0; i < form.offset_groups * form.taps; ++i) {
    const size_t group = i / form.taps, tap = i % form.taps, at = form.FirstOfTap(sample, group, tap);
    for (size_t first = 0; first < positions; first += at_once) {
      const size_t count = std::min(at_once, positions - first);
      const double* const offsets = Doubles(operands.offset).data() + at * form.num_axes();
      const WeightedElements elements = ElementsOfTap(form, offsets, tap, first, count);
      for (size_t c = group * channels; c < (group + 1) * channels; ++c) {
        for (size_t p = 0; p < count; ++p) {
          double sum = 0;
          for (size_t k = elements.begin[p]; k < elements.begin[p + 1]; ++k) {
            sum += elements.weight[k] * x[c * form.image_size + static_cast<size_t>(elements.element[k])];
          }
          const double mask = has_mask ? Doubles(operands.mask)[at + first + p] : 1;
          columns[(c * form.taps + tap) * positions + first + p] = mask * sum;
        }
      }
    }
  }
}

absl::Status ConvolveMoved(const DeformableForm& form, const Operands& operands, Tensor& y) {
  const size_t filters = form.filters / form.groups, column = form.channels / form.groups * form.taps;
  const size_t positions = form.positions;
  AMP_ASSIGN_OR_RETURN(
      Tensor columns,
      FilledFloat64({static_cast<int64_t>(form.channels * form.taps), static_cast<int64_t>(positions)}, 0));
  for (size_t sample = 0; sample < form.batch; ++sample) {
    GatherMoved(form, operands, sample, columns.mutable_elements<double>());
    for (size_t group = 0; group < form.groups; ++group) {
      double* const out = y.mutable_elements<double>().data() + (sample * form.groups + group) * filters * positions;
      AddMatrixProduct<double>({{Doubles(operands.w).data() + group * filters * column, column},
                                {Doubles(columns).data() + group * column * positions, positions},
                                filters,
                                column,
                                positions},
                               {out, positions});
    }
  }
  return absl::OkStatus();
}

absl::Status DeformConv(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const DeformableForm form, ReadDeformable(context));
  Operands operands;
  AMP_ASSIGN_OR_RETURN(operands.x, ToFloat64(context.Input(kDeformableX)));
  AMP_ASSIGN_OR_RETURN(operands.w, ToFloat64(context.Input(kDeformableW)));
  AMP_ASSIGN_OR_RETURN(operands.offset, ToFloat64(context.Input(kDeformableOffset)));
  if (context.HasInput(kDeformableMask)) {
    AMP_ASSIGN_OR_RETURN(operands.mask, ToFloat64(context.Input(kDeformableMask)));
  }
  AMP_ASSIGN_OR_RETURN(Tensor sum, FilledFloat64(form.dims, 0));
  if (sum.num_elements() != 0) AMP_RETURN_IF_ERROR(ConvolveMoved(form, operands, sum));
  if (context.HasInput(kDeformableBias)) {
    AMP_ASSIGN_OR_RETURN(const Tensor bias, ToFloat64(context.Input(kDeformableBias)));
    AMP_RETURN_IF_ERROR(AddBias(bias, sum));
  }
  AMP_ASSIGN_OR_RETURN(Tensor y, FromAccumulator(sum, context.Input(kDeformableX).dtype()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"DeformConv", DeformConv},
};

}  // namespace

absl::Span<const KernelRow> DeformableConvolutionKernels() { return kRows; }

}  // namespace amp
