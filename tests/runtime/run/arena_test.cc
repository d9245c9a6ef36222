// Plans of memory, runs that follow them or not, and sessions whose runs share what they keep.
#include "runtime/run/arena.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <random>
#include <thread>

#include "absl/strings/string_view.h"
#include "runtime/kernel/host_memory.h"
#include "tests/catch2.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

constexpr size_t kAligned = 64;

bool AreAliveTogether(const ArenaBlock& a, const ArenaBlock& b) { return a.born < b.died && b.born < a.died; }
bool Overlap(const ArenaBlock& a, const ArenaBlock& b) {
  return a.offset < b.offset + b.size_bytes && b.offset < a.offset + a.size_bytes;
}

// The offsets of a plan: nothing alive together overlaps, everything is aligned and lies within.
void CheckPlan(const std::vector<ArenaBlock>& blocks, size_t size_bytes) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].died == 0) continue;
    CHECK(blocks[i].offset % kAligned == 0);
    CHECK(blocks[i].offset + blocks[i].size_bytes <= size_bytes);
    for (size_t j = 0; j < i; ++j) {
      const bool meet = blocks[j].died != 0 && AreAliveTogether(blocks[i], blocks[j]) && Overlap(blocks[i], blocks[j]);
      if (meet) FAIL("blocks " << j << " and " << i << " overlap");
    }
  }
}

// Blocks that are born and die in a random order; some outlive the run.
std::vector<ArenaBlock> RandomLifetimes(std::mt19937& random, size_t count) {
  std::vector<ArenaBlock> blocks;
  std::vector<size_t> alive;
  size_t now = 0;
  while (blocks.size() < count || !alive.empty()) {
    const bool is_birth = blocks.size() < count && (alive.empty() || random() % 2 == 0);
    if (is_birth) {
      alive.push_back(blocks.size());
      blocks.push_back({.size_bytes = random() % 4 == 0 ? random() % 8 : random() % 5000, .born = ++now});
      continue;
    }
    std::swap(alive[random() % alive.size()], alive.back());
    if (random() % 16 != 0) blocks[alive.back()].died = ++now;
    alive.pop_back();
  }
  return blocks;
}

TEST_CASE("blocks that are alive together do not overlap") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<ArenaBlock> blocks = RandomLifetimes(random, 1 + random() % 60);
    const size_t size_bytes = PlanOffsets(blocks);
    CheckPlan(blocks, size_bytes);
    CHECK(size_bytes >= LargestLiveBytes(blocks));
  }
}

TEST_CASE("plans of nothing, and of blocks without bytes") {
  std::vector<ArenaBlock> none;
  CHECK(PlanOffsets(none) == 0);
  CHECK(LargestLiveBytes(none) == 0);
  std::vector<ArenaBlock> empty = {{.size_bytes = 0, .born = 1, .died = 3}, {.size_bytes = 0, .born = 2, .died = 4}};
  CHECK(PlanOffsets(empty) == 0);
}

// A network's layers: each reads the one before it, every third the residual too, which is the wider; every twelve
// layers the images halve; scratch while a layer runs.
std::vector<ArenaBlock> ChainOfLayers(std::mt19937& random, size_t first_bytes) {
  std::vector<ArenaBlock> blocks = {{.size_bytes = first_bytes, .born = 1}};
  size_t now = 1, previous = 0, residual = 0;
  for (size_t layer = 1; layer <= 48; ++layer) {
    const size_t narrow = first_bytes >> (layer / 12), scratch = blocks.size();
    blocks.push_back({.size_bytes = kAligned * (1 + random() % 16), .born = ++now});
    blocks.push_back({.size_bytes = layer % 3 == 0 ? 4 * narrow : narrow, .born = ++now});
    blocks[scratch].died = ++now;
    if (previous != residual) blocks[previous].died = ++now;
    if (layer % 3 == 0) {
      blocks[residual].died = ++now;
      residual = scratch + 1;
    }
    previous = scratch + 1;
  }
  blocks[previous].died = ++now;
  return blocks;
}

TEST_CASE("plans of networks take hardly more than what is alive at once") {
  std::mt19937 random(2);
  double worst = 1;
  for (size_t first_bytes = 100'000; first_bytes < 1'000'000; first_bytes += 7'777) {
    std::vector<ArenaBlock> blocks = ChainOfLayers(random, first_bytes);
    const size_t size_bytes = PlanOffsets(blocks);
    CheckPlan(blocks, size_bytes);
    worst = std::max(worst, static_cast<double>(size_bytes) / static_cast<double>(LargestLiveBytes(blocks)));
  }
  CHECK(worst <= 1.05);
}

