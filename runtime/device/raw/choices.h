// What was found fastest for an operation, kept from one run of a program to the next.
//
// A key names all that the choice depends on: the operation with its shapes and types, the device, the library's version.
#ifndef AMP_RUNTIME_DEVICE_RAW_CHOICES_H_
#define AMP_RUNTIME_DEVICE_RAW_CHOICES_H_

#include <cstddef>

namespace amp::device {

struct Choices {
  void* self = nullptr;
  // Copies at most `size` bytes of what was kept, and gives how many there are; 0: nothing was.
  size_t (*find)(void* self, const char* key, void* value, size_t size) = nullptr;
  void (*keep)(void* self, const char* key, const void* value, size_t size) = nullptr;
  // What was found is not used, and why: one line.
  void (*refuse)(void* self, const char* key, const char* why) = nullptr;
};

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_CHOICES_H_
