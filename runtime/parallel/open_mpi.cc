#include "runtime/parallel/open_mpi.h"

#include "ir/base/status.h"
#include "runtime/hardware/open_shared_object.h"

namespace amp {

absl::StatusOr<std::unique_ptr<RankGroup>> OpenMpi(std::chrono::milliseconds most_silence) {
  const SharedObject object = OpenSharedObject("libamp_mpi.so", "AmpMpiTransport");
  if (object.entry == nullptr) {
    return DeviceError("built without MPI (CMake's AMP_WITH_MPI, package libopenmpi-dev), or it cannot be opened: ",
                       Escaped(object.why_not));
  }
  const auto open = reinterpret_cast<Transport* (*)()>(object.entry);
  return MakeExchangeRankGroup([open] { return std::unique_ptr<Transport>(open()); }, most_silence);
}

}  // namespace amp
