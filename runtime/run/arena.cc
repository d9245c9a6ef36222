#include "runtime/run/arena.h"

#include <algorithm>
#include <iterator>
#include <new>

#include "runtime/kernel/host_memory.h"

namespace amp {
namespace {

constexpr size_t kMaxPlans = 64;
constexpr size_t kMaxBlocks = 20'000;      // per plan: making a plan takes time quadratic in its number of blocks
constexpr size_t kMaxAllBlocks = 100'000;  // of all plans of an arena together
// Where shapes are always new, the arena's memory gets a quarter more bytes than the run needed.
constexpr size_t kSlack = 4;
// A run without a plan leaves gaps: memory for it grows to at most so many times the bytes of the largest plan.
constexpr size_t kMostApart = 2;

size_t RoundedUp(size_t size_bytes, size_t alignment) { return (size_bytes + alignment - 1) / alignment * alignment; }

bool AreAliveTogether(const ArenaBlock& a, const ArenaBlock& b) { return a.born < b.died && b.born < a.died; }

// Returns the lowest offset at which the block overlaps no block of `placed` (sorted by offset) that is alive while it
// is.
size_t LowestOffset(const std::vector<ArenaBlock*>& placed, const ArenaBlock& block, size_t alignment) {
  size_t offset = 0;
  for (const ArenaBlock* other : placed) {
    if (!AreAliveTogether(block, *other)) continue;
    if (other->offset >= offset + RoundedUp(block.size_bytes, alignment)) break;
    offset = std::max(offset, other->offset + RoundedUp(other->size_bytes, alignment));
  }
  return offset;
}

}  // namespace

size_t PlanOffsets(std::vector<ArenaBlock>& blocks, size_t alignment) {
  std::vector<ArenaBlock*> by_size, placed;
  for (ArenaBlock& block : blocks) {
    if (block.died != 0) by_size.push_back(&block);
  }
  std::stable_sort(by_size.begin(), by_size.end(),
                   [](const ArenaBlock* a, const ArenaBlock* b) { return a->size_bytes > b->size_bytes; });
  size_t size_bytes = 0;
  for (ArenaBlock* block : by_size) {
    block->offset = LowestOffset(placed, *block, alignment);
    size_bytes = std::max(size_bytes, block->offset + RoundedUp(block->size_bytes, alignment));
    const auto by_offset = [](const ArenaBlock* a, const ArenaBlock* b) { return a->offset < b->offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), block, by_offset), block);
  }
  return size_bytes;
}

size_t LargestLiveBytes(const std::vector<ArenaBlock>& blocks, size_t alignment) {
  size_t last = 0, live = 0, largest = 0;
  for (const ArenaBlock& block : blocks) last = std::max(last, block.died);
  std::vector<size_t> born(last + 1), died(last + 1);
  for (const ArenaBlock& block : blocks) {
    if (block.died == 0) continue;
    born[block.born] += RoundedUp(block.size_bytes, alignment);
    died[block.died] += RoundedUp(block.size_bytes, alignment);
  }
  for (size_t time = 0; time <= last; ++time) {
    live = live - died[time] + born[time];
    largest = std::max(largest, live);
  }
  return largest;
}

// ---- a block without a plan -----------------------------------------------------------------------------------------

FreeRanges::FreeRanges(size_t size_bytes) {
  if (size_bytes > 0) sizes_[0] = size_bytes;
}

std::optional<size_t> FreeRanges::Take(size_t size_bytes) {
  auto best = sizes_.end();
  for (auto it = sizes_.begin(); it != sizes_.end(); ++it) {
    if (it->second >= size_bytes && (best == sizes_.end() || it->second < best->second)) best = it;
  }
  if (best == sizes_.end()) return std::nullopt;
  const auto [offset, size] = *best;
  sizes_.erase(best);
  if (size > size_bytes) sizes_[offset + size_bytes] = size - size_bytes;
  return offset;
}

void FreeRanges::Give(size_t offset, size_t size_bytes) {
  auto next = sizes_.lower_bound(offset);
  if (next != sizes_.end() && next->first == offset + size_bytes) {
    size_bytes += next->second;
    next = sizes_.erase(next);
  }
  if (next != sizes_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size_bytes;
      return;
    }
  }
  try {
    sizes_[offset] = size_bytes;
  } catch (const std::bad_alloc&) {  // called as tensors are freed: the range stays unused in this run
  }
}

