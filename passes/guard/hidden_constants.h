// Constants that a value comes from, though it is none itself.
//
//   eps double = 1e-8;  e = Cast <to = float> (eps)  ->  eps            behind casts and what moves elements
//   m = If (c) <then: Constant -1e9, else: x>        ->  the -1e9       out of bodies
//   w, an initializer and an input                   ->  w              the default of what callers may override
#ifndef AMP_PASSES_GUARD_HIDDEN_CONSTANTS_H_
#define AMP_PASSES_GUARD_HIDDEN_CONSTANTS_H_

#include <vector>

#include "ir/graph/graph.h"

namespace amp {

// Floats of 32 or 64 bits. Steps back a few nodes at most. Empty where the value is a constant.
std::vector<ValueId> HiddenConstants(const Model& model, ValueId value);

}  // namespace amp

#endif  // AMP_PASSES_GUARD_HIDDEN_CONSTANTS_H_