// ---- one arena, run after run

using Sizes = std::vector<size_t>;

// Allocates each, keeps two alive at a time, and writes to all of it; returns which lay within the arena.
std::vector<bool> RunChain(Arena& arena, const Sizes& sizes) {
  std::vector<bool> owned;
  std::shared_ptr<void> previous, current;
  for (const size_t size : sizes) {
    previous = std::move(current);
    current = arena.Allocate(size);
    REQUIRE(current != nullptr);
    std::fill_n(static_cast<unsigned char*>(current.get()), size, static_cast<unsigned char>(owned.size()));
    owned.push_back(arena.Owns(current.get()));
    if (previous == nullptr) continue;
    const auto* bytes = static_cast<const unsigned char*>(previous.get());
    const size_t before = sizes[owned.size() - 2];
    CHECK(std::all_of(bytes, bytes + before, [&](unsigned char byte) { return byte == owned.size() - 2; }));
  }
  return owned;
}

std::vector<bool> RunWithKey(Arena& arena, const std::vector<int64_t>& key, const Sizes& sizes) {
  arena.StartRun(key);
  std::vector<bool> owned = RunChain(arena, sizes);
  arena.EndRun();
  return owned;
}

const Sizes kSizes = {1000, 2000, 64, 128, 4000, 10};
const std::vector<bool> kNoneOwned(kSizes.size(), false), kAllOwned(kSizes.size(), true);

TEST_CASE("the second run of a key has one block for all") {
  Arena arena;
  CHECK(RunWithKey(arena, {1}, kSizes) == kNoneOwned);
  CHECK(arena.planned_bytes() >= arena.largest_live_bytes());
  CHECK(arena.largest_live_bytes() >= 4000);
  CHECK(arena.planned_bytes() < 1000 + 2000 + 64 + 128 + 4000 + 10);
  for (int run = 0; run < 3; ++run) CHECK(RunWithKey(arena, {1}, kSizes) == kAllOwned);
}

// Memory that counts how often it is asked for some, and gives up to `most_bytes` at once.
class CountingMemory : public TensorMemory {
 public:
  std::shared_ptr<void> Allocate(size_t size_bytes) override {
    ++count;
    if (size_bytes > most_bytes) return nullptr;
    live_bytes += size_bytes;
    const std::shared_ptr<void> memory = AllocateHostMemory(size_bytes);
    return {memory.get(), [this, memory, size_bytes](void*) { live_bytes -= size_bytes; }};
  }
  size_t alignment() const override { return kAligned; }
  ElementMover* mover() override { return nullptr; }

  int count = 0;
  size_t live_bytes = 0, most_bytes = std::numeric_limits<size_t>::max();
};

// Returns the sizes of a key, other ones for each key. They all fit where those of the largest key did.
Sizes SizesOf(int64_t key) { return {static_cast<size_t>(key) * 100, 64, static_cast<size_t>(key) * 700, 1000}; }

TEST_CASE("each key has a plan of its own: as many as 60 shapes in turns allocate nothing any more") {
  CountingMemory memory;
  Arena arena(&memory);
  constexpr int64_t kKeys = 60;
  for (int round = 0; round < 2; ++round) {
    for (int64_t key = kKeys; key > 0; --key) RunWithKey(arena, {key}, SizesOf(key));
  }
  const int count = memory.count;
  for (int64_t key = 1; key <= kKeys; ++key) {
    CHECK(RunWithKey(arena, {key}, SizesOf(key)) == std::vector<bool>(4, true));
    CHECK(arena.number() != 0);
  }
  CHECK(memory.count == count);
}

TEST_CASE("more shapes than there are plans of take the block apart, and plans that are forgotten are made anew") {
  CountingMemory memory;
  Arena arena(&memory);
  constexpr int64_t kKeys = 200;
  for (int round = 0; round < 3; ++round) {
    const int count = memory.count;
    for (int64_t key = kKeys; key > 0; --key) RunWithKey(arena, {key}, SizesOf(key));
    CHECK((round == 0 || memory.count == count));
  }
  CHECK(memory.count < 10);
  RunWithKey(arena, {kKeys}, SizesOf(kKeys));  // forgotten by now, and noted
  CHECK(RunWithKey(arena, {kKeys}, SizesOf(kKeys)) == std::vector<bool>(4, true));
  CHECK(arena.number() != 0);
}

