#include "runtime/cuda/library_operations.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <iterator>

#include "runtime/device/raw/device_table.h"

namespace amp::cuda {
namespace {

using device::LibraryAttention;
using device::LibraryConvolution;
using device::ResultStep;

// All of an operation that a plan depends on; the first number tells the kinds apart.
std::vector<int64_t> KeyOf(const LibraryConvolution& c) {
  std::vector<int64_t> key = {0,
                              static_cast<int64_t>(c.storage),
                              static_cast<int64_t>(c.stored_as),
                              c.is_transposed,
                              c.channels_last,
                              c.gives_weights,
                              c.allows_tf32,
                              c.bias != nullptr,
                              c.batch,
                              c.channels,
                              c.filters,
                              c.groups,
                              c.num_axes};
  for (const device::PoolAxis& axis : c.axes) {
    key.insert(key.end(),
               {axis.input, axis.output, axis.kernel, axis.stride, axis.dilation, axis.pad_begin, axis.pad_end});
  }
  for (int32_t i = 0; i < c.num_steps; ++i) {
    const ResultStep& step = c.steps[i];
    key.insert(key.end(),
               {static_cast<int64_t>(step.operand), static_cast<int64_t>(step.function),
                static_cast<int64_t>(step.combine), std::bit_cast<int32_t>(step.a), std::bit_cast<int32_t>(step.b)});
  }
  return key;
}

std::vector<int64_t> KeyOf(const LibraryAttention& a) {
  std::vector<int64_t> key = {1,
                              static_cast<int64_t>(a.storage),
                              a.mask != nullptr,
                              a.batch,
                              a.heads,
                              a.key_heads,
                              a.queries,
                              a.keys,
                              a.size,
                              a.value_size,
                              std::bit_cast<int32_t>(a.scale)};
  for (const device::HeadSteps& heads : {a.q_steps, a.k_steps, a.v_steps, a.y_steps}) {
    key.insert(key.end(), std::begin(heads.steps), std::end(heads.steps));
  }
  key.insert(key.end(), std::begin(a.mask_dims), std::end(a.mask_dims));
  return key;
}

// "cuDNN 9.19.0 eng41_k2=4, Tensor Cores"
std::string TextOf(const CudnnPlan& plan, bool is_float32) {
  const bool uses = plan.uses_tensor_cores();
  const char* const how = is_float32 ? (uses ? "TF32" : "strict float32: no TF32, no BF16x9 emulation")
                                     : (uses ? "Tensor Cores" : "no Tensor Cores");
  return "cuDNN " + CudnnVersionText(OpenCudnn().version) + " " + plan.engine() + ", " + how;
}

bool IsAligned(const CudnnPointers& pointers) {
  constexpr uintptr_t kAlignment = 16;  // as plans expect
  return std::all_of(pointers.begin(), pointers.end(),
                     [](const auto& each) { return reinterpret_cast<uintptr_t>(each.second) % kAlignment == 0; });
}

// The error, with what there is to say in `text`.
int Answer(int error, const std::string& what, char* text) {
  std::snprintf(text, device::kMaxOperationText, "%s", what.c_str());
  return error;
}
int Refuse(const std::string& why_not, char* text) { return Answer(device::kNotTaken, why_not, text); }

}  // namespace

LibraryOperations::~LibraryOperations() {
  plans_.clear();
  if (target_.handle != nullptr) DestroyCudnnHandle(target_.handle);
  for (void* const workspace : workspaces_) static_cast<void>(cudaFree(workspace));
}

std::string LibraryOperations::OpenLibrary(cudaStream_t stream) {
  if (target_.handle != nullptr) return "";
  if (const CudnnLibrary& library = OpenCudnn(); library.version == 0) return library.why_not;
  int major = 0, minor = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal_) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ordinal_) != cudaSuccess) {
    return "the compute capability is not told";
  }
  target_.sm_version = 10 * major + minor;
  std::string why_not;
  target_.handle = MakeCudnnHandle(stream, why_not);
  return why_not;
}

int LibraryOperations::Reserve(size_t workspace_bytes) {
  if (workspace_bytes <= workspace_bytes_) return 0;
  const size_t size_bytes = std::max(workspace_bytes, 2 * workspace_bytes_);
  void* workspace = nullptr;
  if (const int error = cudaMalloc(&workspace, size_bytes); error != 0) {
    if (error == device::kOutOfMemory) static_cast<void>(cudaGetLastError());  // does not last
    return error;
  }
  workspaces_.push_back(workspace);
  workspace_bytes_ = size_bytes;
  return 0;
}

template <typename Operation, typename MakePlan>
int LibraryOperations::Run(const Operation& operation, MakePlan make_plan, bool is_float32, cudaStream_t stream,
                           char* text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const std::string why_not = OpenLibrary(stream); !why_not.empty()) return Refuse(why_not, text);
  const auto [found, is_new] = plans_.try_emplace(KeyOf(operation));
  Entry& entry = found->second;
  if (is_new) {
    entry.plan = make_plan(operation, target_, entry.text);
    if (entry.plan != nullptr) entry.text = TextOf(*entry.plan, is_float32);
  }
  if (entry.plan == nullptr) return Refuse(entry.text, text);
  const CudnnPointers pointers = PointersOf(operation);
  if (!IsAligned(pointers)) return Refuse("an operand that begins between multiples of 16 bytes", text);
  if (const int error = Reserve(entry.plan->workspace_bytes()); error != 0) {
    return Answer(error, "no workspace of " + std::to_string(entry.plan->workspace_bytes()) + " bytes for cuDNN", text);
  }
  const std::string failure =
      entry.plan->Run(target_.handle, pointers, workspaces_.empty() ? nullptr : workspaces_.back());
  // Where CUDA itself has no complaint, others may compute it.
  const int error = failure.empty() ? 0 : cudaGetLastError();
  if (!failure.empty() && error == 0) return Refuse(failure, text);
  const bool is_slow = failure.empty() && !is_float32 && !entry.plan->uses_tensor_cores();
  return Answer(is_slow ? device::kWithoutTensorCores : error, failure.empty() ? entry.text : failure, text);
}

int LibraryOperations::Convolve(const LibraryConvolution& convolution, cudaStream_t stream, char* text) {
  return Run(convolution, PlanConvolution, convolution.storage == device::Storage::kFloat32, stream, text);
}

int LibraryOperations::Attend(const LibraryAttention& attention, cudaStream_t stream, char* text) {
  return Run(attention, PlanAttention, attention.storage == device::Storage::kFloat32, stream, text);
}

}  // namespace amp::cuda
