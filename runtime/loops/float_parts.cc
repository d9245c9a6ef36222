#include "runtime/loops/float_parts.h"

#include <cstring>

#include "ir/base/check.h"
#include "ir/base/status.h"
#include "runtime/loops/best_loops.h"

namespace amp {

FloatSource::FloatSource(const Loops& loops, const Tensor& tensor) {
  AMP_CHECK(IsLoopFloat(tensor.dtype()));
  if (tensor.dtype() == DType::kFloat32) {
    wide_ = tensor.elements<float>().data();
  } else {
    narrow_ = tensor.elements<uint16_t>().data();
    widen_ = tensor.dtype() == DType::kFloat16 ? loops.convert.widen_float16 : loops.convert.widen_bfloat16;
  }
}

FloatSink::FloatSink(const Loops& loops, Tensor& tensor) {
  AMP_CHECK(IsLoopFloat(tensor.dtype()));
  if (tensor.dtype() == DType::kFloat32) {
    wide_ = tensor.mutable_elements<float>().data();
  } else {
    narrow_ = tensor.mutable_elements<uint16_t>().data();
    convert_ = tensor.dtype() == DType::kFloat16 ? loops.convert.narrow_float16 : loops.convert.narrow_bfloat16;
  }
}

std::vector<float> ReadAll(const Loops& loops, const Tensor& tensor) {
  std::vector<float> all(static_cast<size_t>(tensor.num_elements()));
  if (all.empty()) return all;
  const float* const found = FloatSource(loops, tensor).Read(0, all.size(), all.data());
  if (found != all.data()) std::memcpy(all.data(), found, all.size() * sizeof(float));
  return all;
}

absl::StatusOr<Tensor> Widened(const KernelContext& context, const Tensor& x) {
  if (x.dtype() == DType::kFloat32) return x;
  AMP_ASSIGN_OR_RETURN(Tensor wide, context.MakeScratch(DType::kFloat32, x.dims()));
  const auto out = wide.mutable_elements<float>();
  FloatSource(BestLoops(), x).Read(0, out.size(), out.data());
  return wide;
}

absl::Status MapOutput(KernelContext& context, UnaryLoop of, UnaryParameters parameters) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutputLike(0, 0));
  const auto count = static_cast<size_t>(y->num_elements());
  if (count == 0) return absl::OkStatus();
  const FloatSource in(loops, context.Input(0));
  const FloatSink out(loops, *y);
  ForEachPartTogether(count, [&](size_t first, size_t size) {
    float buffer[kPartSize];
    of(in.Read(first, size, buffer), out.Begin(first, buffer), size, parameters);
    out.End(first, size, buffer);
  });
  return absl::OkStatus();
}

}  // namespace amp
