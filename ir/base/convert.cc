#include "ir/base/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/base/check.h"
#include "ir/base/convert_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace amp {
namespace {

// ---- one value, in integer arithmetic: right whatever the floating-point environment -------------------------------

struct FloatLayout {
  int mantissa_bits;
  int bias;
};
constexpr FloatLayout kFloat32Layout = {23, 127};
constexpr FloatLayout kFloat64Layout = {52, 1023};
constexpr FloatLayout LayoutOf(DType low) { return low == DType::kFloat16 ? FloatLayout{10, 15} : FloatLayout{7, 127}; }

// value * 2^-shift, ties to even. REQUIRES: 0 < shift < width of Bits.
template <typename Bits>
constexpr Bits RoundingShift(Bits value, int shift) {
  const Bits is_odd = (value >> shift) & 1;
  return (value + (Bits{1} << (shift - 1)) - 1 + is_odd) >> shift;
}

// The one rule that all paths follow: nearest, ties to even; NaN keeps its sign and the top of its payload, made quiet.
template <typename Bits, FloatLayout kFrom, DType kLow>
constexpr uint16_t NarrowBits(Bits bits) {
  constexpr FloatLayout kTo = LayoutOf(kLow);
  constexpr int kDropped = kFrom.mantissa_bits - kTo.mantissa_bits;
  constexpr int kSignShift = static_cast<int>(sizeof(Bits) * 8) - 1;
  constexpr Bits kImplicit = Bits{1} << kFrom.mantissa_bits;
  constexpr Bits kSourceInfinity = static_cast<Bits>(2 * kFrom.bias + 1) << kFrom.mantissa_bits;
  constexpr Bits kInfinity = static_cast<Bits>(2 * kTo.bias + 1) << kTo.mantissa_bits;
  constexpr Bits kRebias = static_cast<Bits>(kFrom.bias - kTo.bias) << kFrom.mantissa_bits;

  const Bits sign = (bits >> kSignShift) << 15;
  const Bits magnitude = bits & ((Bits{1} << kSignShift) - 1);
  if (magnitude > kSourceInfinity) {
    constexpr Bits kQuiet = Bits{1} << (kTo.mantissa_bits - 1);
    const Bits payload = (magnitude >> kDropped) & ((Bits{1} << kTo.mantissa_bits) - 1);
    return static_cast<uint16_t>(sign | kInfinity | kQuiet | payload);
  }
  if (magnitude >= kRebias + kImplicit) {
    // Normal in the low type. A carry out of the mantissa lands in the exponent, where it belongs.
    return static_cast<uint16_t>(sign | std::min(RoundingShift<Bits>(magnitude - kRebias, kDropped), kInfinity));
  }
  const int exponent = static_cast<int>(magnitude >> kFrom.mantissa_bits);
  const Bits mantissa = magnitude & (kImplicit - 1);
  const Bits significand = exponent == 0 ? mantissa : mantissa | kImplicit;
  const int shift = kDropped + kFrom.bias - kTo.bias + 1 - std::max(exponent, 1);
  if (shift > kFrom.mantissa_bits + 1) return static_cast<uint16_t>(sign);  // below half the smallest subnormal
  return static_cast<uint16_t>(sign | RoundingShift(significand, shift));
}

template <DType kLow>
uint16_t NarrowValue(float value) {
  return NarrowBits<uint32_t, kFloat32Layout, kLow>(std::bit_cast<uint32_t>(value));
}

template <DType kLow>
uint32_t WidenedBits(uint16_t low) {
  if constexpr (kLow == DType::kBfloat16) return uint32_t{low} << 16;
  const uint32_t sign = (low & 0x8000u) << 16;
  const uint32_t exponent = (low >> 10) & 0x1fu;
  const uint32_t mantissa = low & 0x3ffu;
  if (exponent == 0x1f) {
    const uint32_t quiet = mantissa == 0 ? 0 : 0x00400000u;  // as the hardware does
    return sign | 0x7f800000u | quiet | (mantissa << 13);
  }
  if (exponent != 0) return sign | ((exponent + 112) << 23) | (mantissa << 13);
  if (mantissa == 0) return sign;
  const int leading = static_cast<int>(std::bit_width(mantissa)) - 1;  // value = 1.xxx * 2^(leading - 24)
  return sign | (static_cast<uint32_t>(leading + 103) << 23) | ((mantissa << (23 - leading)) & 0x007fffffu);
}

// ---- scalar loops -------------------------------------------------------------------------------------------------

template <DType kLow>
void NarrowScalar(const float* in, size_t count, uint16_t* out) {
  for (size_t i = 0; i < count; ++i) out[i] = NarrowValue<kLow>(in[i]);
}

template <DType kLow>
void NarrowWithSumsScalar(const float* in, size_t count, uint16_t* out, BlockSums& sums) {
  constexpr NarrowingThresholds kThresholds = ThresholdsOf(kLow);
  for (size_t i = 0; i < count; ++i) {
    out[i] = NarrowValue<kLow>(in[i]);
    const auto magnitude = static_cast<int32_t>(std::bit_cast<uint32_t>(in[i]) & 0x7fffffffu);
    sums.non_zero += magnitude > 0;
    sums.above_last_zero += magnitude > kThresholds.last_zero;
    sums.from_first_normal += magnitude >= kThresholds.first_normal;
    if (magnitude < kFloat32Infinity) sums.largest = std::max(sums.largest, magnitude);
    if (magnitude < kThresholds.first_infinite) {
      const double value = in[i];
      const double error = value - double{std::bit_cast<float>(WidenedBits<kLow>(out[i]))};
      sums.squared_norm[i % kConvertLanes] += value * value;
      sums.squared_error[i % kConvertLanes] += error * error;
    } else {
      ++sums.from_first_infinite;
      sums.not_finite += magnitude >= kFloat32Infinity;
    }
  }
}

template <DType kLow>
void WidenScalar(const uint16_t* in, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) out[i] = std::bit_cast<float>(WidenedBits<kLow>(in[i]));
}

