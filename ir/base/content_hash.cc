#include "ir/base/content_hash.h"

#include "absl/strings/str_format.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace amp {

struct ContentHash::State {
  XXH3_state_t xxh3;
};

ContentHash::ContentHash() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh3); }
ContentHash::~ContentHash() = default;

void ContentHash::Add(absl::string_view bytes) { XXH3_64bits_update(&state_->xxh3, bytes.data(), bytes.size()); }
uint64_t ContentHash::Value() const { return XXH3_64bits_digest(&state_->xxh3); }
std::string ContentHash::Text() const { return absl::StrFormat("%016x", Value()); }

}  // namespace amp
