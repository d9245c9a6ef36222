// Replaces cudnn_library.cc and cudnn_plans.cc in builds without cuDNN's headers.
#include "runtime/cuda/cudnn_library.h"
#include "runtime/cuda/cudnn_plans.h"

namespace amp::cuda {
namespace {

constexpr char kWhyNot[] = "built without cuDNN";

}  // namespace

const CudnnLibrary& OpenCudnn() {
  static const CudnnLibrary& none = *new CudnnLibrary{.why_not = kWhyNot};
  return none;
}

cudnnContext* MakeCudnnHandle(CUstream_st*, CudnnFailure& failure) {
  failure.text = kWhyNot;
  return nullptr;
}
void DestroyCudnnHandle(cudnnContext*) {}

CudnnPointers PointersOf(const device::LibraryConvolution&) { return {}; }
CudnnPointers PointersOf(const device::LibraryAttention&) { return {}; }

std::unique_ptr<CudnnPlan> PlanConvolution(const device::LibraryConvolution&, const CudnnTarget&, const CudnnWish&,
                                           CudnnFailure& failure) {
  failure.text = kWhyNot;
  return nullptr;
}
std::unique_ptr<CudnnPlan> PlanAttention(const device::LibraryAttention&, const CudnnTarget&, const CudnnWish&,
                                         CudnnFailure& failure) {
  failure.text = kWhyNot;
  return nullptr;
}

}  // namespace amp::cuda
