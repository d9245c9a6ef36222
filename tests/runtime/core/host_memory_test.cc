// All tensors together take no more than the machine has.
#include "runtime/kernel/host_memory.h"

#include <vector>

#include "runtime/kernel/tensor.h"
#include "tests/catch2.h"

namespace amp {
namespace {

TEST_CASE("what the machine does not have is refused before it is asked for") {
  CHECK(HostMemoryLimit() > 0);
  CHECK(AllocateHostMemory(HostMemoryLimit() + 1) == nullptr);
  CHECK(AllocateHostMemory(1) != nullptr);
}

TEST_CASE("many tensors are refused where one is not, and freed ones count no more") {
  const size_t third = HostMemoryLimit() / 3;
  for (int round = 0; round < 2; ++round) {  // nobody touches the memory, so nobody pays for it
    const auto first = AllocateHostMemory(third), second = AllocateHostMemory(third);
    CHECK((first != nullptr && second != nullptr));
    CHECK(AllocateHostMemory(2 * third) == nullptr);
  }
}

TEST_CASE("a tensor of too many bytes is an error that says its shape") {
  const absl::StatusOr<Tensor> tensor = Tensor::Create(DType::kFloat64, {int64_t{1} << 40});
  CHECK(tensor.status().code() == absl::StatusCode::kResourceExhausted);
}

TEST_CASE("a large block that was freed is given again for its size") {
  constexpr size_t kBytes = size_t{5} << 20;
  const void* const first = AllocateHostMemory(kBytes).get();
  const auto again = AllocateHostMemory(kBytes), beside = AllocateHostMemory(kBytes);
  CHECK(again.get() == first);
  CHECK(beside.get() != first);
}

TEST_CASE("large blocks that were freed are let go where another size needs their room") {
  const size_t third = HostMemoryLimit() / 3;
  for (int i = 0; i < 2; ++i) CHECK(AllocateHostMemory(third) != nullptr);
  CHECK(AllocateHostMemory(HostMemoryLimit() / 10 * 9) != nullptr);
}

}  // namespace
}  // namespace amp
