// How a thread computes with floating-point numbers: how it rounds, and what it makes of subnormal ones.
#ifndef AMP_RUNTIME_KERNEL_FLOAT_MODE_H_
#define AMP_RUNTIME_KERNEL_FLOAT_MODE_H_

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace amp {

// Where the processor has no such mode that is known here, there is one alone.
class FloatMode {
 public:
#if defined(__SSE__)
  static constexpr bool kCanFlush = true;
  FloatMode() : bits_(_mm_getcsr()) {}  // the calling thread's
  void Set() const { _mm_setcsr(bits_); }
#else
  static constexpr bool kCanFlush = false;
  FloatMode() = default;
  void Set() const {}
#endif

  // With subnormal numbers as zeros, operands and results alike. REQUIRES: kCanFlush.
  FloatMode Flushing() const {
    constexpr unsigned kResults = 0x8000, kOperands = 0x0040;
    FloatMode mode = *this;
    mode.bits_ |= kResults | kOperands;
    return mode;
  }

 private:
  unsigned bits_ = 0;
};

// The calling thread is in the mode as long as this lives.
class FloatModeScope {
 public:
  explicit FloatModeScope(const FloatMode& mode) { mode.Set(); }
  ~FloatModeScope() { before_.Set(); }
  FloatModeScope(const FloatModeScope&) = delete;
  FloatModeScope& operator=(const FloatModeScope&) = delete;

 private:
  const FloatMode before_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_FLOAT_MODE_H_
