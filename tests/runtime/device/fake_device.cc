#include "tests/runtime/device/fake_device.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "ir/base/check.h"
#include "runtime/device/raw/attention.h"
#include "runtime/device/raw/chain.h"
#include "runtime/device/raw/convolution.h"
#include "runtime/device/raw/elementwise.h"
#include "runtime/device/raw/images.h"
#include "runtime/device/raw/integers.h"
#include "runtime/device/raw/loss.h"
#include "runtime/device/raw/move.h"
#include "runtime/device/raw/multiply.h"
#include "runtime/device/raw/norm_gradient.h"
#include "runtime/device/raw/optimizer.h"
#include "runtime/device/raw/picked_rows.h"
#include "runtime/device/raw/quantized.h"
#include "runtime/device/raw/recurrent.h"
#include "runtime/device/raw/rows.h"
#include "runtime/device/raw/select.h"
#include "runtime/device/raw/split_rows.h"
#include "runtime/device/raw/window_gradient.h"
#include "tests/runtime/device/fake_operations.h"
#include "tests/runtime/device/fake_ranks.h"

namespace amp {
namespace {

constexpr int kFailedLaunch = 700, kNoRecording = 900, kNotWhileRecording = 901, kNoPinnedMemory = 902;
constexpr size_t kMaxKey = 64;
constexpr int kFillByte = 0xcd;  // memory that nobody has written to

// The work of a recording, to be done at its replay. Arguments are copied into it.
using Recorded = std::vector<std::function<int()>>;

// A copy from or to pinned memory, that the device has not come to yet.
struct StagedCopy {
  void* to;
  const void* from;
  size_t size_bytes;
  int slot;
};

struct FakeDevice {
  absl::Mutex mutex = {};
  FakeDeviceLimits limits;
  std::shared_ptr<FakeDeviceState> state;
  std::map<void*, size_t> blocks;
  std::unique_ptr<Recorded> recorded = nullptr;  // of the recording under way
  bool is_broken = false;                        // by something that a recording cannot have
  std::shared_ptr<DoubleWorld> world = nullptr;  // of the ranks that it has joined
  int rank = 0;
  const device::Choices* choices = nullptr;
  std::deque<StagedCopy> staged = {};
};
FakeDevice& Of(void* self) { return *static_cast<FakeDevice*>(self); }

// Staged copies are done as late as may be: when they are waited for, or something else comes behind them.
void DoStaged(FakeDevice& opened) {
  for (const StagedCopy& copy : opened.staged) std::memcpy(copy.to, copy.from, copy.size_bytes);
  opened.staged.clear();
}

// Does it, or writes it down.
template <typename Do>
int DoOrRecord(FakeDevice& opened, const Do& what) {
  DoStaged(opened);
  if (opened.recorded == nullptr) return what();
  if (opened.is_broken) return kNotWhileRecording;
  opened.recorded->push_back(what);
  return 0;
}

// As many lanes as a warp, one after another, so that sums are added up in about the order of a device.
class HostTeam {
 public:
  bool IsFirst() const { return true; }

  template <typename Of>
  void ForEach(uint32_t count, Of of) const {
    for (uint32_t i = 0; i < count; ++i) of(i);
  }
  template <typename Of>
  float Sum(uint32_t count, Of of) const {
    float lanes[kLanes] = {};
    for (uint32_t i = 0; i < count; ++i) lanes[i % kLanes] += of(i);
    for (uint32_t step = kLanes / 2; step > 0; step /= 2) {
      for (uint32_t lane = 0; lane < step; ++lane) lanes[lane] += lanes[lane + step];
    }
    return lanes[0];
  }
  template <typename Of>
  float Max(uint32_t count, Of of) const {
    float largest = -device::kInfinity;
    for (uint32_t i = 0; i < count; ++i) largest = device::LargerOf(of(i), largest);
    return largest;
  }
  template <typename Of>
  uint64_t MaxKey(uint32_t count, Of of) const {
    uint64_t largest = 0;
    for (uint32_t i = 0; i < count; ++i) largest = std::max<uint64_t>(largest, of(i));
    return largest;
  }

