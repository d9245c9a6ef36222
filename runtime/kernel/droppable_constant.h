// A large constant whose elements may go while all that reads it keeps a packed copy: their memory is the system's
// again, their address stays. Whoever reads the elements holds them, and they come back first.
//
//   constant.Drop([packed](absl::Span<std::byte> elements) { return Unpack(packed, elements); });
//   AMP_ASSIGN_OR_RETURN(const ConstantHold hold, constant.Hold(ConstantUse::kOnce));     as long as `hold` lives
#ifndef AMP_RUNTIME_KERNEL_DROPPABLE_CONSTANT_H_
#define AMP_RUNTIME_KERNEL_DROPPABLE_CONSTANT_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

namespace amp {

class DroppableConstant;

// Elements that had to come back for a run stay: unpacking them takes as long as many small runs.
enum class ConstantUse { kOnce, kInRuns };

// Keeps the elements of a constant where they are; of none, it does nothing.
class ConstantHold {
 public:
  ConstantHold() = default;
  ConstantHold(ConstantHold&& other) noexcept : constant_(std::exchange(other.constant_, nullptr)) {}
  ConstantHold& operator=(ConstantHold&& other) noexcept {
    std::swap(constant_, other.constant_);
    return *this;
  }
  ~ConstantHold();

 private:
  friend class DroppableConstant;
  explicit ConstantHold(DroppableConstant* constant) : constant_(constant) {}

  DroppableConstant* constant_ = nullptr;
};

class DroppableConstant {
 public:
  // Writes the elements again, the same bits but for those of NaN. Errors: no memory; kInternal from the library.
  using Restore = std::function<absl::Status(absl::Span<std::byte> elements)>;

  // `elements` are from AllocateHostMemory, are nobody else's, and outlive this.
  explicit DroppableConstant(absl::Span<std::byte> elements) : elements_(elements) {}

  // Errors: those of restoring.
  absl::StatusOr<ConstantHold> Hold(ConstantUse use);
  // Whether Drop would do something.
  bool MayGo();
  // Drops the elements, unless they are held, stay, or are gone already.
  void Drop(Restore restore);
  // Returns the largest magnitude of the elements. `find` looks at them, for the first caller alone. Errors: those of
  // restoring.
  absl::StatusOr<float> LargestMagnitude(absl::FunctionRef<float()> find);

 private:
  friend class ConstantHold;
  void EndHold();
  bool MayGoNow() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return holds_ == 0 && !stays_ && restore_ == nullptr; }
  absl::Status BringBack(ConstantUse use) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const absl::Span<std::byte> elements_;
  absl::Mutex mutex_;
  size_t holds_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stays_ ABSL_GUARDED_BY(mutex_) = false;
  Restore restore_ ABSL_GUARDED_BY(mutex_);  // null: the elements are there
  std::optional<float> largest_magnitude_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_DROPPABLE_CONSTANT_H_
