// Whether a node can be one of the operator that a signature describes (ir/schema/op_signatures.h): its ports and their
// types.
#ifndef AMP_IR_GRAPH_SIGNATURE_MISFIT_H_
#define AMP_IR_GRAPH_SIGNATURE_MISFIT_H_

#include <string>

#include "absl/types/span.h"
#include "ir/base/reason.h"
#include "ir/graph/graph.h"
#include "ir/schema/schema.h"

namespace amp {

// Why the node does not fit the signature: its number of inputs or outputs, or the types that are known of them.
// `claimed` holds the types that the file states of the outputs, kUndefined where it states none. Empty when it fits.
Reason Misfit(const Model& model, NodeId id, const OpSchema& signature, absl::Span<const DType> claimed);

}  // namespace amp

#endif  // AMP_IR_GRAPH_SIGNATURE_MISFIT_H_