 private:
  static constexpr uint32_t kLanes = 256;
};

struct HostRunner {
  template <typename Body>
  int ForEach(uint32_t count, const Body& body) const {
    for (uint32_t i = 0; i < count; ++i) body(i);
    return 0;
  }
  template <typename Body>
  int ForRows(uint32_t rows, const Body& body, uint32_t = device::kLongRow) const {
    HostTeam team;
    for (uint32_t row = 0; row < rows; ++row) body(row, team);
    return 0;
  }
};

template <typename Arguments>
int LaunchOnHost(void* self, const void* arguments) {
  FakeDevice& opened = Of(self);
  const absl::MutexLock lock(&opened.mutex);
  if (opened.state->launches++ >= opened.limits.launches) return kFailedLaunch;
  ++opened.state->kernels[static_cast<size_t>(Arguments::kKernel)];
  return DoOrRecord(opened, [copy = *static_cast<const Arguments*>(arguments)] {
    HostRunner runner;
    return Start(runner, copy);
  });
}

template <typename... Arguments>
device::LaunchTable Launches() {
  device::LaunchTable table;
  ((table.launches[static_cast<size_t>(Arguments::kKernel)] = LaunchOnHost<Arguments>), ...);
  for (const device::Launch launch : table.launches) AMP_CHECK(launch != nullptr);
  return table;
}

int Allocate(void* self, size_t size_bytes, void** memory) {
  FakeDevice& opened = Of(self);
  const absl::MutexLock lock(&opened.mutex);
  FakeDeviceState& state = *opened.state;
  if (size_bytes > opened.limits.memory_bytes - state.live_bytes) return device::kOutOfMemory;
  const size_t rounded =
      (size_bytes + device::kMemoryAlignment - 1) / device::kMemoryAlignment * device::kMemoryAlignment;
  *memory = std::aligned_alloc(device::kMemoryAlignment, rounded);
  std::memset(*memory, kFillByte, rounded);
  opened.blocks[*memory] = size_bytes;
  state.live_bytes += size_bytes;
  state.peak_bytes = std::max(state.peak_bytes, state.live_bytes);
  ++state.live_blocks;
  ++state.allocations;
  return 0;
}

void Release(void* self, void* memory) {
  FakeDevice& opened = Of(self);
  const absl::MutexLock lock(&opened.mutex);
  DoStaged(opened);
  const auto block = opened.blocks.find(memory);
  AMP_CHECK(block != opened.blocks.end());
  opened.state->live_bytes -= block->second;
  --opened.state->live_blocks;
  opened.blocks.erase(block);
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc)
}

// As on a device, what was not written down makes the recording worthless.
int BreaksRecording(FakeDevice& opened) {
  if (opened.recorded == nullptr) return 0;
  opened.is_broken = true;
  return kNotWhileRecording;
}

int Copy(void* self, void* to, const void* from, size_t size_bytes) {
  const absl::MutexLock lock(&Of(self).mutex);
  if (const int error = BreaksRecording(Of(self)); error != 0) return error;
  DoStaged(Of(self));
  std::memcpy(to, from, size_bytes);
  return 0;
}

int CopyOut(void* self, const device::CopyOutArguments* copies, size_t count) {
  FakeDevice& opened = Of(self);
  const absl::MutexLock lock(&opened.mutex);
  if (const int error = BreaksRecording(opened); error != 0) return error;
  DoStaged(opened);
  ++opened.state->waits;
  for (size_t i = 0; i < count; ++i) std::memcpy(copies[i].to, copies[i].from, copies[i].size_bytes);
  return 0;
}

int Pin(void* self, size_t size_bytes, void** memory) {
  const absl::MutexLock lock(&Of(self).mutex);
  // The last one is missing, so that those before are to be given back.
  const bool is_last = Of(self).state->pinned_blocks == device::kNumStages - 1;
  if (!Of(self).limits.has_pinned_memory && is_last) return kNoPinnedMemory;
  ++Of(self).state->pinned_blocks;
  *memory = std::malloc(size_bytes);  // NOLINT(cppcoreguidelines-no-malloc)
  std::memset(*memory, kFillByte, size_bytes);
  return 0;
}

void Unpin(void* self, void* memory) {
  const absl::MutexLock lock(&Of(self).mutex);
  --Of(self).state->pinned_blocks;
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc)
}

int Stage(void* self, void* to, const void* from, size_t size_bytes, int slot) {
  const absl::MutexLock lock(&Of(self).mutex);
  if (const int error = BreaksRecording(Of(self)); error != 0) return error;
  AMP_CHECK(size_bytes <= Of(self).limits.stage_bytes);
  ++Of(self).state->staged;
  Of(self).staged.push_back({to, from, size_bytes, slot});
  return 0;
}

