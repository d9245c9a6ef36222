// The memory of one run's tensors, planned from the run before.
//
//   first run of a shape    a: 64 bytes   b: 64 bytes   a dies   c: 32 bytes ...     placed where it fits, recorded
//   later runs              a at 0        b at 64                c at 0              one block, no call to the heap
//
// The plan gives every allocation an offset such that allocations that are alive at the same time do not overlap. It
// places the largest first, each at the lowest offset that is free. If a run allocates or frees in another order than
// the recorded run (a loop that goes on for longer, for example), it gets the rest of its memory from the heap, and the
// next run is recorded again. A run without a plan places its tensors in the block that the arena already has, as it
// goes, and on the heap where they do not fit. When the shapes are always new (a growing cache), the heap is therefore
// called only when the block grows, which makes the block a quarter larger than was needed. Source of the method:
// Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020), greedy by size.
#ifndef AMP_RUNTIME_RUN_ARENA_H_
#define AMP_RUNTIME_RUN_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// One allocation of a recorded run. Times count the run's allocations and frees: each one is a tick.
struct ArenaBlock {
  size_t size_bytes = 0;
  size_t born = 0, died = 0;  // died == 0: it outlived the run
  size_t offset = 0;
};

inline constexpr size_t kHostAlignment = 64;

// Gives every block that died (died != 0) an offset; returns the number of bytes that holds them all.
size_t PlanOffsets(std::vector<ArenaBlock>& blocks, size_t alignment = kHostAlignment);
// Returns the largest number of bytes that are alive at once, over blocks that died: no plan can need less.
size_t LargestLiveBytes(const std::vector<ArenaBlock>& blocks, size_t alignment = kHostAlignment);

// The free bytes of a block of memory. Ranges may be taken and given back in any order.
class FreeRanges {
 public:
  explicit FreeRanges(size_t size_bytes);
  // Takes a range from the smallest free range that is large enough, and returns its offset; nothing if none is.
  std::optional<size_t> Take(size_t size_bytes);
  void Give(size_t offset, size_t size_bytes);

 private:
  std::map<size_t, size_t> sizes_;  // free ranges, size by offset; no two touch
};

// The memory of one run at a time. Tensors that outlive the run must not lie within it (see Owns).
class Arena : public TensorMemory {
 public:
  // Takes its memory from `below`, which must outlive it, or from the heap if that is null.
  explicit Arena(TensorMemory* below = nullptr) : below_(below) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // `key`: what the sizes of the run's tensors depend on: the shapes of the inputs. The plans of recent keys are kept.
  void StartRun(const std::vector<int64_t>& key);
  void EndRun();

  std::shared_ptr<void> Allocate(size_t size_bytes) override;
  size_t alignment() const override { return below_ == nullptr ? kHostAlignment : below_->alignment(); }
  ElementMover* mover() override { return below_ == nullptr ? nullptr : below_->mover(); }
  // Whether `data` lies in the memory that the next run writes to.
  bool Owns(const void* data) const;

  // ---- skipping a part of a run, whose blocks then lie where they would have been
  // How far a run is in its plan: the next allocation, and the ticks so far.
  struct Position {
    size_t next_block = 0, now = 0;
    bool operator==(const Position&) const = default;
  };
  // Returns nothing if the run has no plan or has departed from it.
  std::optional<Position> position() const;
  // Changes whenever blocks of the run's plan may have moved. 0: there is no plan.
  uint64_t number() const { return plan_ == nullptr || !follows_plan_ ? 0 : plan_->number; }
  // Returns the index of the block that starts at `data` and is alive at the position; nothing if there is none.
  // REQUIRES: there is a plan.
  std::optional<size_t> BlockAt(const void* data, Position position) const;
  // Returns the memory of that block as if it had just been allocated. REQUIRES: the block is alive at the position
  // where the run goes on.
  std::shared_ptr<void> Revive(size_t block);
  // Continues the plan from that position. REQUIRES: position() had a value before blocks were freed for the skip.
  void GoOnFrom(Position position);

