// Operators that draw random numbers, and Dropout.
//
// A node with a seed draws the same numbers whenever it runs; the others take theirs from the run's own generator, in
// the order in which they run. ONNX does not say which numbers: the distributions are Boost's, which are the same on
// every machine, as the standard library's are not.
#include <algorithm>
#include <bit>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "runtime/forms/dropout.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/reference/convert_element.h"
#include "runtime/reference/elementwise.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

class Generator {
 public:
  Generator(std::optional<uint64_t> seed, RunResources& resources)
      : own_(seed.has_value() ? std::optional<std::mt19937_64>(*seed) : std::nullopt),
        engine_(own_.has_value() ? *own_ : resources.random.engine()) {}
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  // In [0, 1), a multiple of 2^-digits.
  double Uniform(int digits = 53) { return std::ldexp(static_cast<double>(engine_() >> (64 - digits)), -digits); }
  double Normal() { return normal_(engine_); }

 private:
  std::optional<std::mt19937_64> own_;
  std::mt19937_64& engine_;
  boost::random::normal_distribution<double> normal_;
};

// The seed of all but Dropout is a float.
std::optional<uint64_t> FloatSeed(const Node& node) {
  const std::optional<float> seed = GetFloat(node, "seed");
  if (!seed.has_value()) return std::nullopt;
  return std::bit_cast<uint32_t>(*seed);
}

// The type that the attribute names, `fallback` without it.
absl::StatusOr<DType> OutputType(const KernelContext& context, DType fallback) {
  if (!HasAttribute(context.node(), "dtype")) return fallback;
  const std::optional<DType> dtype = GetDType(context.node(), "dtype");
  if (!dtype.has_value()) return ModelError("expected an element type as the attribute dtype, found none");
  return *dtype;
}

absl::Status FillFloats(KernelContext& context, DType dtype, const Dims& dims, absl::FunctionRef<double()> draw) {
  if (!VisitFloats(dtype, [](auto) {})) return context.TypeError(dtype);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, dtype, dims));
  VisitFloats(dtype, [&]<typename T>(TypeTag<T>) {
    for (T& element : y->mutable_elements<T>()) element = FromDouble<T>(draw());
  });
  return absl::OkStatus();
}

absl::Status DrawNormal(KernelContext& context, DType fallback, const Dims& dims) {
  AMP_ASSIGN_OR_RETURN(const DType dtype, OutputType(context, fallback));
  const double mean = GetFloat(context.node(), "mean", 0), scale = GetFloat(context.node(), "scale", 1);
  Generator generator(FloatSeed(context.node()), context.resources());
  return FillFloats(context, dtype, dims, [&] { return mean + scale * generator.Normal(); });
}

// Bits of a type's significand: so many random ones fit a number below 1 without being rounded up to it.
int SignificandBits(DType dtype) {
  const int64_t counts_to = CountsExactlyTo(dtype);
  return counts_to == 0 ? 1 : std::countr_zero(static_cast<uint64_t>(counts_to));
}

absl::Status DrawUniform(KernelContext& context, DType fallback, const Dims& dims) {
  AMP_ASSIGN_OR_RETURN(const DType dtype, OutputType(context, fallback));
  const double low = GetFloat(context.node(), "low", 0), high = GetFloat(context.node(), "high", 1);
  const int digits = SignificandBits(dtype);
  Generator generator(FloatSeed(context.node()), context.resources());
  return FillFloats(context, dtype, dims, [&] { return low + (high - low) * generator.Uniform(digits); });
}

using Draw = absl::Status (*)(KernelContext&, DType, const Dims&);

template <Draw kDraw>
absl::Status OfShape(KernelContext& context) {
  const std::optional<std::vector<int64_t>> shape = GetInts(context.node(), "shape");
  if (!shape.has_value()) return ModelError("expected the attribute shape, found none");
  return kDraw(context, DType::kFloat32, *shape);
}

template <Draw kDraw>
absl::Status OfShapeLike(KernelContext& context) {
  return kDraw(context, context.Input(0).dtype(), context.Input(0).dims());
}

absl::Status Bernoulli(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const DType dtype, OutputType(context, x.dtype()));
  if (!VisitNumbersAndBool(dtype, [](auto) {})) return context.TypeError(dtype);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, dtype, x.dims()));
  Generator generator(FloatSeed(context.node()), context.resources());
  const bool known = VisitFloats(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = x.elements<T>();
    for (size_t i = 0; i < in.size(); ++i) {
      const double drawn = generator.Uniform() < ToDouble(in[i]) ? 1 : 0;
      StoreDoubles({&drawn, 1}, *y, i);
    }
  });
  return known ? absl::OkStatus() : context.TypeError(x.dtype());
}