// All that is ahead of it is done, nothing behind it.
int AwaitStage(void* self, int slot) {
  const absl::MutexLock lock(&Of(self).mutex);
  std::deque<StagedCopy>& staged = Of(self).staged;
  const auto is_of_slot = [=](const StagedCopy& copy) { return copy.slot == slot; };
  if (std::any_of(staged.begin(), staged.end(), is_of_slot)) ++Of(self).state->waits;
  while (std::any_of(staged.begin(), staged.end(), is_of_slot)) {
    std::memcpy(staged.front().to, staged.front().from, staged.front().size_bytes);
    staged.pop_front();
  }
  return 0;
}

int SetZero(void* self, void* to, size_t size_bytes) {
  const absl::MutexLock lock(&Of(self).mutex);
  return DoOrRecord(Of(self), [to, size_bytes] {
    std::memset(to, 0, size_bytes);
    return 0;
  });
}

int Finish(void* self) {
  const absl::MutexLock lock(&Of(self).mutex);
  DoStaged(Of(self));
  return BreaksRecording(Of(self));
}

int StartRecording(void* self) {
  const absl::MutexLock lock(&Of(self).mutex);
  if (!Of(self).limits.starts_recordings) return kNoRecording;
  Of(self).recorded = std::make_unique<Recorded>();
  Of(self).is_broken = false;
  return 0;
}

int StopRecording(void* self, void** recording) {
  FakeDevice& opened = Of(self);
  const absl::MutexLock lock(&opened.mutex);
  const std::unique_ptr<Recorded> recorded = std::move(opened.recorded);
  *recording = nullptr;
  if (opened.is_broken) return kNotWhileRecording;
  ++opened.state->recordings;
  *recording = new Recorded(*recorded);
  return 0;
}

int Replay(void* self, void* recording) {
  const absl::MutexLock lock(&Of(self).mutex);
  DoStaged(Of(self));
  ++Of(self).state->replays;
  for (const std::function<int()>& each : *static_cast<Recorded*>(recording)) {
    if (const int error = each(); error != 0) return error;
  }
  return 0;
}

void ReleaseRecording(void* self, void* recording) {
  const absl::MutexLock lock(&Of(self).mutex);
  --Of(self).state->recordings;
  delete static_cast<Recorded*>(recording);
}

float ProductElement(const device::ProductArguments& product, int64_t which, int64_t row, int64_t column) {
  const int64_t m = product.m, n = product.n, k = product.k;
  float sum = 0;
  for (int64_t i = 0; i < k; ++i) {
    const int64_t a = product.transposes_a ? i * m + row : row * k + i;
    const int64_t b = product.transposes_b ? column * k + i : i * n + column;
    sum += device::LoadFloat(product.a, product.storage, which * product.a_step + a) *
           device::LoadFloat(product.b, product.storage, which * product.b_step + b);
  }
  sum *= product.alpha;
  if (product.addend != nullptr) {
    sum += device::LoadFloat(product.addend, product.y_storage, (which * m + row) * n + column);
  }
  if (product.bias != nullptr) sum += device::LoadFloat(product.bias, product.storage, column);
  switch (product.activation) {
    case device::ProductActivation::kNone:
      return sum;
    case device::ProductActivation::kRelu:
      return sum < 0 ? 0 : sum;
    case device::ProductActivation::kGeluTanh:
      return device::GeluTanh(sum);
  }
  return sum;
}

void MultiplyAll(const device::ProductArguments& product) {
  int64_t at = 0;
  for (int64_t which = 0; which < product.batch; ++which) {
    for (int64_t row = 0; row < product.m; ++row) {
      for (int64_t column = 0; column < product.n; ++column) {
        device::StoreFloat(product.y, product.y_storage, at++, ProductElement(product, which, row, column));
      }
    }
  }
}

// "TF32 allowed" where it is.
template <typename Operation>
const char* Tf32Text(const Operation& operation) {
  if constexpr (requires { operation.allows_tf32; }) {
    if (operation.allows_tf32) return ", TF32 allowed";
  }
  return "";
}

