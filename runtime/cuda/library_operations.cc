#include "runtime/cuda/library_operations.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <iterator>

#include "runtime/cuda/pick_fastest.h"
#include "runtime/device/raw/device_table.h"

namespace amp::cuda {
namespace {

using device::LibraryAttention;
using device::LibraryConvolution;
using device::ResultStep;

// Returns all properties of an operation that its plan depends on. The first number tells the kinds of operations
// apart.
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

// Returns "cuDNN 9.19.0 eng41_k2=4, Tensor Cores".
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

// Returns the error, after writing its message to `text`.
int Answer(int error, const std::string& what, char* text) {
  std::snprintf(text, device::kMaxOperationText, "%s", what.c_str());
  return error;
}
int Refuse(const std::string& why_not, char* text) { return Answer(device::kNotTaken, why_not, text); }

// Returns an error if memory is lacking; otherwise refuses, so that another kernel may compute the operation.
int Fail(const CudnnFailure& failure, char* text) {
  if (!failure.is_out_of_memory) return Refuse(failure.text, text);
  static_cast<void>(cudaGetLastError());  // clears the error, so that the next call does not return it
  return Answer(device::kOutOfMemory, failure.text, text);
}

}  // namespace

LibraryOperations::~LibraryOperations() {
  plans_.clear();
  if (target_.handle != nullptr) DestroyCudnnHandle(target_.handle);
  for (void* const workspace : workspaces_) static_cast<void>(cudaFree(workspace));
}

CudnnFailure LibraryOperations::OpenLibrary(cudaStream_t stream) {
  if (target_.handle != nullptr) return {};
  if (const CudnnLibrary& library = OpenCudnn(); library.version == 0) return {.text = library.why_not};
  cudaDeviceProp properties = {};
  if (cudaGetDeviceProperties(&properties, ordinal_) != cudaSuccess)
    return {.text = "the device does not say what it is"};
  target_.sm_version = 10 * properties.major + properties.minor;
  device_text_ =
      std::string(properties.name) + " " + std::to_string(properties.major) + "." + std::to_string(properties.minor);
  CudnnFailure failure;
  target_.handle = MakeCudnnHandle(stream, failure);
  return failure;
}

int LibraryOperations::Reserve(size_t workspace_bytes) {
  if (workspace_bytes <= workspace_bytes_) return 0;
  const size_t size_bytes = std::max(workspace_bytes, 2 * workspace_bytes_);
  void* workspace = nullptr;
  if (const int error = cudaMalloc(&workspace, size_bytes); error != 0) {
    // Clears the error, so that the next call does not return it.
    if (error == device::kOutOfMemory) static_cast<void>(cudaGetLastError());
    return error;
  }
  workspaces_.push_back(workspace);
  workspace_bytes_ = size_bytes;
  return 0;
}

// ---- choosing by time -----------------------------------------------------------------------------------------------

void LibraryOperations::UseChoices(const device::Choices* choices) {
  const std::lock_guard<std::mutex> lock(mutex_);
  choices_ = choices;
}

std::string LibraryOperations::ChoiceKeyOf(const Key& key) const {
  std::string text = "cudnn " + std::to_string(OpenCudnn().version) + " " + device_text_;
  for (const int64_t part : key) text += " " + std::to_string(part);
  return text;
}

LibraryOperations::PlanPointer LibraryOperations::PlanFor(const Key& key, const CudnnPointers& pointers,
                                                          const MakePlan& make_plan, cudaStream_t stream,
                                                          std::string& how, CudnnFailure& failure) const {
  constexpr size_t kMostCandidates = 8;  // to be timed
  if (choices_ == nullptr) return make_plan({}, failure);
  const std::string text = ChoiceKeyOf(key);
  if (PlanPointer plan = Recall(text, make_plan); plan != nullptr) {
    how = ", chosen by time before";
    return plan;
  }
  if (IsCapturing(stream)) return make_plan({}, failure);
  PlanPointer plan = make_plan({.most_candidates = kMostCandidates}, failure);
  if (plan != nullptr) PickAndKeep(text, pointers, stream, *plan, how);
  return plan;
}

LibraryOperations::PlanPointer LibraryOperations::Recall(const std::string& key, const MakePlan& make_plan) const {
  char engine[device::kMaxOperationText];
  const size_t size = choices_->find(choices_->self, key.c_str(), engine, sizeof(engine));
  if (size == 0) return nullptr;
  CudnnFailure failure = {.text = "it is no engine of cuDNN"};
  const bool is_name = size <= sizeof(engine) && std::all_of(engine, engine + size, [](char c) { return c > ' '; });
  PlanPointer plan = is_name ? make_plan({.engine = std::string(engine, size)}, failure) : nullptr;
  if (plan == nullptr && !failure.is_out_of_memory) choices_->refuse(choices_->self, key.c_str(), failure.text.c_str());
  return plan;
}

// Times each candidate in a workspace of its own, which is freed afterwards. Candidates whose workspace does not fit in
// memory are not timed.
void LibraryOperations::PickAndKeep(const std::string& key, const CudnnPointers& pointers, cudaStream_t stream,
                                    CudnnPlan& plan, std::string& how) const {
  const size_t count = plan.num_candidates();
  size_t num_timed = 0;
  const size_t fastest = PickFastest(count, [&](size_t i) {
    plan.Take(i);
    void* workspace = nullptr;
    if (plan.workspace_bytes() > 0 && cudaMalloc(&workspace, plan.workspace_bytes()) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());  // clears the error
      return kNoTime;
    }
    const float time = TimeOfRuns(stream, [&] { return plan.Run(target_.handle, pointers, workspace).text.empty(); });
    if (workspace != nullptr) static_cast<void>(cudaFree(workspace));
    if (time != kNoTime) ++num_timed;
    return time;
  });
  plan.Take(fastest);
  if (num_timed == 0) return;  // running the plan will report the reason
  how = ", fastest of " + std::to_string(count);
  choices_->keep(choices_->self, key.c_str(), plan.engine().data(), plan.engine().size());
}

