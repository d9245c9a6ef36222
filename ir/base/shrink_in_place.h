// Halving the weights of a model in memory: a string becomes shorter where it is, and the system gets the pages back
// that it no longer covers. shrink_to_fit would copy, into pages that the system has to hand out first.
// Tested by tests/ir/base/shrink_in_place_test.cc.
#ifndef AMP_IR_BASE_SHRINK_IN_PLACE_H_
#define AMP_IR_BASE_SHRINK_IN_PLACE_H_

#include <cstddef>
#include <string>

namespace amp {

// REQUIRES: size <= bytes.size().
void ShrinkInPlace(std::string& bytes, size_t size);

}  // namespace amp

#endif  // AMP_IR_BASE_SHRINK_IN_PLACE_H_