TEST_CASE("shapes that grow with every run allocate but when the block grows") {
  CountingMemory memory;
  Arena arena(&memory);
  int runs_that_allocate = 0;
  for (int64_t key = 1; key <= 500; ++key) {
    const int before = memory.count;
    RunWithKey(arena, {key}, SizesOf(100 + key));
    runs_that_allocate += memory.count != before ? 1 : 0;
  }
  CHECK(runs_that_allocate <= 30);
  CHECK(memory.live_bytes <= arena.largest_live_bytes() * 5 / 2);
}

TEST_CASE("where there is no memory for a quarter more, there is what is needed, or one block for each") {
  CountingMemory memory;
  Arena arena(&memory);
  RunWithKey(arena, {1}, {4096, 4096});
  memory.most_bytes = 8192;
  CHECK(RunWithKey(arena, {2}, {4096, 4096}) == std::vector<bool>(2, true));
  Arena other(&memory);
  RunWithKey(other, {1}, {4096, 4096});
  memory.most_bytes = 4096;
  CHECK(RunWithKey(other, {2}, {4096, 4096}) == std::vector<bool>(2, false));
}

TEST_CASE("what outlives a run without a plan keeps its elements, in the block too") {
  Arena arena;
  RunWithKey(arena, {1}, kSizes);
  std::shared_ptr<void> kept;
  for (int64_t key = 2; key < 5; ++key) {
    arena.StartRun({key});
    std::shared_ptr<void> block = arena.Allocate(256);
    CHECK(arena.Owns(block.get()));
    std::fill_n(static_cast<char*>(block.get()), 256, static_cast<char>(key));
    if (kept != nullptr) CHECK(static_cast<char*>(kept.get())[255] == key - 1);
    kept = std::move(block);
    arena.EndRun();
    CHECK_FALSE(arena.Owns(kept.get()));
  }
}

TEST_CASE("free ranges are given out where they fit best, and join again in any order") {
  std::mt19937 random(3);
  constexpr size_t kSize = 10'000;
  FreeRanges ranges(kSize);
  std::vector<bool> is_taken(kSize);
  std::vector<std::pair<size_t, size_t>> taken;
  for (int step = 0; step < 3000; ++step) {
    if (random() % 2 == 0) {
      const size_t size = 1 + random() % 900;
      const std::optional<size_t> offset = ranges.Take(size);
      if (!offset.has_value()) continue;
      REQUIRE(*offset + size <= kSize);
      for (size_t i = *offset; i < *offset + size; ++i) {
        REQUIRE_FALSE(is_taken[i]);
        is_taken[i] = true;
      }
      taken.emplace_back(*offset, size);
    } else if (!taken.empty()) {
      std::swap(taken[random() % taken.size()], taken.back());
      const auto [offset, size] = taken.back();
      taken.pop_back();
      for (size_t i = offset; i < offset + size; ++i) is_taken[i] = false;
      ranges.Give(offset, size);
    }
  }
  for (const auto& [offset, size] : taken) ranges.Give(offset, size);
  CHECK(ranges.Take(kSize) == size_t{0});
  CHECK_FALSE(ranges.Take(1).has_value());
  CHECK_FALSE(FreeRanges(0).Take(1).has_value());
}

TEST_CASE("a run that leaves its plan gets the rest from the heap, and a new plan next time") {
  struct Other {
    Sizes sizes;
    size_t as_planned;  // so many allocations are
  };
  for (const Other& other : {Other{{1000, 2000, 64, 128, 4000, 10, 300}, 6}, Other{{1000, 2000, 640, 128, 4000, 10}, 2},
                             Other{{1000, 2000, 64, 128, 4000}, 5}}) {
    Arena arena;
    RunWithKey(arena, {1}, kSizes);
    REQUIRE(RunWithKey(arena, {1}, kSizes) == kAllOwned);
    std::vector<bool> expected(other.sizes.size(), false);
    std::fill_n(expected.begin(), other.as_planned, true);
    CHECK(RunWithKey(arena, {1}, other.sizes) == expected);
    RunWithKey(arena, {1}, other.sizes);  // noted, in what there is
    CHECK(RunWithKey(arena, {1}, other.sizes) == std::vector<bool>(other.sizes.size(), true));
    CHECK(arena.number() != 0);
  }
}

