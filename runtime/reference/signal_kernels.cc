// Spectra: DFT, STFT, MelWeightMatrix.
//
// The transform is Cooley and Tukey's: a length n = p m, p the smallest prime factor, is p transforms of length m and m
// of length p. A prime length takes p * p steps where it is small, and else Bluestein's algorithm, which makes a
// convolution of it: L. Bluestein, "A linear filtering approach to the computation of the discrete Fourier transform"
// (1970).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <map>
#include <memory>
#include <numbers>
#include <vector>

#include "runtime/kernel/doubles.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

using Complex = std::complex<double>;

size_t SmallestPrimeFactor(size_t n) {
  for (size_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

Complex RootOfUnity(size_t numerator, size_t denominator, bool inverse) {
  const double angle = 2 * std::numbers::pi * static_cast<double>(numerator) / static_cast<double>(denominator);
  return {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
}

// The product by its formula. That of std::complex looks for infinities after each one.
Complex Product(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

class LargePrimeTransform;

// Sums of in[k] e^(+-2 pi i j k / length), for all j.
class FourierTransform {
 public:
  FourierTransform(size_t length, bool inverse);
  ~FourierTransform();

  size_t length() const { return roots_.size(); }

  std::vector<Complex> Run(const std::vector<Complex>& in) const {
    std::vector<Complex> out(length());
    Run(in.data(), 1, length(), out.data());
    return out;
  }

 private:
  // Transforms n elements that lie `stride` apart. Recursion depth: the number of prime factors.
  void Run(const Complex* in, size_t stride, size_t n, Complex* out) const;
  // Transforms of length 2, one for each k below m, whose elements and results lie m apart.
  void RunPairs(size_t m, size_t stride, Complex* out) const;
  // Transforms of length p that lie so.
  void RunDirect(size_t p, size_t m, size_t stride, Complex* out) const;
  void RunLarge(const LargePrimeTransform& transform, size_t p, size_t m, size_t stride, Complex* out) const;

  std::vector<Complex> roots_;
  std::map<size_t, std::unique_ptr<const LargePrimeTransform>> large_primes_;
};

// Computes the same for a prime length, as a convolution: with c[k] = e^(+-pi i k k / length) it is
//   out[j] = c[j] sum of (in[k] c[k]) conj(c[j - k]),
// which transforms of a length that is a power of two compute.
class LargePrimeTransform {
 public:
  LargePrimeTransform(size_t length, bool inverse)
      : forward_(std::bit_ceil(2 * length - 1), /*inverse=*/false), backward_(forward_.length(), /*inverse=*/true) {
    // k * k is reduced as a whole number, so that angles are as exact for the last elements as for the first.
    for (size_t k = 0; k < length; ++k) chirp_.push_back(RootOfUnity(k * k % (2 * length), 2 * length, inverse));
    const size_t padded = forward_.length();
    std::vector<Complex> filter(padded);
    for (size_t k = 0; k < length; ++k) {
      filter[k] = filter[(padded - k) % padded] = std::conj(chirp_[k]) / static_cast<double>(padded);
    }
    filter_ = forward_.Run(filter);
  }

  std::vector<Complex> Run(const std::vector<Complex>& in) const {
    std::vector<Complex> padded(forward_.length());
    std::transform(in.begin(), in.end(), chirp_.begin(), padded.begin(), Product);
    std::vector<Complex> spectrum = forward_.Run(padded);
    std::transform(spectrum.begin(), spectrum.end(), filter_.begin(), spectrum.begin(), Product);
    std::vector<Complex> out = backward_.Run(spectrum);
    out.resize(chirp_.size());
    std::transform(out.begin(), out.end(), chirp_.begin(), out.begin(), Product);
    return out;
  }

 private:
  const FourierTransform forward_, backward_;
  std::vector<Complex> chirp_, filter_;
};

constexpr size_t kLargestDirect = 64;  // prime factor for which p * p steps are no more than the convolution's

FourierTransform::FourierTransform(size_t length, bool inverse) {
  for (size_t k = 0; k < length; ++k) roots_.push_back(RootOfUnity(k, length, inverse));
  for (size_t rest = length; rest > 1;) {
    const size_t p = SmallestPrimeFactor(rest);
    if (p > kLargestDirect && !large_primes_.contains(p)) {
      large_primes_.emplace(p, std::make_unique<const LargePrimeTransform>(p, inverse));
    }
    rest /= p;
  }
}

FourierTransform::~FourierTransform() = default;

void FourierTransform::Run(const Complex* in, size_t stride, size_t n, Complex* out) const {
  if (n == 1) {
    *out = *in;
    return;
  }
  const size_t p = SmallestPrimeFactor(n), m = n / p;
  for (size_t r = 0; r < p; ++r) Run(in + r * stride, stride * p, m, out + r * m);
  if (p == 2) return RunPairs(m, stride, out);
  const auto large = p > kLargestDirect ? large_primes_.find(p) : large_primes_.end();
  if (large == large_primes_.end()) {
    RunDirect(p, m, stride, out);
  } else {
    RunLarge(*large->second, p, m, stride, out);
  }
}

void FourierTransform::RunPairs(size_t m, size_t stride, Complex* out) const {
  for (size_t k = 0; k < m; ++k) {
    const Complex even = out[k], odd = Product(out[m + k], roots_[k * stride]);
    out[k] = even + odd;
    out[m + k] = even - odd;
  }
}

void FourierTransform::RunDirect(size_t p, size_t m, size_t stride, Complex* out) const {
  std::array<Complex, kLargestDirect> part;
  for (size_t k = 0; k < m; ++k) {
    for (size_t r = 0; r < p; ++r) part[r] = out[r * m + k];
    for (size_t q = 0; q < p; ++q) {
      Complex sum = 0;
      const size_t step = k + q * m, round = p * m;
      for (size_t r = 0, root = 0; r < p; ++r) {
        sum += Product(part[r], roots_[root * stride]);
        root += step;
        if (root >= round) root -= round;
      }
      out[q * m + k] = sum;
    }
  }
}

void FourierTransform::RunLarge(const LargePrimeTransform& transform, size_t p, size_t m, size_t stride,
                                Complex* out) const {
  std::vector<Complex> part(p);
  for (size_t k = 0; k < m; ++k) {
    for (size_t r = 0; r < p; ++r) part[r] = Product(out[r * m + k], roots_[r * k * stride]);
    const std::vector<Complex> sums = transform.Run(part);
    for (size_t q = 0; q < p; ++q) out[q * m + k] = sums[q];
  }
}

// One line along an axis of a tensor whose last dimension is 1 (real) or 2 (real and imaginary parts).
struct Line {
  size_t first, stride;  // in elements of one or two parts
};

std::vector<Complex> ReadLine(const std::vector<double>& x, Line line, size_t parts, size_t available, size_t length) {
  std::vector<Complex> values(length);
  for (size_t i = 0; i < std::min(available, length); ++i) {
    const double* element = x.data() + (line.first + i * line.stride) * parts;
    values[i] = Complex(element[0], parts == 2 ? element[1] : 0);
  }
  return values;
}

void WriteLine(const std::vector<Complex>& values, Line line, size_t parts, size_t length, std::vector<double>& y) {
  for (size_t i = 0; i < length; ++i) {
    double* element = y.data() + (line.first + i * line.stride) * parts;
    element[0] = values[i].real();
    if (parts == 2) element[1] = values[i].imag();
  }
}

// A spectrum of which the first half is given: the other is its mirror image, conjugated.
void CompleteSpectrum(std::vector<Complex>& values) {
  for (size_t k = values.size() / 2 + 1; k < values.size(); ++k) values[k] = std::conj(values[values.size() - k]);
}

struct DftOptions {
  size_t axis = 0;
  int64_t length = 0;
  bool inverse = false, onesided = false;

  bool ToReal() const { return inverse && onesided; }
};

absl::StatusOr<int64_t> ReadAxis(const KernelContext& context) {
  constexpr size_t kAxis = 2;
  if (context.HasInput(kAxis)) return context.InputInt(kAxis);
  return context.version() < 20 ? GetInt(context.node(), "axis", 1) : -2;
}

absl::Status CheckParts(const Tensor& x) {
  if (x.rank() >= 2 && (x.dim(x.rank() - 1) == 1 || x.dim(x.rank() - 1) == 2)) return absl::OkStatus();
  return ModelError("expected a signal [..., 1] or [..., 2], found ", x.TypeText());
}

absl::StatusOr<DftOptions> ReadDftOptions(const KernelContext& context) {
  constexpr size_t kLength = 1;
  const Tensor& x = context.Input(0);
  DftOptions options = {.inverse = GetInt(context.node(), "inverse", 0) != 0,
                        .onesided = GetInt(context.node(), "onesided", 0) != 0};
  AMP_RETURN_IF_ERROR(CheckParts(x));
  AMP_ASSIGN_OR_RETURN(const int64_t axis, ReadAxis(context));
  AMP_ASSIGN_OR_RETURN(options.axis, NormalizeAxis(axis, x.rank()));
  if (options.axis + 1 == x.rank()) return ModelError("expected an axis of the signal, found the last one: ", axis);
  const int64_t available = x.dim(options.axis);
  if (available > kMaxElements) return LimitError("expected a shorter signal, found ", x.TypeText());
  options.length = options.ToReal() ? 2 * (available - 1) : available;
  if (context.HasInput(kLength)) {
    AMP_ASSIGN_OR_RETURN(options.length, context.InputInt(kLength));
  }
  if (options.length < 1) return ModelError("expected a dft_length of at least 1, found ", options.length);
  return options;
}

absl::Status Dft(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const DftOptions options, ReadDftOptions(context));
  Dims dims = x.dims();
  dims[options.axis] = options.onesided && !options.inverse ? options.length / 2 + 1 : options.length;
  dims.back() = options.ToReal() ? 1 : 2;
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), dims));
  if (y->num_elements() == 0) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(const std::vector<double> in, ReadDoubles(x));
  std::vector<double> out(static_cast<size_t>(y->num_elements()));
  const auto length = static_cast<size_t>(options.length);
  const auto available = static_cast<size_t>(x.dim(options.axis)), kept = static_cast<size_t>(dims[options.axis]);
  const auto outer = static_cast<size_t>(ElementsBetween(dims, 0, options.axis));
  const auto inner = static_cast<size_t>(ElementsBetween(dims, options.axis + 1, dims.size() - 1));
  const auto in_parts = static_cast<size_t>(x.dims().back()), out_parts = static_cast<size_t>(dims.back());
  const FourierTransform transform(length, options.inverse);
  for (size_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < inner; ++i) {
      // Half of a spectrum is enough for a one-sided transform; the rest is not read.
      const size_t given = options.ToReal() ? std::min(available, length / 2 + 1) : available;
      std::vector<Complex> values = ReadLine(in, {o * available * inner + i, inner}, in_parts, given, length);
      if (options.ToReal()) CompleteSpectrum(values);
      values = transform.Run(values);
      if (options.inverse) {
        for (Complex& value : values) value /= static_cast<double>(length);
      }
      WriteLine(values, {o * kept * inner + i, inner}, out_parts, kept, out);
    }
  }
  return WriteDoubles(out, *y);
}

