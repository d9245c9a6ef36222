// All 2^32 float32 inputs, both types, every path that this processor has, with and without statistics.
//
// The expected results owe nothing to bit tricks. The 16-bit values are written down as doubles from the definition of
// their format; the inputs are walked in increasing magnitude, where narrowing is a step function: it steps from one
// 16-bit value to the next at the midpoint between the two, and the midpoint itself goes to the even one.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "ir/base/convert.h"
#include "tests/catch2.h"

namespace amp {
namespace {

struct Format {
  DType type;
  int mantissa_bits;
  int exponent_bits;
};
constexpr Format kFloat16Format = {DType::kFloat16, 10, 5};
constexpr Format kBfloat16Format = {DType::kBfloat16, 7, 8};

uint16_t InfinityOf(const Format& format) {
  return static_cast<uint16_t>(((1u << format.exponent_bits) - 1) << format.mantissa_bits);
}

// The number that a magnitude stands for; infinity counts as the power of two that would come next.
double ValueOf(const Format& format, uint32_t magnitude) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int field = static_cast<int>(magnitude >> format.mantissa_bits);
  const double fraction = std::ldexp(double(magnitude % (1u << format.mantissa_bits)), -format.mantissa_bits);
  return field == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, field - bias);
}

// Float32 magnitudes (as integers) with one result, from the previous run's end to this one's.
struct Run {
  uint32_t end;
  uint16_t result;
};

std::vector<Run> RunsOf(const Format& format) {
  std::vector<Run> runs;
  const uint16_t infinity = InfinityOf(format);
  for (uint32_t magnitude = 0; magnitude < infinity; ++magnitude) {
    const double midpoint = (ValueOf(format, magnitude) + ValueOf(format, magnitude + 1)) / 2;
    const float boundary = static_cast<float>(midpoint);
    if (double{boundary} != midpoint) return {};  // every midpoint must be a float32
    const uint32_t end = std::bit_cast<uint32_t>(boundary) + (magnitude % 2 == 0 ? 1 : 0);
    runs.push_back({end, static_cast<uint16_t>(magnitude)});
  }
  runs.push_back({std::bit_cast<uint32_t>(std::numeric_limits<float>::infinity()) + 1, infinity});
  return runs;
}

// NaN keeps its sign and the leading bits of its payload, with the quiet bit set.
uint16_t ExpectedNan(const Format& format, uint32_t bits) {
  const uint32_t payload = (bits % (1u << 23)) / (1u << (23 - format.mantissa_bits));
  const uint32_t quiet = 1u << (format.mantissa_bits - 1);
  const uint32_t payload_quiet = payload / quiet == 1 ? payload : payload + quiet;
  return static_cast<uint16_t>((bits >= 0x80000000u ? 0x8000u : 0u) + InfinityOf(format) + payload_quiet);
}

constexpr uint32_t kChunk = 1 << 16;

// Sanitizers look at memory, not at values, and slow this down several times: there, every 31st chunk.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint32_t kChunkStride = 31;
#else
constexpr uint32_t kChunkStride = 1;
#endif

// Expected results of the chunk of inputs that starts at `start`, which is a multiple of kChunk; and the counts.
class Expectation {
 public:
  explicit Expectation(const Format& format) : format_(format), runs_(RunsOf(format)) {}
  bool IsUsable() const { return !runs_.empty(); }

  void Fill(uint32_t start, std::vector<uint16_t>& results, NarrowingStats& counts) const {
    const uint32_t sign = start >= 0x80000000u ? 0x8000u : 0u;
    const uint32_t first = start % 0x80000000u;
    auto run = std::upper_bound(runs_.begin(), runs_.end(), first,
                                [](uint32_t magnitude, const Run& candidate) { return magnitude < candidate.end; });
    uint32_t at = first;
    for (; run != runs_.end() && at < first + kChunk; ++run) {
      const uint32_t end = std::min(run->end, first + kChunk);
      std::fill(results.begin() + (at - first), results.begin() + (end - first), uint16_t(sign | run->result));
      Count(*run, at, end, counts);
      at = end;
    }
    for (; at < first + kChunk; ++at) results[at - first] = ExpectedNan(format_, start + (at - first));
    counts.count += kChunk;
  }

 private:
  void Count(const Run& run, uint32_t begin, uint32_t end, NarrowingStats& counts) const {
    const uint32_t infinity = 0x7f800000;
    if (run.result == 0) counts.underflow += end - std::max(begin, std::min(end, 1u));
    if (run.result == InfinityOf(format_)) counts.overflow += std::min(end, infinity) - std::min(begin, infinity);
    if (run.result > 0 && run.result < (1u << format_.mantissa_bits)) counts.subnormal += end - begin;
    if (begin < infinity) counts.largest = std::bit_cast<float>(std::min(end, infinity) - 1);
  }

  Format format_;
  std::vector<Run> runs_;
};

bool SameCounts(const NarrowingStats& a, const NarrowingStats& b) {
  return a.count == b.count && a.overflow == b.overflow && a.underflow == b.underflow && a.subnormal == b.subnormal &&
         a.largest == b.largest;
}

struct Failures {
  int64_t count = 0;
  std::string first;
};

// Checks the chunks number `thread`, `thread` + `num_threads`, ... of all inputs.
Failures CheckChunks(const Expectation& expectation, DType low, uint32_t thread, uint32_t num_threads) {
  const std::vector<ConvertPath> paths = AvailableConvertPaths();
  std::vector<float> in(kChunk);
  std::vector<uint16_t> expected(kChunk);
  std::vector<uint16_t> out(kChunk);
  Failures failures;
  const auto fail = [&](ConvertPath path, const char* what, uint32_t start) {
    if (++failures.count > 1) return;
    const auto differ = std::mismatch(out.begin(), out.end(), expected.begin());
    failures.first = std::string(ConvertPathName(path)) + " " + what + ", input bits " +
                     std::to_string(start + (differ.first - out.begin()));
  };
  const uint64_t num_chunks = (uint64_t{1} << 32) / kChunk;
  for (uint64_t chunk = thread * kChunkStride; chunk < num_chunks; chunk += num_threads * kChunkStride) {
    const auto start = static_cast<uint32_t>(chunk * kChunk);
    for (uint32_t i = 0; i < kChunk; ++i) {
      const uint32_t bits = start + i;
      std::memcpy(&in[i], &bits, sizeof(bits));
    }
    NarrowingStats expected_counts;
    expectation.Fill(start, expected, expected_counts);
    for (const ConvertPath path : paths) {
      NarrowOn(path, in, low, absl::MakeSpan(out));
      if (out != expected) fail(path, "Narrow", start);
      NarrowingStats counts;
      NarrowWithStatsOn(path, in, low, absl::MakeSpan(out), counts);
      if (out != expected) fail(path, "NarrowWithStats", start);
      if (!SameCounts(counts, expected_counts)) fail(path, "counts", start);
    }
  }
  return failures;
}

void CheckAllInputs(const Format& format) {
  const Expectation expectation(format);
  REQUIRE(expectation.IsUsable());
  const uint32_t num_threads = std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
  std::vector<Failures> failures(num_threads);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < num_threads; ++i) {
    threads.emplace_back([&, i] { failures[i] = CheckChunks(expectation, format.type, i, num_threads); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Failures& found : failures) {
    INFO(found.first);
    CHECK(found.count == 0);
  }
}

TEST_CASE("float16: all 2^32 inputs on every path") { CheckAllInputs(kFloat16Format); }
TEST_CASE("bfloat16: all 2^32 inputs on every path") { CheckAllInputs(kBfloat16Format); }

}  // namespace
}  // namespace amp
