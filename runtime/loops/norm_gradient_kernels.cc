// The gradients of norms, functions of domain ai.amp, by statistics that are computed again, n = (x - mean) /
// deviation:
//
//   dx = (s - mean (s) - n mean (s n)) / deviation, s = scale * g     dscale = sum (g n)
//
// If all elements of the statistics have one scale, this is one number for each channel times x, and one times g.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ir/base/status.h"
#include "runtime/forms/norm_gradient.h"
#include "runtime/kernel/layout.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/channel_stretches.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"
#include "runtime/loops/moments.h"

namespace amp {
namespace {

using Form = NormGradientForm;
constexpr size_t kX = Form::kX, kScale = Form::kScale, kG = Form::kG;

template <Form::Shape kShape>
Refusal WhyNot(const KernelContext& context) {
  for (const size_t port : {kX, kScale, kG}) {
    if (!IsLoopFloat(context.Input(port).dtype())) return kNoLoopFloat;
  }
  return WhyNotNormGradient(context, kShape);
}

// Output 1 of sums; nobody may read it.
absl::Status WriteScaleGradient(KernelContext& context, Dims dims, const std::vector<double>& sums) {
  if (context.num_outputs() < 2) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(Tensor * output, context.MakeOutput(1, DType::kFloat32, std::move(dims)));
  std::transform(sums.begin(), sums.end(), output->mutable_elements<float>().begin(),
                 [](double sum) { return static_cast<float>(sum); });
  return absl::OkStatus();
}

// ---- by the statistics of all axes from one on
// ------------------------------------------------------------------------

// The gradient of one row: dx, and the addends of dscale.
class RowGradient {
 public:
  RowGradient(const Loops& loops, Centre centre, double epsilon, std::vector<float> scale)
      : loops_(loops),
        centre_(centre),
        epsilon_(epsilon),
        scale_(std::move(scale)),
        normal_(scale_.size()),
        scaled_(scale_.size()),
        product_(scale_.size()),
        sums_(scale_.size(), 0.0) {}

  void Of(const float* x, const float* g, float* dx) {
    const size_t size = scale_.size();
    const auto count = static_cast<double>(size);
    const RowMoments moments = MomentsOf(loops_, {x, size}, centre_);
    const Affine normalizing = Normalizing(moments, epsilon_);
    loops_.rows.transform(x, normal_.data(), size, normalizing);
    loops_.binary.multiply.of_both(g, normal_.data(), product_.data(), size);
    loops_.rows.add_to(product_.data(), sums_.data(), size);
    loops_.binary.multiply.of_both(g, scale_.data(), scaled_.data(), size);
    loops_.binary.multiply.of_both(product_.data(), scale_.data(), product_.data(), size);
    const double along = loops_.rows.sum(product_.data(), size) / count;
    const double mean = centre_ == Centre::kMean ? loops_.rows.sum(scaled_.data(), size) / count : 0;
    loops_.rows.add_scaled(normal_.data(), static_cast<float>(-along), scaled_.data(), size);
    loops_.rows.transform(scaled_.data(), dx, size, {static_cast<float>(mean), normalizing.factor, 0});
  }
  const std::vector<double>& sums() const { return sums_; }

