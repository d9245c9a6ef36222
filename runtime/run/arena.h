// The memory of one run's tensors, planned from the run before.
//
//   first run of a shape    a: 64 bytes   b: 64 bytes   a dies   c: 32 bytes ...      where there is room, and noted
//   later runs              a at 0        b at 64                c at 0               one block, no call to the heap
//
// The plan gives every allocation an offset such that those that are alive at the same time do not overlap, the largest
// first, each as low as it fits. A run that allocates or frees otherwise than the noted one (a loop that goes on for
// longer) gets the rest of its memory from the heap, and what it did is noted anew next time. A run without a plan takes
// the block that is there apart as it goes, and the heap for what does not fit, so that shapes that are always new (a
// growing cache) allocate but when the block grows, by a quarter more than was needed then. Source of the plans' method:
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

// What one run allocated: times are counted in allocations and frees.
struct ArenaBlock {
  size_t size_bytes = 0;
  size_t born = 0, died = 0;  // died == 0: it outlived the run
  size_t offset = 0;
};

inline constexpr size_t kHostAlignment = 64;

// Gives every block that died an offset; returns the bytes needed for all.
size_t PlanOffsets(std::vector<ArenaBlock>& blocks, size_t alignment = kHostAlignment);
// The largest number of bytes alive at once, of blocks that died: what no plan can beat.
size_t LargestLiveBytes(const std::vector<ArenaBlock>& blocks, size_t alignment = kHostAlignment);

// Which bytes of a block are free, for who takes and gives back in any order.
class FreeRanges {
 public:
  explicit FreeRanges(size_t size_bytes);
  // The offset of as many, where they fit best; nothing where they do not.
  std::optional<size_t> Take(size_t size_bytes);
  void Give(size_t offset, size_t size_bytes);

 private:
  std::map<size_t, size_t> sizes_;  // by offset; no two touch
};

// For one run at a time. Tensors that outlive the run must not lie within it (see Owns).
class Arena : public TensorMemory {
 public:
  // Of the heap, or of other memory, which must outlive it.
  explicit Arena(TensorMemory* below = nullptr) : below_(below) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // `key`: what the sizes depend on, the shapes of the inputs. Plans of the last keys are kept.
  void StartRun(const std::vector<int64_t>& key);
  void EndRun();

  std::shared_ptr<void> Allocate(size_t size_bytes) override;
  size_t alignment() const override { return below_ == nullptr ? kHostAlignment : below_->alignment(); }
  ElementMover* mover() override { return below_ == nullptr ? nullptr : below_->mover(); }
  // Whether this is memory that the next run writes to.
  bool Owns(const void* data) const;

  // ---- leaving out a part of a run, whose blocks are where they would be
  // How far a run is in its plan.
  struct Position {
    size_t next_block = 0, now = 0;
    bool operator==(const Position&) const = default;
  };
  // Nothing where the run has no plan, or has done something else.
  std::optional<Position> position() const;
  // Another number whenever blocks of the run's plan may lie elsewhere than before; 0: there is no plan.
  uint64_t number() const { return plan_ == nullptr || !follows_plan_ ? 0 : plan_->number; }
  // The block that begins there and is alive at the position; nothing where there is none. REQUIRES: there is a plan.
  std::optional<size_t> BlockAt(const void* data, Position position) const;
  // That block, as if it had been allocated. REQUIRES: it is alive where the run goes on.
  std::shared_ptr<void> Revive(size_t block);
  // Goes on from there. REQUIRES: position() had a value before blocks were freed for this.
  void GoOnFrom(Position position);

  // Of the plan of the last run; 0 before there is one.
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
  // Of a run that is noted.
  struct Notes {
    std::vector<ArenaBlock> blocks;
    size_t now = 0;
    FreeRanges free;                                 // of the arena's block
    size_t beside_bytes = 0, most_beside_bytes = 0;  // what did not fit there, now and at most at once
  };
  // Memory of a noted block, and where in the arena's block it is; nothing: elsewhere.
  struct Noted {
    std::shared_ptr<void> memory;
    std::optional<size_t> offset;
  };

  void ForgetPlans();
  void MakePlan();
  // The block, at least so large; none where there is no memory for that.
  void Grow(size_t size_bytes);
  std::shared_ptr<void> AllocateBelow(size_t size_bytes);
  Noted AllocateNoted(size_t size_bytes);
  std::shared_ptr<void> AllocateAndNote(size_t size_bytes);
  std::shared_ptr<void> AllocateAsPlanned(size_t size_bytes);
  void FreedAsPlanned(const ArenaBlock& block);
  std::shared_ptr<void> Planned(const ArenaBlock& block);

  TensorMemory* below_;
  std::list<Plan> plans_;  // the last used first
  Plan* plan_ = nullptr;   // of the run under way
  // While a run is noted; what outlives it finds them gone.
  std::shared_ptr<Notes> notes_;
  size_t next_block_ = 0, now_ = 0;
  bool follows_plan_ = false;  // the run has done nothing that the plan does not have
  uint64_t last_number_ = 0;
  std::shared_ptr<void> memory_;
  size_t memory_bytes_ = 0;
  size_t planned_bytes_ = 0;  // of the largest plan so far
  size_t needed_bytes_ = 0;   // by that, or by a run without one
};

// Arenas that no run uses at the moment.
class ArenaPool {
 public:
  // Of arenas of the heap, or of other memory, which must outlive it.
  explicit ArenaPool(TensorMemory* below = nullptr) : below_(below) {}
  std::unique_ptr<Arena> Take();
  void Return(std::unique_ptr<Arena> arena);
  // Of the last run's plan.
  size_t PlannedBytes() const;
  size_t LargestLiveBytes() const;

 private:
  TensorMemory* below_;
  mutable absl::Mutex mutex_;
  std::vector<std::unique_ptr<Arena>> idle_ ABSL_GUARDED_BY(mutex_);
};

// An arena for the time of one run. The run's tensors must be gone before it ends.
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