TEST_CASE("blocks freed in another order than planned do not meet later ones") {
  Arena arena;
  const auto run = [&](bool frees_first) {
    arena.StartRun({1});
    std::shared_ptr<void> a = arena.Allocate(512), b = arena.Allocate(512);
    std::fill_n(static_cast<char*>(a.get()), 512, 'a');
    std::fill_n(static_cast<char*>(b.get()), 512, 'b');
    (frees_first ? a : b).reset();
    const std::shared_ptr<void> c = arena.Allocate(512);
    std::fill_n(static_cast<char*>(c.get()), 512, 'c');
    const char* kept = static_cast<char*>((frees_first ? b : a).get());
    CHECK(std::all_of(kept, kept + 512, [&](char byte) { return byte == (frees_first ? 'b' : 'a'); }));
    a.reset();
    b.reset();
  };
  for (const bool frees_first : {true, true, false, false, false, true, true}) {
    run(frees_first);
    arena.EndRun();
  }
}

TEST_CASE("what outlives a run or the arena keeps its elements") {
  std::shared_ptr<void> first, later;
  {
    Arena arena;
    for (int run = 0; run < 4; ++run) {
      arena.StartRun({1});
      RunChain(arena, kSizes);
      std::shared_ptr<void> kept = arena.Allocate(256);
      std::fill_n(static_cast<char*>(kept.get()), 256, static_cast<char>('0' + run));
      CHECK_FALSE(arena.Owns(kept.get()));
      (run == 0 ? first : later) = kept;
      arena.EndRun();
    }
  }
  for (int i = 0; i < 256; ++i) {
    CHECK(static_cast<char*>(first.get())[i] == '0');
    CHECK(static_cast<char*>(later.get())[i] == '3');
  }
}

TEST_CASE("an arena that is in use is lent to nobody else") {
  ArenaPool pool;
  std::unique_ptr<Arena> a = pool.Take(), b = pool.Take();
  CHECK(a != b);
  const Arena* returned = a.get();
  pool.Return(std::move(a));
  CHECK(pool.Take().get() == returned);
}

// ---- sessions

// Products with constants, a residual, views, an output in the middle, and a loop whose rounds are an input.
constexpr char kModel[] = R"(<ir_version: 10, opset_import: ["" : 21]>
  g (float[n,16] x, int64 rounds) => (float[] y, float[] middle, float[] looped) {
    h = MatMul (x, w)
    a = Add (h, b)
    middle = Relu (a)
    r = Add (middle, x)
    t = Transpose <perm = [1, 0]> (r)
    y = Softmax (t)
    yes = Constant <value = bool {1}> ()
    looped = Loop (rounds, yes, r) <body = body (int64 i, bool go, float[n,16] state) => (bool on, float[n,16] next) {
      on = Identity (go)
      p = MatMul (state, w)
      next = Tanh (p)
    }>
  })";

SessionText Model() {
  return {.text = kModel,
          .constants = {{"w", RandomTensor(DType::kFloat32, {16, 16}, Values::kPlain, 0.2)},
                        {"b", RandomTensor(DType::kFloat32, {16})}}};
}

struct Sample {
  NamedDatums inputs;
  std::vector<Tensor> expected;
};

std::vector<Sample> SamplesOf(const SessionText& text) {
  const auto reference = MakeSession(text, OneByOne({.limits = {}, .find_kernels = FindReferenceKernels}));
  std::vector<Sample> samples;
  for (const auto& [n, rounds] : {std::pair<int64_t, int64_t>{1, 1}, {7, 2}, {3, 40}, {7, 5}, {64, 0}, {2, 3}}) {
    Sample sample{.inputs = {{"x", RandomTensor(DType::kFloat32, {n, 16})}, {"rounds", Tensor::Scalar(rounds)}},
                  .expected = {}};
    sample.expected = RunSession(*reference, sample.inputs);
    samples.push_back(std::move(sample));
  }
  return samples;
}

TEST_CASE("shapes and rounds of a loop that change from run to run") {
  const SessionText text = Model();
  const std::vector<Sample> samples = SamplesOf(text);
  const auto session = MakeSession(text);
  for (const char digit : absl::string_view("000113331224540033")) {
    const Sample& sample = samples[static_cast<size_t>(digit - '0')];
    CHECK(DifferenceOf(RunSession(*session, sample.inputs), sample.expected, 1e-5) == "");
  }
}

