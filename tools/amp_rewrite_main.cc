#include <cerrno>
#include <cstdio>

#include "ir/atomic_file.h"
#include "ir/status.h"
#include "tools/amp_rewrite.h"

int main(int argc, char** argv) {
  amp::RemoveTemporariesOnSignals();
  const amp::ToolOutput output = amp::RunAmpRewrite(std::vector<std::string>(argv + 1, argv + argc));
  std::fwrite(output.err.data(), 1, output.err.size(), stderr);
  const bool is_written = std::fwrite(output.out.data(), 1, output.out.size(), stdout) == output.out.size();
  if (is_written && std::fflush(stdout) == 0) return output.exit_code;
  const int error = errno;
  const absl::Status status = amp::IoError("standard output: cannot write: ", amp::ErrnoText(error));
  const bool reader_left = error == EPIPE;  // as `head` does: no news to anybody
  if (!reader_left) std::fprintf(stderr, "amp-rewrite: error: %s\n", std::string(status.message()).c_str());
  return amp::ExitCode(status);
}
