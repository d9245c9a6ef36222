// XXH3 (64 bits) of bytes that come piece by piece.
#ifndef AMP_IR_BASE_CONTENT_HASH_H_
#define AMP_IR_BASE_CONTENT_HASH_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace amp {

class ContentHash {
 public:
  ContentHash();
  ~ContentHash();
  ContentHash(const ContentHash&) = delete;
  ContentHash& operator=(const ContentHash&) = delete;

  void Add(absl::string_view bytes);
  uint64_t Value() const;
  std::string Text() const;  // 16 hexadecimal digits

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace amp

#endif  // AMP_IR_BASE_CONTENT_HASH_H_