void NameChoice(const device::ProductArguments& product, char* key) {
  std::snprintf(key, kMaxKey, "double %d %d %d", static_cast<int>(product.m), static_cast<int>(product.n),
                static_cast<int>(product.k));
}
void NameChoice(const device::LibraryConvolution& convolution, char* key) {
  std::snprintf(key, kMaxKey, "double convolution %d %d", static_cast<int>(convolution.channels),
                static_cast<int>(convolution.filters));
}
void NameChoice(const device::LibraryAttention& attention, char* key) {
  std::snprintf(key, kMaxKey, "double attention %d %d", static_cast<int>(attention.queries),
                static_cast<int>(attention.keys));
}

// As if there were something to choose: the first of one.
template <typename Operation>
void Choose(FakeDevice& opened, const Operation& operation) {
  if (opened.choices == nullptr || opened.recorded != nullptr) return;
  char key[kMaxKey];
  NameChoice(operation, key);
  char choice = 0;
  const size_t size = opened.choices->find(opened.choices->self, key, &choice, 1);
  if (size == 1 && choice == '1') return;
  if (size > 0) opened.choices->refuse(opened.choices->self, key, "the double has the first one alone");
  ++opened.state->timed;
  opened.choices->keep(opened.choices->self, key, "1", 1);
}

void UseChoices(void* self, const device::Choices* choices) {
  const absl::MutexLock lock(&Of(self).mutex);
  Of(self).choices = choices;
}

int LacksWorkspace(char* text, size_t size) {
  std::snprintf(text, size, "no workspace for the double");
  return device::kOutOfMemory;
}

int Multiply(void* self, const device::ProductArguments* product, char* text) {
  const FakeDeviceLimits& limits = Of(self).limits;
  if (!limits.has_workspaces) return LacksWorkspace(text, device::kMaxProductText);
  if (!limits.has_products || !limits.takes_products) {
    std::snprintf(text, device::kMaxProductText, "the double %s",
                  limits.has_products ? "takes none" : "has no products");
    return limits.has_products ? device::kNoProduct : device::kNoLibrary;
  }
  std::snprintf(text, device::kMaxProductText, "product of the double%s", Tf32Text(*product));
  const absl::MutexLock lock(&Of(self).mutex);
  Choose(Of(self), *product);
  return DoOrRecord(Of(self), [copy = *product] {
    MultiplyAll(copy);
    return 0;
  });
}

const char* WhyNotTaken(const FakeDeviceLimits& limits, const device::LibraryConvolution& convolution) {
  if (!limits.has_operations) return "the double has no library";
  if (convolution.channels_last && !limits.takes_channels_last) return "the double takes rows alone";
  return limits.adds_bias || convolution.bias == nullptr ? nullptr : "the double adds no bias";
}
const char* WhyNotTaken(const FakeDeviceLimits& limits, const device::LibraryAttention&) {
  return limits.has_operations ? nullptr : "the double has no library";
}

template <typename Operation, void (*compute)(const Operation&)>
int Operate(void* self, const Operation* operation, char* text) {
  FakeDevice& opened = Of(self);
  const absl::MutexLock lock(&opened.mutex);
  const char* const why_not = WhyNotTaken(opened.limits, *operation);
  std::snprintf(text, device::kMaxOperationText, "%s%s", why_not == nullptr ? "library of the double" : why_not,
                why_not == nullptr ? Tf32Text(*operation) : "");
  if (why_not != nullptr) return device::kNotTaken;
  if (opened.recorded != nullptr && !opened.limits.records_operations) {
    opened.is_broken = true;
    return device::kNotTaken;
  }
  if (!opened.limits.has_workspaces) return LacksWorkspace(text, device::kMaxOperationText);
  ++opened.state->operations;
  Choose(opened, *operation);
  if constexpr (requires { operation->channels_last; }) opened.state->channels_last += operation->channels_last ? 1 : 0;
  const int error = DoOrRecord(opened, [copy = *operation] {
    compute(copy);
    return 0;
  });
  if constexpr (requires { operation->channels_last; }) {
    const bool is_slow = !opened.limits.has_tensor_cores && operation->storage != device::Storage::kFloat32;
    if (error == 0 && is_slow) return device::kWithoutTensorCores;
  }
  return error;
}

int NameRanks(void* self, char* id, char* text) {
  const bool has_ranks = Of(self).limits.has_ranks;
  std::snprintf(text, device::kMaxRanksText, has_ranks ? "ranks of the double" : "the double has no ranks");
  if (!has_ranks) return device::kNoRanks;
  if (id != nullptr) MakeWorldId(id);
  return 0;
}