template <DType kLow>
constexpr ConvertKernels kScalarKernels = {NarrowScalar<kLow>, NarrowWithSumsScalar<kLow>, WidenScalar<kLow>};

const ConvertKernels& KernelsOn(ConvertPath path, DType low) {
  AMP_CHECK(IsLowFloat(low));
  switch (path) {
    case ConvertPath::kScalar:
      break;
#if defined(__x86_64__)
    case ConvertPath::kAvx2:
      return Avx2Kernels(low);
    case ConvertPath::kAvx512:
      return Avx512Kernels(low);
#else
    case ConvertPath::kAvx2:
    case ConvertPath::kAvx512:
      AMP_CHECK(false);
#endif
  }
  return low == DType::kFloat16 ? kScalarKernels<DType::kFloat16> : kScalarKernels<DType::kBfloat16>;
}

ConvertPath BestPath() {
  static const ConvertPath best = AvailableConvertPaths().back();
  return best;
}

// ---- the floating-point environment -------------------------------------------------------------------------------

// While it lives: round to nearest, subnormals kept, exceptions masked. The caller's settings and flags return after.
class DefaultFloatEnvironment {
 public:
#if defined(__x86_64__)
  DefaultFloatEnvironment() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~DefaultFloatEnvironment() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
  DefaultFloatEnvironment() {}  // the scalar path rounds in integer arithmetic
#endif
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;
};

// ---- any length from loops over whole lanes -----------------------------------------------------------------------

template <typename In, typename Out, typename Loop>
void ForWholeLanes(absl::Span<const In> in, absl::Span<Out> out, Loop loop) {
  const size_t whole = in.size() - in.size() % kConvertLanes;
  loop(in.data(), whole, out.data());
  if (whole == in.size()) return;
  In in_lanes[kConvertLanes] = {};
  Out out_lanes[kConvertLanes];
  std::copy(in.begin() + static_cast<ptrdiff_t>(whole), in.end(), in_lanes);
  loop(in_lanes, kConvertLanes, out_lanes);
  std::copy(out_lanes, out_lanes + (in.size() - whole), out.begin() + static_cast<ptrdiff_t>(whole));
}

double SumLanes(const double (&lanes)[kConvertLanes]) {
  double sums[kConvertLanes];
  std::copy(lanes, lanes + kConvertLanes, sums);
  for (size_t width = kConvertLanes / 2; width > 0; width /= 2) {
    for (size_t i = 0; i < width; ++i) sums[i] += sums[i + width];
  }
  return sums[0];
}

// Out of line, so that no addition moves out of the environment's scope.
[[gnu::noinline]] NarrowingStats StatsOf(const BlockSums& sums, size_t count) {
  return {.count = static_cast<int64_t>(count),
          .overflow = sums.from_first_infinite - sums.not_finite,
          .underflow = sums.non_zero - sums.above_last_zero,
          .subnormal = sums.above_last_zero - sums.from_first_normal,
          .largest = std::bit_cast<float>(sums.largest),
          .squared_norm = SumLanes(sums.squared_norm),
          .squared_error = SumLanes(sums.squared_error)};
}

// One block; zeros that fill up the last lanes add nothing to any sum. Out of line for the same reason.
[[gnu::noinline]] void AddBlock(const ConvertKernels& kernels, absl::Span<const float> in, absl::Span<uint16_t> out,
                                NarrowingStats& stats) {
  BlockSums sums;
  ForWholeLanes(
      in, out, [&](const float* from, size_t count, uint16_t* to) { kernels.narrow_with_sums(from, count, to, sums); });
  stats.Add(StatsOf(sums, in.size()));
}

