#include "tools/program/out_of_memory.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "ir/base/atomic_file.h"
#include "ir/base/status.h"

namespace amp {
namespace {

constexpr int kExitCode = 5;

// The name in the line. The length is stored last, so that a thread that reads meanwhile sees a part of the name at
// most.
struct Name {
  std::array<char, 512> text = {};
  std::atomic<size_t> length = 0;
};

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): what is there when nothing can be made any more
Name file_name, written_name;
std::atomic<int64_t> put_in_place_before = -1;  // as files were counted when `written_name` was set
std::atomic<bool> somebody_leaves = false;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void Set(Name& name, absl::string_view file) {
  const std::string escaped = Escaped(file);
  const size_t length = std::min(escaped.size(), name.text.size());
  name.length = 0;
  std::memcpy(name.text.data(), escaped.data(), length);
  name.length = length;
}

absl::string_view TextOf(const Name& name) { return {name.text.data(), name.length.load()}; }

bool IsAllWritten() {
  const int64_t before = put_in_place_before.load();
  return before >= 0 && NumPutInPlace() > before;
}

// One line, put together in plain memory.
class Line {
 public:
  void Append(absl::string_view text) {
    const size_t taken = std::min(text.size(), text_.size() - length_);
    std::memcpy(text_.data() + length_, text.data(), taken);
    length_ += taken;
  }
  void AppendNumber(size_t number) {
    std::array<char, 20> digits;
    size_t first = digits.size();
    do {
      digits[--first] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    Append({digits.data() + first, digits.size() - first});
  }
  // On a terminal a line of progress may be there.
  void Print() {
    constexpr size_t kColumns = 79;
    const bool is_terminal = ::isatty(STDERR_FILENO) != 0;
    if (is_terminal) (void)!::write(STDERR_FILENO, "\r", 1);
    while (is_terminal && length_ < kColumns) Append(" ");
    Append("\n");
    (void)!::write(STDERR_FILENO, text_.data(), length_);
  }

 private:
  std::array<char, 1024> text_;
  size_t length_ = 0;
};

// The others wait for the end, which the first one brings.
void OnlyTheFirstGoesOn() {
  if (!somebody_leaves.exchange(true)) return;
  for (;;) ::pause();
}

// `what` is appended to the line.
template <typename Append>
[[noreturn]] void Leave(Append what) {
  OnlyTheFirstGoesOn();
  RemoveUnfinishedFiles();
  const bool is_all_written = IsAllWritten();
  Line line;
  line.Append(::program_invocation_short_name);
  line.Append(is_all_written ? ": warning: " : ": error: ");
  if (const absl::string_view file = TextOf(file_name); !file.empty()) {
    line.Append(file);
    line.Append(": ");
  }
  what(line);
  if (is_all_written) {
    line.Append("; wrote ");
    line.Append(TextOf(written_name));
    line.Append(" all the same");
  }
  line.Print();
  ::_exit(is_all_written ? 0 : kExitCode);
}

}  // namespace

void NameInOutOfMemory(absl::string_view file) { Set(file_name, file); }

void WritesInOutOfMemory(absl::string_view file) {
  Set(written_name, file);
  put_in_place_before = NumPutInPlace();
}

bool MayLeaveOutOfMemory() { return !SignalsWait::IsOnThisThread(); }

void LeaveOutOfMemory(size_t wanted_bytes) noexcept {
  Leave([&](Line& line) {
    line.Append("out of memory: no ");
    line.AppendNumber(wanted_bytes);
    line.Append(" bytes more could be had");
  });
}

void LeaveWithoutThreads() noexcept {
  Leave([](Line& line) { line.Append("out of memory or of threads: none more could be made; see --threads"); });
}

}  // namespace amp
