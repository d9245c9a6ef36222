// One line on the terminal that shows progress: "amp-run: run 3 of 12, 14 s". It appears when the program has been at
// work for a second, is rewritten in place, and goes before anything else is printed.
#ifndef AMP_TOOLS_PROGRAM_PROGRESS_LINE_H_
#define AMP_TOOLS_PROGRAM_PROGRESS_LINE_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace amp {

// The line is written from a thread of its own, which no signal comes to: a step may take long, and has nobody to ask.
class ProgressLine {
 public:
  // Nothing is ever written where `file` is no terminal. `program`: what the line begins with.
  ProgressLine(int file, std::string program);
  ~ProgressLine();

  // From now on this is what the program is at. ASCII.
  void Show(std::string what);
  // Takes the line away until Show is called again.
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;

  void Rewrite(const std::stop_token& stop);
  std::string Text() const;
  void Write(const std::string& text);

  const int file_;
  const std::string program_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::string what_;
  size_t written_ = 0;  // characters that are on the terminal
  std::jthread writer_;
};

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_PROGRESS_LINE_H_
