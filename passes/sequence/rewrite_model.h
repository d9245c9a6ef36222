// The rewrite as one function: a float32 model goes in, a mixed-precision model comes out, and a report of why.
//
//   load      functions are inlined, the graph is made of the message
//   infer     types; which inputs and outputs may become low
//   lift      the opset, as far as the low type needs it, and the decision: classes, vetoes, colours
//   classify, guard, paint     parts of the decision, to be looked at
//   casts, weights, fold       the edits that it asks for; then the record, and the check of what was made
//
// The sequence is a table in rewrite_model.cc: a new stage is a row.
#ifndef AMP_PASSES_SEQUENCE_REWRITE_MODEL_H_
#define AMP_PASSES_SEQUENCE_REWRITE_MODEL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "passes/classify/op_lists.h"
#include "passes/decide/decide_rewrite.h"
#include "passes/decide/rewrite_settings.h"
#include "passes/report/rewrite_outcome.h"

namespace amp {

struct LoadedFile;

// Takes the message of `file`, and leaves the rest: what is external is still read from there. Unless report.changed,
// the original bytes are the result. Errors: an unknown name in keep_io, an opset that cannot be reached, reading
// external data, a limit, and kInternal if the result fails its type check.
absl::StatusOr<RewriteOutcome> RewriteModel(LoadedFile& file, std::shared_ptr<const OpSignatures> signatures,
                                            const OpLists& lists, const RewriteSettings& settings);

// A model as the decision is about it, all float32: norms that are written out are operators by now, batch norms are
// folded, weights are scaled, and casts are still to come.
struct DecidedModel {
  std::unique_ptr<Model> model;  // committed
  Decision decision;
};

// Takes the message of `file` as RewriteModel does, and stops behind the decision. Errors: those of RewriteModel;
// kInvalidArgument, a training step of float32, for which nothing is decided.
absl::StatusOr<DecidedModel> DecideModel(LoadedFile& file, std::shared_ptr<const OpSignatures> signatures,
                                         const OpLists& lists, const RewriteSettings& settings);

}  // namespace amp

#endif  // AMP_PASSES_SEQUENCE_REWRITE_MODEL_H_
