// Tensors of float32, float16 and bfloat16 as float32, part by part.
//
//   const FloatSource in(loops, x);
//   const FloatSink out(loops, *y);
//   ForEachPartTogether(count, [&](size_t first, size_t size) {
//     float buffer[kPartSize];
//     loops.unary.exp(in.Read(first, size, buffer), out.Begin(first, buffer), size, {});
//     out.End(first, size, buffer);
//   });
//
// float32 is read and written where it is; a buffer is used for the others alone. One buffer may serve for both.
#ifndef AMP_RUNTIME_LOOPS_FLOAT_PARTS_H_
#define AMP_RUNTIME_LOOPS_FLOAT_PARTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/kernel/kernel.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/tensor.h"
#include "runtime/loops/raw/loops.h"

namespace amp {

// How many elements buffers have: a few of them stay in the nearest cache.
inline constexpr size_t kPartSize = 1024;

inline bool IsLoopFloat(DType type) {
  return type == DType::kFloat32 || type == DType::kFloat16 || type == DType::kBfloat16;
}
inline constexpr char kNoLoopFloat[] = "another type than float32, float16 or bfloat16";

// Elements are told apart by their places in memory, whatever the layout. REQUIRES: IsLoopFloat.
class FloatSource {
 public:
  FloatSource(const Loops& loops, const Tensor& tensor);
  const float* Read(size_t first, size_t count, float* buffer) const {
    if (wide_ != nullptr) return wide_ + first;
    widen_(narrow_ + first, buffer, count);
    return buffer;
  }

 private:
  const float* wide_ = nullptr;
  const uint16_t* narrow_ = nullptr;
  ConvertLoops::Widen<uint16_t> widen_ = nullptr;
};

class FloatSink {
 public:
  FloatSink(const Loops& loops, Tensor& tensor);
  // Where to write elements from `first` on; End puts them into the tensor.
  float* Begin(size_t first, float* buffer) const { return wide_ != nullptr ? wide_ + first : buffer; }
  void End(size_t first, size_t count, const float* buffer) const {
    if (wide_ == nullptr) convert_(buffer, narrow_ + first, count);
  }

 private:
  float* wide_ = nullptr;
  uint16_t* narrow_ = nullptr;
  ConvertLoops::Narrow<uint16_t> convert_ = nullptr;
};

// All elements as float32, rounded by nothing.
std::vector<float> ReadAll(const Loops& loops, const Tensor& tensor);

// Returns the tensor as float32, row by row: itself if that is what it is. Errors: memory.
absl::StatusOr<Tensor> Widened(const KernelContext& context, const Tensor& x);

template <typename Visit>
void ForEachPart(size_t count, Visit visit) {
  for (size_t first = 0; first < count; first += kPartSize) visit(first, std::min(kPartSize, count - first));
}

// Visits the parts with the threads of the run: visitors have buffers of their own.
template <typename Visit>
void ForEachPartTogether(size_t count, Visit visit) {
  ParallelFor((count + kPartSize - 1) / kPartSize, kPartSize, [&](const Share& share) {
    for (size_t part = share.first; part < share.end; ++part) {
      const size_t first = part * kPartSize;
      visit(first, std::min(kPartSize, count - first));
    }
  });
}

// Output 0 = of(input 0) with these parameters, wherever the elements lie.
absl::Status MapOutput(KernelContext& context, UnaryLoop of, UnaryParameters parameters);

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_FLOAT_PARTS_H_