  // Figures of the last run's plan, in bytes; 0 before there is a plan.
  size_t planned_bytes() const { return plan_ == nullptr ? 0 : plan_->size_bytes; }
  size_t largest_live_bytes() const { return plan_ == nullptr ? 0 : plan_->largest_live_bytes; }

 private:
  struct Plan {
    std::vector<int64_t> key;
    std::vector<ArenaBlock> blocks;  // in the order in which they were allocated
    size_t size_bytes = 0, largest_live_bytes = 0;
    uint64_t number = 0;
    bool is_ready = false;
  };
  // The record of the current run, from which a plan is made.
  struct Notes {
    std::vector<ArenaBlock> blocks;
    size_t now = 0;
    FreeRanges free;                                 // free ranges of the arena's memory
    size_t beside_bytes = 0, most_beside_bytes = 0;  // bytes that did not fit there, now and at the peak
  };
  // Memory of a recorded block, and its offset in the arena's memory; no offset: the memory lies elsewhere.
  struct Noted {
    std::shared_ptr<void> memory;
    std::optional<size_t> offset;
  };

  void ForgetPlans();
  void MakePlan();
  // Makes the arena's memory at least so large. On failure the arena has no memory.
  void Grow(size_t size_bytes);
  std::shared_ptr<void> AllocateBelow(size_t size_bytes);
  Noted AllocateNoted(size_t size_bytes);
  std::shared_ptr<void> AllocateAndNote(size_t size_bytes);
  std::shared_ptr<void> AllocateAsPlanned(size_t size_bytes);
  void FreedAsPlanned(const ArenaBlock& block);
  std::shared_ptr<void> Planned(const ArenaBlock& block);

  TensorMemory* below_;
  std::list<Plan> plans_;  // the most recently used first
  Plan* plan_ = nullptr;   // of the current run
  // Null unless the run is recorded. Memory that outlives the run holds a weak pointer to it.
  std::shared_ptr<Notes> notes_;
  size_t next_block_ = 0, now_ = 0;
  bool follows_plan_ = false;  // so far, the run has allocated and freed exactly as the plan says
  uint64_t last_number_ = 0;
  std::shared_ptr<void> memory_;
  size_t memory_bytes_ = 0;
  size_t planned_bytes_ = 0;  // of the largest plan so far
  // Bytes that the next run needs, by the largest plan or by the runs without one.
  size_t needed_bytes_ = 0;
};

// Arenas that no run uses at present.
class ArenaPool {
 public:
  // The arenas take their memory from `below`, which must outlive them, or from the heap if that is null.
  explicit ArenaPool(TensorMemory* below = nullptr) : below_(below) {}
  std::unique_ptr<Arena> Take();
  void Return(std::unique_ptr<Arena> arena);
  // Figures of the last run's plan, in bytes.
  size_t PlannedBytes() const;
  size_t LargestLiveBytes() const;

 private:
  TensorMemory* below_;
  mutable absl::Mutex mutex_;
  std::vector<std::unique_ptr<Arena>> idle_ ABSL_GUARDED_BY(mutex_);
};

// An arena leased for the duration of one run. The run's tensors must be gone before the lease ends.
class ArenaLease {
 public:
  ArenaLease(ArenaPool& pool, const std::vector<int64_t>& key) : pool_(pool), arena_(pool.Take()) {
    arena_->StartRun(key);
  }
  ~ArenaLease() {
    arena_->EndRun();
    pool_.Return(std::move(arena_));
  }
  ArenaLease(const ArenaLease&) = delete;
  ArenaLease& operator=(const ArenaLease&) = delete;
  Arena& arena() { return *arena_; }

 private:
  ArenaPool& pool_;
  std::unique_ptr<Arena> arena_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_RUN_ARENA_H_
