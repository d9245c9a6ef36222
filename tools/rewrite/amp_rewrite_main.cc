#include <string>
#include <vector>

#include "runtime/hardware/compatibility.h"
#include "runtime/hardware/hardware.h"
#include "tools/program/run_program.h"
#include "tools/rewrite/amp_rewrite.h"

namespace {

bool HasFastFloat16() {
  constexpr amp::DType kLow = amp::DType::kFloat16;
  return amp::ChooseTarget(amp::DetectHardware(), kLow).IsFastEnough(kLow);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return amp::RunProgram("amp-rewrite", [&](const amp::ToolStreams& streams) {
    return amp::RunAmpRewrite(arguments, streams, HasFastFloat16);
  });
}