TEST_CASE("outputs outlive later runs and the session") {
  const SessionText text = Model();
  const std::vector<Sample> samples = SamplesOf(text);
  std::vector<std::vector<Tensor>> outputs;
  {
    const auto session = MakeSession(text);
    for (int round = 0; round < 3; ++round) {
      for (const Sample& sample : samples) outputs.push_back(RunSession(*session, sample.inputs));
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    CHECK(DifferenceOf(outputs[i], samples[i % samples.size()].expected, 1e-5) == "");
  }
}

TEST_CASE("a run that fails leaves the session as it was") {
  const auto session = MakeSession({.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n] x, int64[k] shape) => (float[] y) { a = Add (x, x) b = Reshape (a, shape) y = Softmax (b) })"});
  const Tensor x = RandomTensor(DType::kFloat32, {6}), good = Tensor::OfInts({2, 3}), bad = Tensor::OfInts({4, 4});
  const std::vector<Tensor> expected = RunSession(*session, {{"x", x}, {"shape", good}});
  for (int round = 0; round < 3; ++round) {
    CHECK_FALSE(TryToRun(*session, {{"x", x}, {"shape", bad}}).ok());
    CHECK(DifferenceOf(RunSession(*session, {{"x", x}, {"shape", good}}), expected, 0) == "");
    CHECK(DifferenceOf(RunSession(*session, {{"x", x}, {"shape", good}}), expected, 0) == "");
  }
}

TEST_CASE("threads that run one session at once get what one alone gets") {
  const SessionText text = Model();
  const std::vector<Sample> samples = SamplesOf(text);
  const auto session = MakeSession(text);
  std::array<std::string, 4> differences;
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < differences.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (size_t run = 0; run < 60; ++run) {
        const Sample& sample = samples[(run / 2 + thread) % samples.size()];
        const absl::StatusOr<std::vector<Tensor>> found = TryToRun(*session, sample.inputs);
        const std::string difference =
            found.ok() ? DifferenceOf(*found, sample.expected, 1e-5) : std::string(found.status().message());
        if (!difference.empty()) differences[thread] = difference;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& difference : differences) CHECK(difference == "");
}

TEST_CASE("kernels that work in place leave alone what the caller, the constants or other nodes hold") {
  const auto session =
      MakeSession({.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n] x) => (float[] y, float[] z, float[] u) {
      y = Neg (x)
      c = Identity (w)
      z = Neg (c)
      a = Add (x, w)
      v = Reshape (a, shape)
      n = Neg (v)
      u = Add (a, n)
    })",
                   .constants = {{"w", RandomTensor(DType::kFloat32, {8})}, {"shape", Tensor::OfInts({-1})}}});
  const Tensor x = RandomTensor(DType::kFloat32, {8});
  const std::vector<double> before = *ReadDoubles(x);
  const std::vector<Tensor> first = RunSession(*session, {{"x", x}});
  for (int run = 0; run < 3; ++run) CHECK(DifferenceOf(RunSession(*session, {{"x", x}}), first, 0) == "");
  CHECK(*ReadDoubles(x) == before);
  CHECK(*ReadDoubles(first[2]) == std::vector<double>(8, 0));
}

TEST_CASE("a run may leave out a part of its plan, and goes on with the blocks that it would have made") {
  Arena arena;
  std::vector<const void*> places;
  // a is freed within the part that the third run leaves out, b made there; c is behind it.
  for (int run = 0; run < 2; ++run) {
    places.clear();
    arena.StartRun({1});
    std::shared_ptr<void> a = arena.Allocate(100);
    std::shared_ptr<void> b = arena.Allocate(200);
    a.reset();
    std::shared_ptr<void> c = arena.Allocate(50);
    for (const auto& block : {b, c}) places.push_back(block.get());
    b.reset();
    c.reset();
    CHECK(arena.position().has_value() == (run == 1));
    CHECK((arena.number() != 0) == (run == 1));
    arena.EndRun();
  }
  arena.StartRun({1});
  const uint64_t number = arena.number();
  const Arena::Position behind = {.next_block = 2, .now = 3};
  std::shared_ptr<void> a = arena.Allocate(100);
  const std::optional<size_t> block = arena.BlockAt(places[0], behind);
  CHECK(block == size_t{1});
  CHECK_FALSE(arena.BlockAt(nullptr, behind).has_value());
  std::shared_ptr<void> b = arena.Revive(1);
  CHECK(b.get() == places[0]);
  a.reset();
  arena.GoOnFrom(behind);
  CHECK(arena.position() == behind);
  std::shared_ptr<void> c = arena.Allocate(50);
  CHECK(c.get() == places[1]);
  b.reset();
  c.reset();
  CHECK(arena.position().has_value());
  arena.EndRun();
  arena.StartRun({1});
  CHECK(arena.number() == number);
  arena.EndRun();
}

}  // namespace
}  // namespace amp
