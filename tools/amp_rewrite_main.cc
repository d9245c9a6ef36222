#include <string>
#include <vector>

#include "tools/amp_rewrite.h"
#include "tools/run_program.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return amp::RunProgram("amp-rewrite",
                         [&](const amp::ToolStreams& streams) { return amp::RunAmpRewrite(arguments, streams); });
}
