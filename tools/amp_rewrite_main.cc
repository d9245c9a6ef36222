#include <cstdio>

#include "ir/atomic_file.h"
#include "tools/amp_rewrite.h"

int main(int argc, char** argv) {
  amp::RemoveTemporariesOnSignals();
  const amp::ToolOutput output = amp::RunAmpRewrite(std::vector<std::string>(argv + 1, argv + argc));
  std::fwrite(output.err.data(), 1, output.err.size(), stderr);
  std::fwrite(output.out.data(), 1, output.out.size(), stdout);
  return std::fflush(stdout) == 0 ? output.exit_code : 6;
}
