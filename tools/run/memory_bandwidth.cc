#include "tools/run/memory_bandwidth.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/kernel/tensor.h"
#include "runtime/loops/best_loops.h"

namespace amp {
namespace {

constexpr int64_t kElements = int64_t{64} << 20;
constexpr int kPasses = 6;

// Reads a part of the elements; the result keeps the compiler from leaving that out.
uint32_t ReadPart(const Tensor& tensor, size_t part, size_t parts) {
  const absl::Span<const float> elements = tensor.elements<float>();
  const size_t size = elements.size() / parts;
  return BestLoops().rows.largest_magnitude(elements.data() + part * size, size);
}

}  // namespace

double MeasureReadBandwidth(int threads) {
  absl::StatusOr<Tensor> tensor = Tensor::Create(DType::kFloat32, {kElements});
  if (!tensor.ok()) return 0;
  std::fill_n(tensor->mutable_elements<float>().data(), kElements, 1.0F);
  using Clock = std::chrono::steady_clock;
  const auto parts = static_cast<size_t>(std::max(threads, 1));
  double best = 0;
  std::atomic<uint32_t> seen = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const Clock::time_point start = Clock::now();
    std::vector<std::thread> others;
    for (size_t part = 1; part < parts; ++part) {
      const auto read = [&, part] { seen += ReadPart(*tensor, part, parts); };
      try {
        others.emplace_back(read);
      } catch (const std::system_error&) {  // the system has no more threads
        read();
      }
    }
    seen += ReadPart(*tensor, 0, parts);
    for (std::thread& other : others) other.join();
    const std::chrono::duration<double> seconds = Clock::now() - start;
    best = std::max(best, static_cast<double>(tensor->size_bytes()) / seconds.count());
  }
  return seen == 0 ? 0 : best;
}

}  // namespace amp
