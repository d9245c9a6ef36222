// All tensors together take no more than the machine has.
#include "runtime/kernel/host_memory.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
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

// The flags of the mapping that this address is in, as " rd wr hg "; nothing where the system does not tell.
std::string FlagsOfMapping(const void* memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  std::ifstream maps("/proc/self/smaps");
  bool is_inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &begin, &end) == 2) is_inside = begin <= address && address < end;
    if (is_inside && line.rfind("VmFlags:", 0) == 0) return line + " ";
  }
  return "";
}

TEST_CASE("memory of megabytes may lie in huge pages, the rest of it and less does not") {
  constexpr size_t kHugePage = size_t{2} << 20;
  const auto few = AllocateHostMemory(kHugePage), many = AllocateHostMemory(5 * kHugePage + 64);
  CHECK(reinterpret_cast<uintptr_t>(many.get()) % kHugePage == 0);
  const bool has_huge_pages = std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled").good();
  if (!has_huge_pages || FlagsOfMapping(many.get()).empty()) {
    WARN("skipped: this system has no huge pages, or does not say where");
    return;
  }
  const auto has_huge = [](const void* memory) { return FlagsOfMapping(memory).find(" hg ") != std::string::npos; };
  CHECK(has_huge(many.get()));
  CHECK(!has_huge(static_cast<std::byte*>(many.get()) + 5 * kHugePage));
  CHECK(!has_huge(few.get()));
}

TEST_CASE("large blocks that were freed are let go where another size needs their room") {
  const size_t third = HostMemoryLimit() / 3;
  for (int i = 0; i < 2; ++i) CHECK(AllocateHostMemory(third) != nullptr);
  CHECK(AllocateHostMemory(HostMemoryLimit() / 10 * 9) != nullptr);
}

#if !defined(__SANITIZE_ADDRESS__)  // which keeps freed memory
TEST_CASE("what was freed goes back to the system when it is to") {
  constexpr size_t kBytes = size_t{64} << 20;
  const auto resident = [] {
    int64_t total = 0, pages = 0;
    std::ifstream("/proc/self/statm") >> total >> pages;
    return pages * ::sysconf(_SC_PAGESIZE);
  };
  const auto fill = [](size_t size_bytes) {
    std::shared_ptr<void> memory = AllocateHostMemory(size_bytes);
    std::memset(memory.get(), 1, size_bytes);
    return memory;
  };
  fill(kBytes);  // kept for the next of its size
  const int64_t before = resident();
  GiveBackFreedMemory();
  CHECK(before - resident() > static_cast<int64_t>(kBytes / 8 * 7));
}
#endif

}  // namespace
}  // namespace amp
