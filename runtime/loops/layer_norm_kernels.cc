// Layer normalization and its kin: (x - mean) / deviation * scale + bias, by the statistics of all axes from one on.
//
// Statistics are taken of rows in float32, added up in float64; 16-bit types are rounded once at the end.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "ir/base/status.h"
#include "runtime/forms/norm.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"
#include "runtime/loops/moments.h"
#include "runtime/loops/normalize.h"

namespace amp {
namespace {

using Ports = RowNorm::Ports;
constexpr Ports kLayerNorm = {
    .skip = 0, .scale = 1, .bias = 2, .row_bias = 0, .mean = 1, .inverse_deviation = 2, .sum = 0};
constexpr Ports kRmsNorm = {
    .skip = 0, .scale = 1, .bias = 0, .row_bias = 0, .mean = 0, .inverse_deviation = 1, .sum = 0};
constexpr Ports kSkipNorm = {
    .skip = 1, .scale = 2, .bias = 3, .row_bias = 4, .mean = 1, .inverse_deviation = 2, .sum = 3};
constexpr Ports kSkipRmsNorm = {
    .skip = 1, .scale = 2, .bias = 0, .row_bias = 3, .mean = 1, .inverse_deviation = 2, .sum = 3};

struct Rule {
  Ports ports;
  Centre centre;
  float default_epsilon;
};
constexpr Rule kLayer = {kLayerNorm, Centre::kMean, 1e-5f};
constexpr Rule kRms = {kRmsNorm, Centre::kZero, 1e-5f};
constexpr Rule kSkipLayer = {kSkipNorm, Centre::kMean, 1e-12f};
constexpr Rule kSkipRms = {kSkipRmsNorm, Centre::kZero, 1e-12f};

// Dims without ones in front.
absl::Span<const int64_t> Trimmed(absl::Span<const int64_t> dims) {
  while (!dims.empty() && dims[0] == 1) dims.remove_prefix(1);
  return dims;
}

// ---- conditions ---------------------------------------------------------------------------------------------------

Refusal WhyNotOperand(const KernelContext& context, size_t port, absl::Span<const int64_t> dims) {
  if (port == 0 || !context.HasInput(port)) return {};
  const Tensor& operand = context.Input(port);
  if (!IsLoopFloat(operand.dtype())) return kNoLoopFloat;
  const bool fits = operand.rank() <= context.Input(0).rank() && Trimmed(operand.dims()) == Trimmed(dims);
  return fits ? nullptr : "an operand of another shape";
}

template <const Rule& kRule>
Refusal WhyNot(const KernelContext& context) {
  const absl::StatusOr<LayerNormForm> form = ReadLayerNorm(context);
  if (!form.ok()) return kNothingToNormalize;
  if (form->stash_type != DType::kFloat32) return "statistics of another type than float32";
  if (const Refusal refusal = WhyNotRows(context, kRule.ports, form->axis)) return refusal;
  const Tensor& x = context.Input(0);
  if (!context.HasInput(kRule.ports.scale)) return "no scale";
  if (kRule.ports.skip == 0) return {};
  const Tensor& skip = context.Input(kRule.ports.skip);
  if (skip.dtype() != x.dtype()) return "operands of different types";
  const bool is_repeated = skip.rank() < x.rank() || skip.dim(0) != x.dim(0);  // once for every first index of x
  return WhyNotOperand(context, kRule.ports.skip, absl::MakeConstSpan(x.dims()).subspan(is_repeated ? 1 : 0));
}

// ---- kernels ------------------------------------------------------------------------------------------------------

std::vector<float> ReadOperand(const KernelContext& context, size_t port) {
  if (port == 0 || !context.HasInput(port)) return {};
  return ReadAll(BestLoops(), context.Input(port));
}

// The float32 tensor that output `port` is, of the statistics' shape; null where nobody reads it.
absl::StatusOr<float*> MakeStatistics(KernelContext& context, size_t port, const Dims& dims) {
  if (port == 0 || !context.HasOutput(port)) return nullptr;
  AMP_ASSIGN_OR_RETURN(Tensor * tensor, context.MakeOutput(port, DType::kFloat32, dims));
  return tensor->mutable_elements<float>().data();
}

// A row of x, or of the sum of what is added to it.
class SummedRows {
 public:
  SummedRows(KernelContext& context, const Ports& ports, size_t size)
      : loops_(BestLoops()), x_(loops_, context.Input(0)), size_(size) {
    if (ports.skip == 0) return;
    skip_.emplace(loops_, context.Input(ports.skip));
    skip_rows_ = static_cast<size_t>(context.Input(ports.skip).num_elements()) / size;
    bias_ = ReadOperand(context, ports.row_bias);
  }

  bool has_sum() const { return skip_.has_value(); }
  // Buffers of a row's size, the second only for sums.
  const float* Read(size_t row, float* buffer, float* operand_buffer) const {
    const float* x = x_.Read(row * size_, size_, buffer);
    if (!skip_.has_value()) return x;
    const float* const skip = skip_->Read(row % skip_rows_ * size_, size_, operand_buffer);
    loops_.binary.add.of_both(x, skip, buffer, size_);
    if (!bias_.empty()) loops_.binary.add.of_both(buffer, bias_.data(), buffer, size_);
    return buffer;
  }

