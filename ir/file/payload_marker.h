// Stand-ins for large payloads while protobuf handles a model without them: 24 bytes that no file can guess, the last
// four of which number the payload.
#ifndef AMP_IR_FILE_PAYLOAD_MARKER_H_
#define AMP_IR_FILE_PAYLOAD_MARKER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace amp {

class PayloadMarker {
 public:
  inline static constexpr int64_t kSize = 24;
  PayloadMarker();  // draws a fresh random key
  std::string Text(int payload) const;
  // The number of the payload that `text` stands for; -1 if it is no marker of this key or not below `count`.
  int Find(absl::string_view text, int count) const;

 private:
  std::string key_;
};

}  // namespace amp

#endif  // AMP_IR_FILE_PAYLOAD_MARKER_H_