// ---- a run ----------------------------------------------------------------------------------------------------------

// Drops the least recently used plans first. The first plan of the list, the current run's, always stays.
void Arena::ForgetPlans() {
  size_t blocks = 0;
  for (const Plan& plan : plans_) blocks += plan.blocks.size();
  while (plans_.size() > 1 && (plans_.size() > kMaxPlans || blocks > kMaxAllBlocks)) {
    blocks -= plans_.back().blocks.size();
    plans_.pop_back();
  }
}

void Arena::Grow(size_t size_bytes) {
  if (size_bytes <= memory_bytes_) return;
  memory_.reset();  // the old memory is freed before more is requested
  memory_ = AllocateBelow(size_bytes);
  memory_bytes_ = memory_ == nullptr ? 0 : size_bytes;
  for (Plan& each : plans_) each.number = ++last_number_;
}

void Arena::StartRun(const std::vector<int64_t>& key) {
  auto plan = std::find_if(plans_.begin(), plans_.end(), [&](const Plan& plan) { return plan.key == key; });
  if (plan == plans_.end()) {
    plan = plans_.emplace(plans_.begin());
    plan->key = key;
  }
  plans_.splice(plans_.begin(), plans_, plan);
  ForgetPlans();
  plan_ = &plans_.front();
  next_block_ = 0;
  now_ = 0;
  if (plan_->is_ready) {
    Grow(plan_->size_bytes);
  } else if (needed_bytes_ > memory_bytes_) {
    Grow(RoundedUp(needed_bytes_ + needed_bytes_ / kSlack, alignment()));
    Grow(needed_bytes_);  // if there is no memory for the slack
  }
  follows_plan_ = plan_->is_ready && plan_->size_bytes <= memory_bytes_;
  if (!plan_->is_ready) notes_ = std::make_shared<Notes>(Notes{.blocks = {}, .free = FreeRanges(memory_bytes_)});
}

// Makes the plan from the record of the run.
void Arena::MakePlan() {
  const size_t most_beside_bytes = notes_->most_beside_bytes;
  plan_->blocks = std::move(notes_->blocks);
  plan_->size_bytes = PlanOffsets(plan_->blocks, alignment());
  plan_->largest_live_bytes = LargestLiveBytes(plan_->blocks, alignment());
  plan_->number = ++last_number_;
  plan_->is_ready = true;
  planned_bytes_ = std::max(planned_bytes_, plan_->size_bytes);
  const size_t taken_apart = memory_bytes_ == 0 ? 0 : memory_bytes_ + most_beside_bytes;
  needed_bytes_ = std::max({needed_bytes_, planned_bytes_, std::min(taken_apart, kMostApart * planned_bytes_)});
}

void Arena::EndRun() {
  if (plan_->is_ready) {
    plan_->is_ready = follows_plan_ && next_block_ == plan_->blocks.size();
  } else if (notes_->blocks.size() < kMaxBlocks) {
    try {
      MakePlan();
    } catch (const std::bad_alloc&) {  // the next run is recorded again
    }
  }
  notes_.reset();
  if (memory_.use_count() > 1) {  // tensors that outlive the run hold it
    memory_.reset();
    memory_bytes_ = 0;
  }
}

std::shared_ptr<void> Arena::Allocate(size_t size_bytes) {
  return notes_ == nullptr ? AllocateAsPlanned(size_bytes) : AllocateAndNote(size_bytes);
}

std::shared_ptr<void> Arena::AllocateBelow(size_t size_bytes) {
  return below_ == nullptr ? AllocateHostMemory(size_bytes) : below_->Allocate(size_bytes);
}

Arena::Noted Arena::AllocateNoted(size_t size_bytes) {
  const std::optional<size_t> offset = notes_->free.Take(RoundedUp(std::max<size_t>(size_bytes, 1), alignment()));
  if (!offset.has_value()) return {.memory = AllocateBelow(size_bytes), .offset = std::nullopt};
  return {.memory = {memory_, static_cast<std::byte*>(memory_.get()) + *offset}, .offset = offset};
}

