#include "ir/file/payload_marker.h"

#include <unistd.h>

#include <chrono>
#include <cstring>

#include "absl/strings/match.h"

namespace amp {

PayloadMarker::PayloadMarker() : key_(static_cast<size_t>(kSize) - sizeof(int32_t), '\0') {
  if (::getentropy(key_.data(), key_.size()) == 0) return;
  // No source of randomness (a sandbox): the moment and the address space's layout are the next best.
  const int64_t seed[2] = {std::chrono::steady_clock::now().time_since_epoch().count(),
                           static_cast<int64_t>(reinterpret_cast<intptr_t>(key_.data()))};
  std::memcpy(key_.data(), seed, sizeof(seed));
}

std::string PayloadMarker::Text(int payload) const {
  const int32_t number = payload;
  std::string text = key_;
  text.append(reinterpret_cast<const char*>(&number), sizeof(number));
  return text;
}

int PayloadMarker::Find(absl::string_view text, int count) const {
  if (text.size() != static_cast<size_t>(kSize) || !absl::StartsWith(text, key_)) return -1;
  int32_t number = 0;
  std::memcpy(&number, text.data() + key_.size(), sizeof(number));
  return number >= 0 && number < count ? number : -1;
}

}  // namespace amp
