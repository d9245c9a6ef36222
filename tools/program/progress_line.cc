#include "tools/program/progress_line.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace amp {
namespace {

constexpr std::chrono::milliseconds kSilent(1000), kBetween(200);

// Where that is unknown, of a terminal as they used to be.
size_t Columns(int file) {
  constexpr size_t kUsual = 80;
  winsize size = {};
  return ::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

}  // namespace

ProgressLine::ProgressLine(int file, std::string program) : file_(file), program_(std::move(program)) {
  if (::isatty(file) == 0) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  writer_ = std::jthread([this](const std::stop_token& stop) { Rewrite(stop); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ProgressLine::~ProgressLine() {
  if (!writer_.joinable()) return;
  writer_.request_stop();
  writer_.join();
  Clear();
}

void ProgressLine::Show(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
}

void ProgressLine::Clear() {
  const std::lock_guard lock(mutex_);
  what_.clear();
  Write("");
}

void ProgressLine::Rewrite(const std::stop_token& stop) {
  const auto never = [] { return false; };
  std::unique_lock lock(mutex_);
  stopped_.wait_for(lock, stop, kSilent, never);
  while (!stop.stop_requested()) {
    if (!what_.empty()) Write(Text());
    stopped_.wait_for(lock, stop, kBetween, never);
  }
}

std::string ProgressLine::Text() const {
  const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start_);
  const std::string text = absl::StrCat(program_, ": ", what_, ", ", elapsed.count(), " s");
  return text.substr(0, Columns(file_) - 1);  // a full line would wrap
}

// Spaces go over what was longer before: no terminal is too simple for that.
void ProgressLine::Write(const std::string& text) {
  const size_t length = text.size();
  if (length == 0 && written_ == 0) return;
  const std::string spaces(std::max(written_, length) - length, ' ');
  std::string bytes = absl::StrCat("\r", text, spaces);
  if (length == 0) bytes += '\r';
  (void)!::write(file_, bytes.data(), bytes.size());
  written_ = length;
}

}  // namespace amp
