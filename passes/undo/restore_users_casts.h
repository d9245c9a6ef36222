// Part of taking a rewrite back: makes the user's casts again that folding made superfluous.
//
//   a ─ MatMul      a ─ Cast(f16) ─ b ─ Cast(f32) ─ c ─ MatMul
//
// The record (rewrite_record.h) says what each of them read, a value or another of them, and who read it.
#ifndef AMP_PASSES_UNDO_RESTORE_USERS_CASTS_H_
#define AMP_PASSES_UNDO_RESTORE_USERS_CASTS_H_

#include <vector>

#include "ir/graph/graph.h"
#include "passes/record/rewrite_record.h"

namespace amp {

// Returns how many casts and readers do not fit the model. What fits may still be read before it is made, where the
// record is not one of this model's: see CheckOrder. Linear in values and readers, times the depth of nested graphs.
int RestoreUsersCasts(Model& model, const std::vector<RewriteRecord::UsersCast>& casts);

}  // namespace amp

#endif  // AMP_PASSES_UNDO_RESTORE_USERS_CASTS_H_
