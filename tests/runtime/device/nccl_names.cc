// Prints what libamp_cuda.so would say of the NCCL that it finds. Where NCCL makes a name for ranks, the name's first
// byte is printed as well.
#include <cstdio>

#include "runtime/cuda/nccl.h"

int main() {
  char text[amp::device::kMaxRanksText] = "", id[amp::device::kRanksIdBytes] = "";
  const int error = amp::cuda::NcclRanks::Name(nullptr, text);
  std::printf("%d %s\n", error, text);
  if (error != 0) return 0;
  const int made = amp::cuda::NcclRanks::Name(id, text);
  std::printf("%d %d\n", made, id[0]);
  return 0;
}