 private:
  const Loops& loops_;
  Centre centre_;
  double epsilon_;
  std::vector<float> scale_, normal_, scaled_, product_;
  std::vector<double> sums_;
};

template <Centre kCentre>
absl::Status OfRows(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  const Tensor &x = context.Input(kX), &scale = context.Input(kScale);
  const auto size = static_cast<size_t>(scale.num_elements());
  AMP_ASSIGN_OR_RETURN(Tensor * dx, context.MakeOutput(0, DType::kFloat32, x.dims()));
  const FloatSource in(loops, x), gradients(loops, context.Input(kG));
  std::vector<float> x_buffer(size), g_buffer(size);
  RowGradient row(loops, kCentre, ReadNormGradientEpsilon(context), ReadAll(loops, scale));
  float* const out = dx->mutable_elements<float>().data();
  for (size_t at = 0; at < static_cast<size_t>(x.num_elements()); at += size) {
    row.Of(in.Read(at, size, x_buffer.data()), gradients.Read(at, size, g_buffer.data()), out + at);
  }
  return WriteScaleGradient(context, scale.dims(), row.sums());
}

// ---- of channels
// ------------------------------------------------------------------------------------------------------

// sum (g) and sum (g (x - mean)) of every channel.
struct ChannelSums {
  std::vector<double> of_g, of_product;
};

ChannelSums SumsOfChannels(const Loops& loops, const Tensor& x, const Tensor& g, const std::vector<double>& mean) {
  const ChannelStretches stretches(loops, x);
  const FloatSource in(loops, x), gradients(loops, g);
  std::vector<float> x_buffer(stretches.longest()), g_buffer = x_buffer;
  const std::vector<double> ones(mean.size(), 1.0), zeros(mean.size(), 0.0);
  const ChannelStretches::Affines centred = {stretches.Repeat(mean), stretches.Repeat(ones), stretches.Repeat(zeros)};
  std::vector<double> of_g(stretches.num_repeated(), 0.0), of_product = of_g;
  stretches.ForEach([&](const ChannelStretches::Stretch& s) {
    const float* const of_stretch = gradients.Read(s.first, s.count, g_buffer.data());
    stretches.AddTo(s, of_stretch, of_g);
    stretches.Transform(s, in.Read(s.first, s.count, x_buffer.data()), x_buffer.data(), centred);
    loops.binary.multiply.of_both(x_buffer.data(), of_stretch, x_buffer.data(), s.count);
    stretches.AddTo(s, x_buffer.data(), of_product);
  });
  return {stretches.Fold(of_g), stretches.Fold(of_product)};
}

// Computes the gradient of a tensor whose channels have statistics each; adds to the sums of dscale.
void GradientOfChannels(const Loops& loops, const Tensor& x, const Tensor& g, absl::Span<const float> scale,
                        double epsilon, Tensor& dx, absl::Span<double> scale_sums) {
  const ChannelMoments moments = MomentsOfChannels(loops, x);
  const ChannelSums sums = SumsOfChannels(loops, x, g, moments.mean);
  const ChannelStretches stretches(loops, x);
  const auto count = static_cast<double>(stretches.elements_of_channel());
  const std::vector<double> zeros(scale.size(), 0.0);
  std::vector<double> of_x(scale.size()), of_g(scale.size()), shift(scale.size()), mean_g(scale.size());
  for (size_t c = 0; c < scale.size(); ++c) {
    const double inverse = 1 / std::sqrt(moments.variance[c] + epsilon);
    const double off = static_cast<double>(static_cast<float>(moments.mean[c])) - moments.mean[c];  // of loops' centre
    const double along = (sums.of_product[c] + off * sums.of_g[c]) * inverse;
    scale_sums[c] += along;
    mean_g[c] = sums.of_g[c] / count;
    of_g[c] = static_cast<double>(scale[c]) * inverse;
    of_x[c] = -of_g[c] * inverse * along / count;
    shift[c] = of_x[c] * off;
  }
  const ChannelStretches::Affines affine_of_x = {stretches.Repeat(moments.mean), stretches.Repeat(of_x),
                                                 stretches.Repeat(shift)},
                                  affine_of_g = {stretches.Repeat(mean_g), stretches.Repeat(of_g),
                                                 stretches.Repeat(zeros)};
  const FloatSource in(loops, x), gradients(loops, g);
  stretches.ForEachTogether([&](const ChannelStretches::Stretch& s, float* buffer) {
    float* const out = dx.mutable_elements<float>().data() + s.first;
    stretches.Transform(s, gradients.Read(s.first, s.count, buffer), out, affine_of_g);
    stretches.Transform(s, in.Read(s.first, s.count, buffer), buffer, affine_of_x);
    loops.binary.add.of_both(out, buffer, out, s.count);
  });
}

absl::Status OfBatch(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  const Tensor& x = context.Input(kX);
  AMP_ASSIGN_OR_RETURN(const Tensor g, InLayout(context.Input(kG), x.layout(), context.memory()));
  AMP_ASSIGN_OR_RETURN(Tensor * dx, context.MakeOutput(0, DType::kFloat32, x.dims()));
  dx->set_layout(x.layout());
  const std::vector<float> scale = ReadAll(loops, context.Input(kScale));
  std::vector<double> sums(scale.size(), 0.0);
  GradientOfChannels(loops, x, g, scale, ReadNormGradientEpsilon(context), *dx, absl::MakeSpan(sums));
  return WriteScaleGradient(context, {x.dim(1)}, sums);
}

// [N, C, ...] is a batch of one sample of N C channels.
absl::Status OfInstances(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  const Tensor& x = context.Input(kX);
  const auto batch = static_cast<size_t>(x.dim(0)), channels = static_cast<size_t>(x.dim(1));
  AMP_ASSIGN_OR_RETURN(Tensor * dx, context.MakeOutput(0, DType::kFloat32, x.dims()));
  const Dims one_sample = {1, x.dim(0) * x.dim(1), ElementsBetween(x.dims(), 2, x.rank())};
  Tensor out = dx->Reshaped(one_sample);
  const std::vector<float> scale = ReadAll(loops, context.Input(kScale));
  std::vector<float> scales;
  for (size_t n = 0; n < batch; ++n) scales.insert(scales.end(), scale.begin(), scale.end());
  std::vector<double> sums(scales.size(), 0.0), of_channels(channels, 0.0);
  GradientOfChannels(loops, x.Reshaped(one_sample), context.Input(kG).Reshaped(one_sample), scales,
                     ReadNormGradientEpsilon(context), out, absl::MakeSpan(sums));
  for (size_t i = 0; i < sums.size(); ++i) of_channels[i % channels] += sums[i];
  return WriteScaleGradient(context, {x.dim(1)}, of_channels);
}

constexpr KernelRow RowOf(absl::string_view name, KernelFunction function, RefusalFunction refusal) {
  return {.op_type = name, .function = function, .domain = "ai.amp", .refusal = refusal, .family = "loops"};
}

constexpr KernelRow kRows[] = {
    RowOf("LayerNormalizationGradient", OfRows<Centre::kMean>, WhyNot<Form::Shape::kRows>),
    RowOf("RMSNormalizationGradient", OfRows<Centre::kZero>, WhyNot<Form::Shape::kRows>),
    RowOf("InstanceNormalizationGradient", OfInstances, WhyNot<Form::Shape::kInstances>),
    {.op_type = "BatchNormalizationGradient",
     .function = OfBatch,
     .domain = "ai.amp",
     .refusal = WhyNot<Form::Shape::kBatch>,
     .family = "loops",
     .takes_channels_last = true},
};

}  // namespace

absl::Span<const KernelRow> NormGradientLoopKernels() { return kRows; }

}  // namespace amp