struct Frames {
  int64_t step = 1, length = 0, count = 0;
  std::vector<double> window;
};

absl::StatusOr<Frames> ReadFrames(const KernelContext& context, int64_t signal_length) {
  constexpr size_t kStep = 1, kWindow = 2, kLength = 3;
  const Tensor& window = context.Input(kWindow);
  Frames frames;
  frames.length = signal_length;
  AMP_ASSIGN_OR_RETURN(frames.step, context.InputInt(kStep));
  if (context.HasInput(kWindow)) {
    if (window.rank() != 1) return ModelError("expected a window of one dimension, found ", window.TypeText());
    frames.length = window.dim(0);
  }
  if (context.HasInput(kLength)) {
    AMP_ASSIGN_OR_RETURN(frames.length, context.InputInt(kLength));
  }
  if (frames.step < 1) return ModelError("expected a frame_step of at least 1, found ", frames.step);
  if (frames.length < 1 || frames.length > signal_length) {
    return ModelError("expected a frame_length in [1, ", signal_length, "], found ", frames.length);
  }
  if (!context.HasInput(kWindow)) {
    frames.window.assign(static_cast<size_t>(frames.length), 1.0);
  } else if (window.dim(0) != frames.length) {
    return ModelError("expected a window of frame_length ", frames.length, ", found ", window.TypeText());
  } else {
    AMP_ASSIGN_OR_RETURN(frames.window, ReadDoubles(window));
  }
  frames.count = (signal_length - frames.length) / frames.step + 1;
  return frames;
}

