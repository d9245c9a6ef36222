// Why something does not apply. Neither a user's error, which is a Status, nor a bug of our own, which is a CHECK.
//
//   if (const Reason why = ObstacleToCasts(model, low)) Warn(why.sentence());
#ifndef AMP_IR_BASE_REASON_H_
#define AMP_IR_BASE_REASON_H_

#include <string>
#include <utility>

#include "ir/base/check.h"

namespace amp {

class [[nodiscard]] Reason {
 public:
  static Reason None() { return Reason(); }  // it does apply
  // A sentence without capital and full stop, never empty. Implicit: NOLINTNEXTLINE(google-explicit-constructor)
  Reason(std::string sentence) : sentence_(std::move(sentence)) { AMP_CHECK(!sentence_.empty()); }
  Reason(const char* sentence) : Reason(std::string(sentence)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return !sentence_.empty(); }
  const std::string& sentence() const {
    AMP_CHECK(!sentence_.empty());
    return sentence_;
  }

 private:
  Reason() = default;

  std::string sentence_;
};

}  // namespace amp

#endif  // AMP_IR_BASE_REASON_H_
