// Keeps the fastest way to compute an operation from one run of a program to the next.
//
// A key names everything that a choice depends on: the operation with its shapes and types, the device, and the
// library's version.
#ifndef AMP_RUNTIME_DEVICE_RAW_CHOICES_H_
#define AMP_RUNTIME_DEVICE_RAW_CHOICES_H_

#include <cstddef>

namespace amp::device {

struct Choices {
  void* self = nullptr;
  // Copies at most `size` bytes of the value kept for a key, and returns the value's size; 0: there is none.
  size_t (*find)(void* self, const char* key, void* value, size_t size) = nullptr;
  void (*keep)(void* self, const char* key, const void* value, size_t size) = nullptr;
  // Reports that a kept value is not used. `why`: one line.
  void (*refuse)(void* self, const char* key, const char* why) = nullptr;
};

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_CHOICES_H_