absl::Status Stft(KernelContext& context) {
  const Tensor& given = context.Input(0);
  // ONNX asks for [batch, length, 1]; ONNX Runtime also takes [batch, length].
  const Tensor x = given.rank() == 2 ? given.Reshaped({given.dim(0), given.dim(1), 1}) : given;
  if (x.rank() != 3) return ModelError("expected a signal [batch,length,1 or 2], found ", x.TypeText());
  AMP_RETURN_IF_ERROR(CheckParts(x));
  if (x.dim(1) > kMaxElements) return LimitError("expected a shorter signal, found ", x.TypeText());
  AMP_ASSIGN_OR_RETURN(const Frames frames, ReadFrames(context, x.dim(1)));
  const int64_t bins = GetInt(context.node(), "onesided", 1) != 0 ? frames.length / 2 + 1 : frames.length;
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), {x.dim(0), frames.count, bins, 2}));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> in, ReadDoubles(x));
  std::vector<double> out(static_cast<size_t>(y->num_elements()));
  const auto parts = static_cast<size_t>(x.dim(2)), length = static_cast<size_t>(frames.length);
  const FourierTransform transform(length, /*inverse=*/false);
  for (size_t batch = 0, at = 0; batch < static_cast<size_t>(x.dim(0)); ++batch) {
    for (size_t frame = 0; frame < static_cast<size_t>(frames.count); ++frame, at += static_cast<size_t>(bins)) {
      const size_t first = batch * static_cast<size_t>(x.dim(1)) + frame * static_cast<size_t>(frames.step);
      std::vector<Complex> values = ReadLine(in, {first, 1}, parts, length, length);
      for (size_t i = 0; i < length; ++i) values[i] *= frames.window[i];
      WriteLine(transform.Run(values), {at, 1}, 2, static_cast<size_t>(bins), out);
    }
  }
  return WriteDoubles(out, *y);
}

