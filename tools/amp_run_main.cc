#include <string>
#include <vector>

#include "tools/amp_run.h"
#include "tools/run_program.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return amp::RunProgram("amp-run",
                         [&](const amp::ToolStreams& streams) { return amp::RunAmpRun(arguments, streams); });
}
