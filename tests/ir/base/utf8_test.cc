#include "ir/base/utf8.h"

#include "tests/catch2.h"

namespace amp {
namespace {

TEST_CASE("text is UTF-8") {
  for (const char* text :
       {"", "w", "\x7f", "\xc3\xbc", "\xe2\x82\xac", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf", "a\xc3\xbc"}) {
    INFO(text);
    CHECK(IsUtf8(text));
  }
  CHECK(FirstCharacter("\xe2\x82\xac.").code == 0x20ac);
  CHECK(FirstCharacter("\xe2\x82\xac.").length == 3);
}

TEST_CASE("stray and missing bytes, overlong forms, surrogates and what lies above the last code are not") {
  for (const char* bytes : {"\x80", "\xff", "\xc3", "a\xe2\x82", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
                            "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3(", "w\xe2(\xac"}) {
    INFO(bytes);
    CHECK_FALSE(IsUtf8(bytes));
  }
  CHECK(FirstCharacter("\xed\xa0\x80").length == 0);
}

}  // namespace
}  // namespace amp
