// golden_test FILE.onnxtxt...: checks golden files (tests/golden_runner.h says what they look like).
// With AMP_UPDATE_GOLDEN=1 in the environment the expectations are rewritten in place instead.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "tests/golden_rewrite.h"
#include "tests/golden_runner.h"

namespace amp {
namespace {

bool CheckFile(const std::string& path, const GoldenFile& file) {
  bool ok = true;
  if (file.cases.front().expectation == GoldenExpectation::kModel) {
    std::cout << path << ": the first case must be the near miss that does not change\n";
    ok = false;
  }
  for (const GoldenCase& golden : file.cases) {
    const std::string complaint = CheckGoldenCase(golden, RewriteForGolden);
    if (complaint.empty()) continue;
    std::cout << path << ":" << golden.line << ": case " << golden.name << "\n" << complaint << "\n";
    ok = false;
  }
  std::cout << path << ": " << file.cases.size() << " cases, " << (ok ? "all as expected" : "NOT as expected") << "\n";
  return ok;
}

bool UpdateFile(const std::string& path, GoldenFile file, const std::string& before) {
  for (GoldenCase& golden : file.cases) UpdateGoldenCase(golden, RewriteForGolden);
  const std::string after = PrintGoldenFile(file);
  if (after == before) return true;
  std::ofstream out(path, std::ios::binary);
  out << after << std::flush;
  std::cout << path << (out ? ": updated\n" : ": cannot be written\n");
  return out.good();
}

bool RunFile(const std::string& path, bool update) {
  std::ostringstream text;
  std::ifstream in(path, std::ios::binary);
  text << in.rdbuf();
  absl::StatusOr<GoldenFile> file = ParseGoldenFile(text.str());
  if (!in || !file.ok()) {
    std::cout << path << ": " << (in ? std::string(file.status().message()) : "cannot be read") << "\n";
    return false;
  }
  return update ? UpdateFile(path, *std::move(file), text.str()) : CheckFile(path, *file);
}

}  // namespace
}  // namespace amp

int main(int argc, char** argv) {
  const char* update = std::getenv("AMP_UPDATE_GOLDEN");
  bool ok = argc > 1;
  for (int i = 1; i < argc; ++i) ok = amp::RunFile(argv[i], update && std::string(update) == "1") && ok;
  if (argc < 2) std::cout << "usage: golden_test FILE.onnxtxt...\n";
  return ok ? 0 : 1;
}