// With an empty `out`, the results go into a block of scratch.
void NarrowWithStatsBy(const ConvertKernels& kernels, absl::Span<const float> in, absl::Span<uint16_t> out,
                       NarrowingStats& stats) {
  const DefaultFloatEnvironment environment;
  uint16_t scratch[kConvertBlock];
  for (size_t start = 0; start < in.size(); start += kConvertBlock) {
    const absl::Span<const float> block = in.subspan(start, kConvertBlock);
    AddBlock(kernels, block, out.empty() ? absl::MakeSpan(scratch, block.size()) : out.subspan(start, block.size()),
             stats);
  }
}

template <DType kLow>
void NarrowEachFloat64(absl::Span<const double> in, absl::Span<uint16_t> out) {
  for (size_t i = 0; i < in.size(); ++i) {
    out[i] = NarrowBits<uint64_t, kFloat64Layout, kLow>(std::bit_cast<uint64_t>(in[i]));
  }
}

}  // namespace

void NarrowingStats::Add(const NarrowingStats& other) {
  count += other.count;
  overflow += other.overflow;
  underflow += other.underflow;
  subnormal += other.subnormal;
  largest = std::max(largest, other.largest);
  squared_norm += other.squared_norm;
  squared_error += other.squared_error;
}

double NarrowingStats::RelativeError() const { return squared_norm > 0 ? std::sqrt(squared_error / squared_norm) : 0; }

absl::string_view ConvertPathName(ConvertPath path) {
  switch (path) {
    case ConvertPath::kScalar:
      return "scalar";
    case ConvertPath::kAvx2:
      return "avx2";
    case ConvertPath::kAvx512:
      return "avx512";
  }
  return "";
}

std::vector<ConvertPath> AvailableConvertPaths() {
  std::vector<ConvertPath> paths = {ConvertPath::kScalar};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) {
    paths.push_back(ConvertPath::kAvx2);
  }
  if (__builtin_cpu_supports("avx512f")) paths.push_back(ConvertPath::kAvx512);
#endif
  return paths;
}

void NarrowOn(ConvertPath path, absl::Span<const float> in, DType low, absl::Span<uint16_t> out) {
  AMP_CHECK(in.size() == out.size());
  const DefaultFloatEnvironment environment;
  ForWholeLanes(in, out, KernelsOn(path, low).narrow);
}

void NarrowWithStatsOn(ConvertPath path, absl::Span<const float> in, DType low, absl::Span<uint16_t> out,
                       NarrowingStats& stats) {
  AMP_CHECK(in.size() == out.size());
  NarrowWithStatsBy(KernelsOn(path, low), in, out, stats);
}

void WidenOn(ConvertPath path, absl::Span<const uint16_t> in, DType low, absl::Span<float> out) {
  AMP_CHECK(in.size() == out.size());
  const DefaultFloatEnvironment environment;
  ForWholeLanes(in, out, KernelsOn(path, low).widen);
}

void Narrow(absl::Span<const float> in, DType low, absl::Span<uint16_t> out) { NarrowOn(BestPath(), in, low, out); }

void NarrowWithStats(absl::Span<const float> in, DType low, absl::Span<uint16_t> out, NarrowingStats& stats) {
  NarrowWithStatsOn(BestPath(), in, low, out, stats);
}

void SurveyNarrowing(absl::Span<const float> in, DType low, NarrowingStats& stats) {
  NarrowWithStatsBy(KernelsOn(BestPath(), low), in, {}, stats);
}

void NarrowFloat64(absl::Span<const double> in, DType low, absl::Span<uint16_t> out) {
  AMP_CHECK(in.size() == out.size() && IsLowFloat(low));
  if (low == DType::kFloat16) {
    NarrowEachFloat64<DType::kFloat16>(in, out);
  } else {
    NarrowEachFloat64<DType::kBfloat16>(in, out);
  }
}

void Widen(absl::Span<const uint16_t> in, DType low, absl::Span<float> out) { WidenOn(BestPath(), in, low, out); }

uint16_t NarrowOne(float value, DType low) {
  return low == DType::kFloat16 ? NarrowValue<DType::kFloat16>(value) : NarrowValue<DType::kBfloat16>(value);
}

float WidenOne(uint16_t bits, DType low) {
  return std::bit_cast<float>(low == DType::kFloat16 ? WidenedBits<DType::kFloat16>(bits)
                                                     : WidenedBits<DType::kBfloat16>(bits));
}

}  // namespace amp
