#include <unistd.h>

#include <string>
#include <vector>

#include "tools/program/run_program.h"
#include "tools/train/amp_train.h"
#include "tools/train/launcher.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const amp::ResultsGoTo results = ::isatty(STDOUT_FILENO) != 0 ? amp::ResultsGoTo::kTerminal : amp::ResultsGoTo::kFile;
  return amp::RunProgram("amp-train", [&](const amp::ToolStreams& streams) {
    return amp::RunAmpTrain(arguments, streams, results, {.open_ranks = amp::OpenRanks});
  });
}