double ToMel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double ToHertz(double mel) { return 700 * (std::pow(10.0, mel / 2595) - 1); }

struct MelOptions {
  int64_t num_bands = 0, dft_length = 0, sample_rate = 0;
  double lower = 0, upper = 0;

  int64_t num_bins() const { return dft_length / 2 + 1; }
};

absl::StatusOr<MelOptions> ReadMelOptions(const KernelContext& context) {
  MelOptions options;
  AMP_ASSIGN_OR_RETURN(options.num_bands, context.InputInt(0));
  AMP_ASSIGN_OR_RETURN(options.dft_length, context.InputInt(1));
  AMP_ASSIGN_OR_RETURN(options.sample_rate, context.InputInt(2));
  AMP_ASSIGN_OR_RETURN(options.lower, context.InputNumber(3));
  AMP_ASSIGN_OR_RETURN(options.upper, context.InputNumber(4));
  if (options.num_bands < 0 || options.num_bands > kMaxElements || options.dft_length < 0 ||
      options.dft_length > kMaxElements || options.sample_rate < 1) {
    return ModelError("expected num_mel_bins and dft_length in [0, ", kMaxElements,
                      "] and a sample_rate of at least 1, found ", options.num_bands, ", ", options.dft_length, " and ",
                      options.sample_rate);
  }
  if (!(options.lower >= 0 && options.lower <= options.upper && std::isfinite(options.upper))) {
    return ModelError("expected frequencies 0 <= lower <= upper, found ", options.lower, " and ", options.upper);
  }
  return options;
}

// The bins of the spectrum at which bands begin, peak and end: band i at bins i, i + 1, i + 2.
absl::StatusOr<std::vector<int64_t>> BandEdges(const MelOptions& options) {
  const auto count = static_cast<double>(options.num_bands + 2);
  const double low = ToMel(options.lower), step = (ToMel(options.upper) - low) / count;
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < options.num_bands + 2; ++i) {
    const double hertz = ToHertz(low + static_cast<double>(i) * step);
    const double bin =
        std::floor(static_cast<double>(options.dft_length + 1) * hertz / static_cast<double>(options.sample_rate));
    if (bin > static_cast<double>(options.num_bins())) {
      return ModelError("expected frequencies up to half the sample rate of ", options.sample_rate, ", found ", hertz);
    }
    edges.push_back(std::max<int64_t>(0, static_cast<int64_t>(bin)));
  }
  return edges;
}

// Bin j's weight in the band: a triangle; 1 at the peak.
double BandWeight(int64_t j, int64_t begin, int64_t peak, int64_t end) {
  if (j == peak) return 1;
  if (j >= begin && j < peak) return static_cast<double>(j - begin) / static_cast<double>(peak - begin);
  if (j > peak && j < end) return static_cast<double>(end - j) / static_cast<double>(end - peak);
  return 0;
}

absl::Status MelWeightMatrix(KernelContext& context) {
  const DType dtype = HasAttribute(context.node(), "output_datatype")
                          ? GetDType(context.node(), "output_datatype").value_or(DType::kUndefined)
                          : DType::kFloat32;
  AMP_ASSIGN_OR_RETURN(const MelOptions options, ReadMelOptions(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, dtype, {options.num_bins(), options.num_bands}));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> edges, BandEdges(options));
  std::vector<double> out;
  for (int64_t j = 0; j < options.num_bins(); ++j) {
    for (size_t band = 0; band < static_cast<size_t>(options.num_bands); ++band) {
      out.push_back(BandWeight(j, edges[band], edges[band + 1], edges[band + 2]));
    }
  }
  return WriteDoubles(out, *y);
}

constexpr KernelRow kRows[] = {
    {"DFT", Dft},
    {"STFT", Stft},
    {"MelWeightMatrix", MelWeightMatrix},
};

}  // namespace

absl::Span<const KernelRow> SignalKernels() { return kRows; }

}  // namespace amp