 private:
  const Loops& loops_;
  FloatSource x_;
  std::optional<FloatSource> skip_;
  size_t size_, skip_rows_ = 1;
  std::vector<float> bias_;
};

struct Outputs {
  Tensor* y = nullptr;
  Tensor* sum = nullptr;  // null where nobody reads it
  float* mean = nullptr;
  float* inverse_deviation = nullptr;
};

absl::StatusOr<Outputs> MakeOutputs(KernelContext& context, const RowNorm& norm) {
  const Tensor& x = context.Input(0);
  Dims dims = x.dims();
  std::fill(dims.begin() + static_cast<std::ptrdiff_t>(norm.axis), dims.end(), 1);
  Outputs outputs;
  AMP_ASSIGN_OR_RETURN(outputs.mean, MakeStatistics(context, norm.ports.mean, dims));
  AMP_ASSIGN_OR_RETURN(outputs.inverse_deviation, MakeStatistics(context, norm.ports.inverse_deviation, dims));
  if (norm.ports.sum != 0 && context.HasOutput(norm.ports.sum)) {
    AMP_ASSIGN_OR_RETURN(outputs.sum, context.MakeOutput(norm.ports.sum, x.dtype(), x.dims()));
  }
  AMP_ASSIGN_OR_RETURN(outputs.y, MakeNormOutput(context, norm.stored_as));
  return outputs;
}

template <const Rule& kRule>
absl::Status Normalization(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const LayerNormForm form, ReadLayerNorm(context, kRule.default_epsilon));
  const bool is_as_scale = kRule.centre == Centre::kZero && kRule.ports.skip == 0;
  return NormalizeRows(context, {.ports = kRule.ports,
                                 .centre = kRule.centre,
                                 .axis = form.axis,
                                 .epsilon = static_cast<double>(form.epsilon),
                                 .stored_as = context.Input(is_as_scale ? kRule.ports.scale : 0).dtype()});
}

template <const Rule& kRule>
constexpr KernelRow Row(absl::string_view op_type, absl::string_view domain = "") {
  return {.op_type = op_type,
          .function = Normalization<kRule>,
          .domain = domain,
          .refusal = WhyNot<kRule>,
          .family = "loops"};
}

constexpr KernelRow kRows[] = {
    Row<kLayer>("LayerNormalization"),
    Row<kRms>("RMSNormalization"),
    Row<kRms>("SimplifiedLayerNormalization"),
    Row<kSkipLayer>("SkipLayerNormalization", "com.microsoft"),
    Row<kSkipRms>("SkipSimplifiedLayerNormalization", "com.microsoft"),
};

}  // namespace

Refusal WhyNotRows(const KernelContext& context, const RowNorm::Ports& ports, size_t axis) {
  const Tensor& x = context.Input(0);
  if (!IsLoopFloat(x.dtype())) return kNoLoopFloat;
  if (x.num_elements() == 0) return kNothingToNormalize;
  const absl::Span<const int64_t> row = absl::MakeConstSpan(x.dims()).subspan(axis);
  for (const size_t port : {ports.scale, ports.bias, ports.row_bias}) {
    if (const Refusal refusal = WhyNotOperand(context, port, row)) return refusal;
  }
  return {};
}

absl::StatusOr<Tensor*> MakeNormOutput(KernelContext& context, DType stored_as) {
  const Tensor& x = context.Input(0);
  if (stored_as == x.dtype()) return context.MakeOutputLike(0, 0);
  return context.MakeOutput(0, stored_as, x.dims());
}

absl::Status NormalizeRows(KernelContext& context, const RowNorm& norm) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  const auto size = static_cast<size_t>(ElementsBetween(context.Input(0).dims(), norm.axis, context.Input(0).rank()));
  const auto rows = static_cast<size_t>(context.Input(0).num_elements()) / size;
  std::vector<float> scale = ReadOperand(context, norm.ports.scale);
  if (scale.empty()) scale.assign(size, 1);
  const std::vector<float> bias = ReadOperand(context, norm.ports.bias);
  const SummedRows summed(context, norm.ports, size);
  AMP_ASSIGN_OR_RETURN(const Outputs outputs, MakeOutputs(context, norm));
  std::optional<FloatSink> sum;
  if (outputs.sum != nullptr) sum.emplace(loops, *outputs.sum);
  const FloatSink out(loops, *outputs.y);
  ParallelFor(rows, size, [&](const Share& share) {
    std::vector<float> x_buffer(size), operand_buffer(summed.has_sum() ? size : 0), buffer(size);
    for (size_t row = share.first; row < share.end; ++row) {
      const float* const x = summed.Read(row, x_buffer.data(), operand_buffer.data());
      if (sum.has_value()) {
        std::copy_n(x, size, sum->Begin(row * size, buffer.data()));
        sum->End(row * size, size, buffer.data());
      }
      const RowMoments moments = MomentsOf(loops, {x, size}, norm.centre);
      if (outputs.mean != nullptr) outputs.mean[row] = static_cast<float>(moments.mean);
      if (outputs.inverse_deviation != nullptr) {
        outputs.inverse_deviation[row] = static_cast<float>(1 / std::sqrt(moments.variance + norm.epsilon));
      }
      loops.rows.transform_scaled(x, out.Begin(row * size, buffer.data()), size, Normalizing(moments, norm.epsilon),
                                  scale.data(), bias.empty() ? nullptr : bias.data());
      out.End(row * size, size, buffer.data());
    }
  });
  return absl::OkStatus();
}

absl::Span<const KernelRow> LayerNormLoopKernels() { return kRows; }

}  // namespace amp
