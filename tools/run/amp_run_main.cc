#include <string>
#include <vector>

#include "tools/program/run_program.h"
#include "tools/run/amp_run.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return amp::RunProgram("amp-run",
                         [&](const amp::ToolStreams& streams) { return amp::RunAmpRun(arguments, streams); });
}
