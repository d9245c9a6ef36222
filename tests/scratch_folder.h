// A folder of a test's own for temporary files, gone with everything in it at the end.
#ifndef AMP_TESTS_SCRATCH_FOLDER_H_
#define AMP_TESTS_SCRATCH_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/string_view.h"
#include "ir/base/check.h"

namespace amp {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "amp_test_XXXXXX").string();
    AMP_CHECK(::mkdtemp(path.data()) != nullptr);
    path_ = path;
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  void Empty() const {
    for (const auto& entry : std::filesystem::directory_iterator(path_)) std::filesystem::remove_all(entry);
  }
  bool Has(const std::string& name) const { return std::filesystem::exists(File(name)); }
  std::string Write(const std::string& name, absl::string_view bytes) const {
    std::ofstream(File(name), std::ios::binary) << bytes;
    return File(name);
  }
  std::string Read(const std::string& name) const {
    std::ifstream in(File(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::string path_;
};

}  // namespace amp

#endif  // AMP_TESTS_SCRATCH_FOLDER_H_