// ---- running --------------------------------------------------------------------------------------------------------

int LibraryOperations::Run(const Key& key, const CudnnPointers& pointers, const MakePlan& make_plan, bool is_float32,
                           cudaStream_t stream, char* text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const CudnnFailure failure = OpenLibrary(stream); !failure.text.empty()) return Fail(failure, text);
  if (!IsAligned(pointers)) return Refuse("an operand that begins between multiples of 16 bytes", text);
  const auto [found, is_new] = plans_.try_emplace(key);
  Entry& entry = found->second;
  if (is_new) {
    CudnnFailure failure;
    std::string how;
    entry.plan = PlanFor(key, pointers, make_plan, stream, how, failure);
    entry.text = entry.plan == nullptr ? failure.text : TextOf(*entry.plan, is_float32) + how;
    if (entry.plan == nullptr && failure.is_out_of_memory) {  // memory may suffice next time
      plans_.erase(found);
      return Fail(failure, text);
    }
  }
  if (entry.plan == nullptr) return Refuse(entry.text, text);
  if (const int error = Reserve(entry.plan->workspace_bytes()); error != 0) {
    return Answer(error, "no workspace of " + std::to_string(entry.plan->workspace_bytes()) + " bytes for cuDNN", text);
  }
  const CudnnFailure failure =
      entry.plan->Run(target_.handle, pointers, workspaces_.empty() ? nullptr : workspaces_.back());
  if (failure.is_out_of_memory) return Fail(failure, text);
  if (!failure.text.empty()) {
    const int error = cudaGetLastError();  // an error of CUDA itself is final: no other kernel tries
    return error == 0 ? Fail(failure, text) : Answer(error, failure.text, text);
  }
  const bool is_slow = !is_float32 && !entry.plan->uses_tensor_cores();
  return Answer(is_slow ? device::kWithoutTensorCores : 0, entry.text, text);
}

int LibraryOperations::Convolve(const LibraryConvolution& convolution, cudaStream_t stream, char* text) {
  const MakePlan make_plan = [&](const CudnnWish& wish, CudnnFailure& failure) {
    return PlanConvolution(convolution, target_, wish, failure);
  };
  return Run(KeyOf(convolution), PointersOf(convolution), make_plan, convolution.storage == device::Storage::kFloat32,
             stream, text);
}

int LibraryOperations::Attend(const LibraryAttention& attention, cudaStream_t stream, char* text) {
  const MakePlan make_plan = [&](const CudnnWish& wish, CudnnFailure& failure) {
    return PlanAttention(attention, target_, wish, failure);
  };
  return Run(KeyOf(attention), PointersOf(attention), make_plan, attention.storage == device::Storage::kFloat32, stream,
             text);
}

}  // namespace amp::cuda