int JoinRanks(void* self, const char* id, int rank, int size, char* text) {
  Of(self).world = FindWorld(id, size);
  Of(self).rank = rank;
  return NameRanks(self, nullptr, text);
}

int StartAllReduce(void* self, const device::AllReduceArguments* fold) {
  FakeDevice& opened = Of(self);
  const absl::MutexLock lock(&opened.mutex);
  ++opened.state->folds;
  return DoOrRecord(opened, [&opened, copy = *fold] {
    FoldInWorld(*opened.world, opened.rank, copy);
    return 0;
  });
}

int AwaitAllReduces(void*) { return 0; }

const char* ErrorText(int error) { return error == kFailedLaunch ? "planted" : "no error of the double's"; }

void Close(void* self) {
  AMP_CHECK(Of(self).blocks.empty());  // tensors do not outlive their device
  Of(self).state->is_closed = true;
  delete static_cast<FakeDevice*>(self);
}

}  // namespace

std::shared_ptr<Accelerator> OpenFakeDevice(const std::shared_ptr<FakeDeviceState>& state,
                                            const FakeDeviceLimits& limits) {
  auto* const opened = new FakeDevice{
      .limits = limits, .state = state == nullptr ? std::make_shared<FakeDeviceState>() : state, .blocks = {}};
  return std::make_shared<Accelerator>(
      "double",
      device::DeviceTable{
          .self = opened,
          .allocate = Allocate,
          .release = Release,
          .copy_in = Copy,
          .copy_out = CopyOut,
          .num_multiprocessors = limits.num_multiprocessors,
          .stage_bytes = limits.stage_bytes,
          .pin = Pin,
          .unpin = Unpin,
          .stage_in = Stage,
          .stage_out = Stage,
          .await_stage = AwaitStage,
          .set_zero = SetZero,
          .finish = Finish,
          .multiply = Multiply,
          .convolve = Operate<device::LibraryConvolution, ConvolveOnHost>,
          .attend = Operate<device::LibraryAttention, AttendOnHost>,
          .use_choices = UseChoices,
          .name_ranks = NameRanks,
          .join_ranks = JoinRanks,
          .start_all_reduce = StartAllReduce,
          .await_all_reduces = AwaitAllReduces,
          .start_recording = limits.has_recordings ? StartRecording : nullptr,
          .stop_recording = StopRecording,
          .replay = Replay,
          .release_recording = ReleaseRecording,
          .error_text = ErrorText,
          .close = Close,
          .kernels =
              Launches<device::MapArguments, device::ConvertArguments, device::ZipArguments,
                       device::ZipIntegersArguments, device::CompareArguments, device::ChooseArguments,
                       device::CopyStridedArguments, device::CopyBlocksArguments, device::CopyPickedArguments,
                       device::CopyRunsArguments, device::ReduceArguments, device::SoftmaxArguments,
                       device::NormalizeArguments, device::NormalizeChannelsArguments, device::PoolArguments,
                       device::ConvolveArguments, device::ChainArguments, device::FindExtremesArguments,
                       device::SelectTopArguments, device::ResampleArguments, device::NormalizeNeighboursArguments,
                       device::AttendArguments, device::ScatterRunsArguments, device::RecurrentStepArguments,
                       device::OptimizeArguments, device::CheckFiniteArguments, device::UpdateLossScaleArguments,
                       device::AdamRateArguments, device::CrossEntropyArguments, device::CrossEntropyGradientArguments,
                       device::PartMomentsArguments, device::JoinMomentsArguments, device::PartSumsArguments,
                       device::JoinSumsArguments, device::ChannelGradientArguments, device::RowGradientArguments,
                       device::SumColumnsArguments, device::SpreadWindowsArguments, device::ConvolveForWeightsArguments,
                       device::ResetHiddenArguments, device::QuantizeArguments, device::DequantizeArguments,
                       device::FindRangeArguments, device::QuantizedPairArguments, device::QuantizedTableArguments,
                       device::ReducePartsArguments, device::SoftmaxPartsArguments, device::SoftmaxOfPartsArguments,
                       device::NormalizePartsArguments, device::NormalizeOfPartsArguments,
                       device::QuantizedMeanArguments, device::MultiplyArguments, device::MultiplyIntegersArguments,
                       device::ConvolveIntegersArguments, device::JoinColumnsArguments, device::AddPickedRowsArguments,
                       device::JoinPlanesArguments, device::CompareAndChooseArguments>()});
}

}  // namespace amp
