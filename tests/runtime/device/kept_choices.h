// Choices by time in memory, as a tuning file keeps them, for tests to look at and to spoil.
#ifndef AMP_TESTS_RUNTIME_DEVICE_KEPT_CHOICES_H_
#define AMP_TESTS_RUNTIME_DEVICE_KEPT_CHOICES_H_

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "runtime/device/raw/choices.h"

namespace amp {

struct KeptChoices {
  std::map<std::string, std::string> by_key;
  std::vector<std::string> refused;
  const device::Choices choices = {
      .self = this,
      .find = [](void* self, const char* key, void* value, size_t size) -> size_t {
        const std::string& bytes = static_cast<KeptChoices*>(self)->by_key[key];
        std::memcpy(value, bytes.data(), std::min(size, bytes.size()));
        return bytes.size();
      },
      .keep =
          [](void* self, const char* key, const void* value, size_t size) {
            static_cast<KeptChoices*>(self)->by_key[key] = std::string(static_cast<const char*>(value), size);
          },
      .refuse = [](void* self, const char*,
                   const char* why) { static_cast<KeptChoices*>(self)->refused.emplace_back(why); }};
};

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_DEVICE_KEPT_CHOICES_H_
