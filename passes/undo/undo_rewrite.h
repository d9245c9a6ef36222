// Takes an earlier rewrite back by the record that it left in the model (rewrite_record.h).
//
//   x ─ Cast(f16) ─ MatMul(W:f16) ─ Cast(f32) ─ y        x ─ MatMul(W:f32) ─ y
//
// The casts go, constants are float32 again, inputs and outputs have their old types. Exact where the file still has
// the float32 weights; a weight that was converted keeps the low type's rounding. What else stays: a raised opset,
// initializers that were frozen.
#ifndef AMP_PASSES_UNDO_UNDO_REWRITE_H_
#define AMP_PASSES_UNDO_UNDO_REWRITE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "passes/decide/rewrite_settings.h"
#include "passes/report/rewrite_outcome.h"

namespace amp {

struct LoadedFile;

// Takes a rewrite back. The settings `diff` and `on_stage` are used. Takes the message of `file`, as RewriteModel does.
// The report has no nodes, and the casts of ours as its removed ones. A model without a record is left alone, with that
// reason, and a warning where it computes in 16 bits. Errors: kDataLoss for an entry that is no record, or a record
// that does not fit the model; reading external data.
absl::StatusOr<RewriteOutcome> UndoRewrite(LoadedFile& file, std::shared_ptr<const OpSignatures> signatures,
                                           const RewriteSettings& settings);

// Takes the rewrite of a model back, whose types are inferred, with a warning. Does nothing without a record. Errors:
// those above.
absl::Status TakeBackIfRecorded(Model& model);

// Takes the rewrite of a file back that was just loaded, in memory alone. Adds to its warnings what stays of the
// rewrite, or that a model without a record computes in 16 bits. Errors: those above.
absl::Status TakeBackFile(LoadedFile& file);

}  // namespace amp

#endif  // AMP_PASSES_UNDO_UNDO_REWRITE_H_
