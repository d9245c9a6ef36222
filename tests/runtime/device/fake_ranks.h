// Ranks of the test double: devices of threads of one process that wait for each other.
#ifndef AMP_TESTS_RUNTIME_DEVICE_FAKE_RANKS_H_
#define AMP_TESTS_RUNTIME_DEVICE_FAKE_RANKS_H_

#include <memory>

#include "runtime/device/raw/ranks.h"

namespace amp {

class DoubleWorld;

// A number nobody has had, of kRanksIdBytes.
void MakeWorldId(char* id);
// Returns the world of the ranks that come with the number `id`. The first of them makes it, with `size` ranks.
std::shared_ptr<DoubleWorld> FindWorld(const char* id, int size);
// Folds the values of all ranks, in the order of the ranks. Returns when all ranks have called it.
void FoldInWorld(DoubleWorld& world, int rank, const device::AllReduceArguments& fold);

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_DEVICE_FAKE_RANKS_H_
