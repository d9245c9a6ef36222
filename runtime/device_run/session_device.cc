#include "runtime/run/session_device.h"

#include <new>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "ir/base/fenced.h"
#include "ir/base/status.h"
#include "runtime/device/accelerator.h"
#include "runtime/device/chain_kernels.h"
#include "runtime/device/families.h"
#include "runtime/device/fused_norm_kernels.h"
#include "runtime/device/fused_optimizers.h"
#include "runtime/device/library_attention_kernels.h"
#include "runtime/device_run/device_execution.h"
#include "runtime/device_run/device_frame.h"
#include "runtime/device_run/find_kernels.h"
#include "runtime/device_run/graph_replay.h"
#include "runtime/run/arena.h"

namespace amp {
namespace {

// Holds the device during a run: shared with other runs, or alone if the run records.
class DeviceTurn {
 public:
  DeviceTurn(Accelerator& device, bool is_alone) ABSL_NO_THREAD_SAFETY_ANALYSIS : device_(device), is_alone_(is_alone) {
    is_alone_ ? device_.order().Lock() : device_.order().ReaderLock();
  }
  ~DeviceTurn() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    is_alone_ ? device_.order().Unlock() : device_.order().ReaderUnlock();
  }
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;

 private:
  Accelerator& device_;
  const bool is_alone_;
};

// Returns the error of a run. If the run has overwritten its inputs, the message says that they are lost.
absl::Status WithLoss(const absl::Status& status, const DeviceExecution& execution) {
  if (absl::IsCancelled(status) || !execution.HasOverwritten()) return status;
  absl::Status lost(status.code(), absl::StrCat(status.message(), "; what it was writing over is lost"));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { lost.SetPayload(url, payload); });
  return lost;
}

bool TakesEpilogueOnDevice(const KernelRow& row) { return row.runs_on_device && row.takes_epilogue; }

class OneSessionDevice : public SessionDevice {
 public:
  explicit OneSessionDevice(const SessionOptions& options)
      : device_(options.device), may_replay_(options.replay), content_(std::in_place, device_.get()) {}

  std::string name() const override { return device_->name(); }
  FindKernels kernels() const override { return FindAllKernelsAndDevices; }
  // Only the device's kernels: those of the processor would take nodes away from the device.
  FusionRules fusion_rules() const override {
    return {.takes_epilogue = TakesEpilogueOnDevice,
            .attention = {.rows = {&FusedAttentionDeviceRow()}, .may_take = MayAttendOnDevice},
            .find_norm = FindDeviceNormRow,
            .find_reduction = FindDeviceReductionRow,
            .chains = {&DeviceChainRow()},
            .find_update = FindFusedOptimizer};
  }
  bool Has(const Tensor& tensor) const override { return device_->Has(tensor); }
  absl::StatusOr<std::vector<Datum>> Run(MainCall call) override;
  CopyCounts LastCopies() const override {
    const absl::MutexLock lock(&mutex_);
    return last_copies_;
  }
  size_t ActivationBytes() const override { return content_->arenas.PlannedBytes(); }
  size_t LargestLiveBytes() const override { return content_->arenas.LargestLiveBytes(); }
  int64_t ConstantBytes() const override { return content_->constants.size_bytes(); }
  void Release(absl::FunctionRef<void()> others) override {
    const DeviceTurn turn(*device_, false);
    others();
    content_.reset();
  }

 private:
  // Everything of a session that holds memory of the device.
  struct Content {
    explicit Content(Accelerator* device) : arenas(device) {}
    ArenaPool arenas;
    DeviceConstants constants;
    GraphReplays replays;
  };

  // Returns null if the run is neither replayed nor recorded.
  GraphReplay* FindReplay(const MainCall& call, Arena& arena, const std::vector<int64_t>& key);

  const std::shared_ptr<Accelerator> device_;
  const bool may_replay_;
  std::optional<Content> content_;
  mutable absl::Mutex mutex_;
  CopyCounts last_copies_ ABSL_GUARDED_BY(mutex_);
};

GraphReplay* OneSessionDevice::FindReplay(const MainCall& call, Arena& arena, const std::vector<int64_t>& key) {
  const bool may_replay = may_replay_ && device_->CanRecord() && call.options.observer == nullptr &&
                          call.options.timings == nullptr && (call.resources.means == nullptr || device_->HasRanks());
  return may_replay ? &content_->replays.Of(call.model, call.program, *device_, arena, key) : nullptr;
}

absl::StatusOr<std::vector<Datum>> OneSessionDevice::Run(MainCall call) {
  call.resources.device = device_.get();
  call.resources.device_constants = &content_->constants;
  std::optional<ArenaLease> arena;
  GraphReplay* replay = nullptr;
  {
    const DeviceTurn turn(*device_, false);  // a lease may allocate, which fails while another run records
    const std::vector<int64_t> key = ShapeKey(call.inputs);
    arena.emplace(content_->arenas, key);
    replay = FindReplay(call, arena->arena(), key);
  }
  const DeviceTurn turn(*device_, replay != nullptr && replay->WillRecord());
  if (replay != nullptr) replay->Start(call.options.output_buffers);
  DeviceFrame frame(call.program.constants, {*device_, arena->arena(), content_->constants}, call.resources.memory);
  DeviceExecution execution(call.model, call.program, call.resources, frame, replay, call.options);
  const absl::Status out_of_memory = OutOfMemory();  // made in advance, while there is memory for it
  try {
    absl::StatusOr<std::vector<Datum>> outputs = RunMainGraph(execution, call);
    if (replay != nullptr) replay->End(outputs.status());
    if (!outputs.ok()) return WithLoss(outputs.status(), execution);
    const absl::MutexLock lock(&mutex_);
    last_copies_ = frame.copies();
    return outputs;
  } catch (const std::bad_alloc&) {
    if (replay != nullptr) replay->End(out_of_memory);
    return WithLoss(out_of_memory, execution);
  } catch (...) {
    if (replay != nullptr) replay->End(absl::CancelledError());
    throw;
  }
}

}  // namespace

std::unique_ptr<SessionDevice> MakeSessionDevice(const SessionOptions& options) {
  return std::make_unique<OneSessionDevice>(options);
}

}  // namespace amp
