// Names in models are bytes that need not be text: which of them are UTF-8.
#ifndef AMP_IR_BASE_UTF8_H_
#define AMP_IR_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace amp {

struct Utf8Character {
  size_t length = 0;  // bytes; 0 where the text does not begin with a well-formed sequence
  uint32_t code = 0;
};

// Overlong forms, surrogates and codes above U+10FFFF are not well-formed. `text` is not empty.
Utf8Character FirstCharacter(absl::string_view text);

bool IsUtf8(absl::string_view text);

}  // namespace amp

#endif  // AMP_IR_BASE_UTF8_H_
