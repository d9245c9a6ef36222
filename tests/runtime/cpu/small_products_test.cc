// Products and convolutions that threads would not speed up wake none; larger ones do.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "runtime/onednn/open_library.h"
#include "tests/catch2.h"

namespace amp {
namespace {

constexpr int kThreads = 3;

std::ptrdiff_t NumThreads() { return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}); }

// Waits until there are at most `count` threads. A team's threads end some time after the thread that it worked for.
void AwaitThreads(std::ptrdiff_t count) {
  constexpr int kMostWaits = 10'000;
  for (int i = 0; i < kMostWaits && NumThreads() > count; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void RunOn(const onednn::Primitive& primitive, size_t elements) {
  std::vector<float> a(elements), b(elements), y(elements);
  std::vector<std::byte> scratch(primitive.scratch_bytes() + 1);
  onednn::Primitive::Arguments arguments;
  arguments.a = a.data();
  arguments.b = b.data();
  arguments.y = y.data();
  arguments.scratch = scratch.data();
  CHECK(primitive.Run(arguments));
}

onednn::Operand RowMajor(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return {DType::kFloat32, dims, strides};
}

// How many threads there are more once it has run. A thread that is new has no team yet.
template <typename Make>
std::ptrdiff_t ThreadsWokenBy(size_t elements, const Make& make) {
  static const std::ptrdiff_t num_at_first = NumThreads();
  AwaitThreads(num_at_first);
  std::ptrdiff_t woken = 0;
  std::thread([&] {
    const onednn::Library* const library = onednn::OpenLibrary().library;
    library->SetThreads(kThreads);
    std::string why_not;
    const std::unique_ptr<onednn::Primitive> primitive = make(*library, &why_not);
    if (primitive == nullptr) {
      FAIL_CHECK(why_not);
      return;
    }
    const std::ptrdiff_t before = NumThreads();
    RunOn(*primitive, elements);
    // A thread of an earlier team may have ended only now.
    woken = std::max<std::ptrdiff_t>(NumThreads() - before, 0);
  }).join();
  return woken;
}

std::ptrdiff_t ThreadsOfMatMul(int64_t m, int64_t k, int64_t n) {
  return ThreadsWokenBy(static_cast<size_t>(m * k + k * n + m * n), [&](const auto& library, std::string* why_not) {
    return library.MakeMatMul({.a = RowMajor({m, k}), .b = RowMajor({k, n}), .y = RowMajor({m, n})}, why_not);
  });
}

// Returns how many threads a convolution of 3 x 3 wakes, with as many channels in as out.
std::ptrdiff_t ThreadsOfConvolution(int64_t channels, int64_t size) {
  const auto elements = static_cast<size_t>(channels * (size * size + 9 * 2 * channels) * 16);
  return ThreadsWokenBy(elements, [&](const auto& library, std::string* why_not) {
    onednn::ConvolutionSpec spec;
    spec.x = spec.y = RowMajor({1, channels, size, size});
    spec.w = RowMajor({1, channels, channels, 3, 3});
    spec.strides = spec.dilations = spec.pads_begin = spec.pads_end = {1, 1};
    return library.MakeConvolution(spec, why_not);
  });
}

TEST_CASE("products that threads would not speed up wake none") {
  if (onednn::OpenLibrary().library == nullptr) {
    WARN("skipped: no oneDNN for this processor");
    return;
  }
  CHECK(ThreadsOfMatMul(16, 64, 64) == 0);
  CHECK(ThreadsOfMatMul(1, 256, 256) == 0);
  CHECK(ThreadsOfMatMul(512, 512, 512) == kThreads - 1);
  CHECK(ThreadsOfConvolution(8, 8) == 0);
  CHECK(ThreadsOfConvolution(32, 64) == kThreads - 1);
}

}  // namespace
}  // namespace amp
