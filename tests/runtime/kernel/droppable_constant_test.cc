// Elements of a constant that go and come back.
#include "runtime/kernel/droppable_constant.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "runtime/kernel/tensor.h"
#include "tests/catch2.h"
#include "tests/runtime/resident.h"

namespace amp {
namespace {

constexpr std::byte kElement{7};

struct Dropped {
  Dropped() : tensor(*Tensor::Create(DType::kUint8, {1 << 20})), constant(tensor.mutable_bytes()) { Fill(); }

  void Fill() { std::fill(tensor.mutable_bytes().begin(), tensor.mutable_bytes().end(), kElement); }
  void Drop() {
    constant.Drop([&](absl::Span<std::byte> elements) {
      ++restored;
      std::fill(elements.begin(), elements.end(), kElement);
      return absl::OkStatus();
    });
  }
  bool IsWhole() const {
    return std::all_of(tensor.bytes().begin(), tensor.bytes().end(), [](std::byte each) { return each == kElement; });
  }

  Tensor tensor;
  DroppableConstant constant;
  std::atomic<int> restored = 0;
};

TEST_CASE("elements go, and come back for who holds them") {
  Dropped dropped;
  CHECK(ResidentShare(dropped.tensor.bytes()) == 1);
  dropped.Drop();
  CHECK(ResidentShare(dropped.tensor.bytes()) == 0);
  dropped.Drop();  // again
  {
    const absl::StatusOr<ConstantHold> hold = dropped.constant.Hold(ConstantUse::kOnce);
    REQUIRE(hold.ok());
    CHECK(dropped.IsWhole());
    dropped.Drop();
    CHECK(dropped.IsWhole());
    const absl::StatusOr<ConstantHold> other = dropped.constant.Hold(ConstantUse::kOnce);
    CHECK(other.ok());
  }
  CHECK(dropped.restored == 1);
  dropped.Drop();
  CHECK(ResidentShare(dropped.tensor.bytes()) == 0);
}

TEST_CASE("elements that come back for a run stay") {
  Dropped dropped;
  CHECK(dropped.constant.Hold(ConstantUse::kInRuns).ok());  // they were there
  dropped.Drop();
  CHECK(ResidentShare(dropped.tensor.bytes()) == 0);
  CHECK(dropped.constant.Hold(ConstantUse::kInRuns).ok());
  dropped.Drop();
  CHECK(dropped.IsWhole());
}

TEST_CASE("the largest magnitude is looked for once, where the elements are") {
  Dropped dropped;
  dropped.Drop();
  int looks = 0;
  const auto find = [&] {
    ++looks;
    return dropped.IsWhole() ? 7.0F : 0.0F;
  };
  for (int i = 0; i < 2; ++i) {
    CHECK(*dropped.constant.LargestMagnitude(find) == 7);
    dropped.Drop();
    CHECK(ResidentShare(dropped.tensor.bytes()) == 0);
  }
  CHECK(looks == 1);
}

TEST_CASE("a hold that is moved ends once") {
  Dropped dropped;
  {
    absl::StatusOr<ConstantHold> hold = dropped.constant.Hold(ConstantUse::kOnce);
    REQUIRE(hold.ok());
    ConstantHold moved = *std::move(hold), assigned;
    assigned = std::move(moved);
    dropped.Drop();
    CHECK(dropped.IsWhole());
  }
  dropped.Drop();
  CHECK(ResidentShare(dropped.tensor.bytes()) == 0);
}

TEST_CASE("elements that cannot come back are an error, and are asked for again") {
  Dropped dropped;
  bool fails = true;
  dropped.constant.Drop([&](absl::Span<std::byte>) {
    if (fails) return absl::ResourceExhaustedError("no memory");
    dropped.Fill();
    return absl::OkStatus();
  });
  CHECK(absl::IsResourceExhausted(dropped.constant.Hold(ConstantUse::kOnce).status()));
  fails = false;
  CHECK(dropped.constant.Hold(ConstantUse::kOnce).ok());
  CHECK(dropped.IsWhole());
}

TEST_CASE("less than a page stays") {
  Tensor tensor = *Tensor::Create(DType::kUint8, {64});
  std::fill(tensor.mutable_bytes().begin(), tensor.mutable_bytes().end(), kElement);
  DroppableConstant constant(tensor.mutable_bytes());
  constant.Drop([](absl::Span<std::byte>) { return absl::InternalError("asked for"); });
  CHECK(constant.Hold(ConstantUse::kOnce).ok());
  CHECK(tensor.bytes()[0] == kElement);
}

TEST_CASE("threads that hold and drop a constant see it whole") {
  Dropped dropped;
  std::atomic<int> faults = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        {
          const absl::StatusOr<ConstantHold> hold = dropped.constant.Hold(ConstantUse::kOnce);
          if (!hold.ok() || !dropped.IsWhole()) ++faults;
        }
        dropped.Drop();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(faults == 0);
}

}  // namespace
}  // namespace amp