std::shared_ptr<void> Arena::AllocateAndNote(size_t size_bytes) {
  const size_t block = notes_->blocks.size();
  if (block == kMaxBlocks) return AllocateBelow(size_bytes);
  Noted noted = AllocateNoted(size_bytes);
  if (noted.memory == nullptr) return nullptr;
  notes_->blocks.push_back({.size_bytes = size_bytes, .born = ++notes_->now});
  if (!noted.offset.has_value()) {
    notes_->beside_bytes += size_bytes;
    notes_->most_beside_bytes = std::max(notes_->most_beside_bytes, notes_->beside_bytes);
  }
  void* data = noted.memory.get();
  const size_t taken_bytes = RoundedUp(std::max<size_t>(size_bytes, 1), alignment());
  return {data, [noted = std::move(noted), notes = std::weak_ptr<Notes>(notes_), block, taken_bytes](void*) {
            const std::shared_ptr<Notes> held = notes.lock();
            if (held == nullptr) return;
            held->blocks[block].died = ++held->now;
            if (noted.offset.has_value()) {
              held->free.Give(*noted.offset, taken_bytes);
            } else {
              held->beside_bytes -= held->blocks[block].size_bytes;
            }
          }};
}

std::shared_ptr<void> Arena::AllocateAsPlanned(size_t size_bytes) {
  ++now_;
  const size_t next = next_block_++;
  follows_plan_ = follows_plan_ && next < plan_->blocks.size() && plan_->blocks[next].size_bytes == size_bytes &&
                  plan_->blocks[next].born == now_;
  if (!follows_plan_ || plan_->blocks[next].died == 0) return AllocateBelow(size_bytes);
  return Planned(plan_->blocks[next]);
}

std::shared_ptr<void> Arena::Planned(const ArenaBlock& block) {
  return {static_cast<std::byte*>(memory_.get()) + block.offset, [this, &block](void*) { FreedAsPlanned(block); }};
}

std::optional<Arena::Position> Arena::position() const {
  if (!follows_plan_) return std::nullopt;
  return Position{.next_block = next_block_, .now = now_};
}

std::optional<size_t> Arena::BlockAt(const void* data, Position position) const {
  for (size_t i = 0; i < position.next_block; ++i) {
    const ArenaBlock& block = plan_->blocks[i];
    const bool is_alive = block.born <= position.now && block.died > position.now && block.size_bytes > 0;
    if (is_alive && static_cast<const std::byte*>(memory_.get()) + block.offset == data) return i;
  }
  return std::nullopt;
}

std::shared_ptr<void> Arena::Revive(size_t block) { return Planned(plan_->blocks[block]); }

void Arena::GoOnFrom(Position position) {
  next_block_ = position.next_block;
  now_ = position.now;
  follows_plan_ = true;
}

void Arena::FreedAsPlanned(const ArenaBlock& block) {
  if (block.died != ++now_) follows_plan_ = false;
}

bool Arena::Owns(const void* data) const {
  const auto* first = static_cast<const std::byte*>(memory_.get());
  const auto* byte = static_cast<const std::byte*>(data);
  return first != nullptr && byte >= first && byte < first + memory_bytes_;
}

std::unique_ptr<Arena> ArenaPool::Take() {
  const absl::MutexLock lock(&mutex_);
  if (idle_.empty()) return std::make_unique<Arena>(below_);
  std::unique_ptr<Arena> arena = std::move(idle_.back());
  idle_.pop_back();
  return arena;
}

size_t ArenaPool::PlannedBytes() const {
  const absl::MutexLock lock(&mutex_);
  return idle_.empty() ? 0 : idle_.back()->planned_bytes();
}

size_t ArenaPool::LargestLiveBytes() const {
  const absl::MutexLock lock(&mutex_);
  return idle_.empty() ? 0 : idle_.back()->largest_live_bytes();
}

void ArenaPool::Return(std::unique_ptr<Arena> arena) {
  const absl::MutexLock lock(&mutex_);
  try {
    idle_.push_back(std::move(arena));
  } catch (const std::bad_alloc&) {  // the next run makes an arena of its own
  }
}

}  // namespace amp