// ---- Multinomial --------------------------------------------------------------------------------------------------

// Sums of the classes' probabilities, up to each class, not normalised. Errors: nothing that can be drawn from.
absl::Status Accumulate(absl::Span<double> log_probabilities) {
  double largest = -HUGE_VAL;
  for (const double x : log_probabilities) largest = std::isnan(x) ? x : std::max(largest, x);
  if (!std::isfinite(largest)) return ModelError("expected finite log-probabilities, found a largest of ", largest);
  double sum = 0;
  for (double& x : log_probabilities) x = sum += std::exp(x - largest);
  return absl::OkStatus();
}

absl::Status Multinomial(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const DType dtype, OutputType(context, DType::kInt32));
  if (dtype != DType::kInt32 && dtype != DType::kInt64) return context.TypeError(dtype);
  if (!VisitFloats(x.dtype(), [](auto) {})) return context.TypeError(x.dtype());
  if (x.rank() != 2) return ModelError("expected an input [batch, classes], found ", DimsText(x.dims()));
  const int64_t samples = GetInt(context.node(), "sample_size", 1);
  if (samples < 1) return ModelError("expected a sample_size of at least 1, found ", samples);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, dtype, {x.dim(0), samples}));
  Generator generator(FloatSeed(context.node()), context.resources());
  std::vector<double> sums(x.num_elements() == 0 ? 0 : static_cast<size_t>(x.dim(1)));
  const auto batch = static_cast<size_t>(x.dim(0)), sample_size = static_cast<size_t>(samples);
  for (size_t row = 0; row < batch; ++row) {
    LoadDoubles(x, row * sums.size(), absl::MakeSpan(sums));
    AMP_RETURN_IF_ERROR(Accumulate(absl::MakeSpan(sums)));
    for (size_t i = 0; i < sample_size; ++i) {
      const auto drawn = std::upper_bound(sums.begin(), sums.end() - 1, generator.Uniform() * sums.back());
      const auto index = static_cast<double>(drawn - sums.begin());
      StoreDoubles({&index, 1}, *y, row * sample_size + i);
    }
  }
  return absl::OkStatus();
}

// ---- Dropout ------------------------------------------------------------------------------------------------------

absl::Status Dropout(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const DropoutForm form, ReadDropout(context));
  if (!VisitFloats(x.dtype(), [](auto) {}) && !VisitTinyTypes(x.dtype(), [](auto) {})) {
    return context.TypeError(x.dtype());
  }
  AMP_ASSIGN_OR_RETURN(Tensor * mask, context.MakeOutput(1, ReadDropoutMaskType(context), x.dims()));
  const auto count = static_cast<size_t>(x.num_elements());
  const double one = 1, zero = 0;
  if (!form.drops) {
    AMP_ASSIGN_OR_RETURN(Tensor kept, Tensor::Create(mask->dtype(), {1}));
    StoreDoubles({&one, 1}, kept, 0);
    context.SetOutput(0, x);
    return CopyStrided(kept, 0, Dims(x.rank(), 0), *mask);
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  const std::optional<int64_t> seed = GetInt(context.node(), "seed");
  Generator generator(seed.has_value() ? std::optional<uint64_t>(static_cast<uint64_t>(*seed)) : std::nullopt,
                      context.resources());
  for (size_t i = 0; i < count; ++i) {
    const bool kept = generator.Uniform() >= form.ratio;
    double element = 0;
    if (kept) LoadDoubles(x, i, absl::MakeSpan(&element, 1));
    element /= 1 - form.ratio;
    StoreDoubles({&element, 1}, *y, i);
    StoreDoubles({kept ? &one : &zero, 1}, *mask, i);
  }
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"Bernoulli", Bernoulli},
    {"Dropout", Dropout},
    {"Multinomial", Multinomial},
    {"RandomNormal", OfShape<DrawNormal>},
    {"RandomNormalLike", OfShapeLike<DrawNormal>},
    {"RandomUniform", OfShape<DrawUniform>},
    {"RandomUniformLike", OfShapeLike<DrawUniform>},
};

}  // namespace

absl::Span<const KernelRow> RandomKernels() { return kRows; }

}  // namespace amp
