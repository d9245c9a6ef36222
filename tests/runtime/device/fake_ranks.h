// Ranks of the test double: devices of threads of one process that wait for each other.
#ifndef AMP_TESTS_RUNTIME_DEVICE_FAKE_RANKS_H_
#define AMP_TESTS_RUNTIME_DEVICE_FAKE_RANKS_H_

#include <memory>

#include "runtime/device/raw/ranks.h"

namespace amp {

class DoubleWorld;

// A number nobody has had, of kRanksIdBytes.
void MakeWorldId(char* id);
// Those who come with the same number.
std::shared_ptr<DoubleWorld> FindWorld(const char* id, int size);
// Of all ranks in their order; returns when all have called it.
void FoldInWorld(DoubleWorld& world, int rank, const device::AllReduceArguments& fold);

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_DEVICE_FAKE_RANKS_H_
