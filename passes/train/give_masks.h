// Gives every Dropout that trains its output of the mask, which its gradient reads.
//
//   y = Dropout (x, r, t)     ->     y, y_mask = Dropout (x, r, t)
#ifndef AMP_PASSES_TRAIN_GIVE_MASKS_H_
#define AMP_PASSES_TRAIN_GIVE_MASKS_H_

#include "ir/graph/graph.h"

namespace amp {

// Edits the main graph. Types have to be inferred again. Linear in the nodes.
void GiveMasks(Model& model);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_GIVE_MASKS_H_
