// Which inputs and outputs of the graph may become low (--keep-io).
#ifndef AMP_PASSES_DECIDE_RELEASE_IO_H_
#define AMP_PASSES_DECIDE_RELEASE_IO_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "passes/cast/insert_casts.h"
#include "passes/decide/rewrite_settings.h"

namespace amp {

// ReleasedIo by value instead of position, for edits that move positions: raising the IR version takes constants off
// the inputs.
struct ReleasedValues {
  absl::flat_hash_set<ValueId> inputs;
  std::vector<bool> outputs;  // by position

  ReleasedIo Positions(const Model& model) const;
};

// An input with an overridable default keeps its type: its initializer would have to change with it. Errors:
// kInvalidArgument, a name that no input or output has.
absl::StatusOr<ReleasedValues> ReleaseIo(const Model& model, const KeepIo& keep);

}  // namespace amp

#endif  // AMP_PASSES_DECIDE_RELEASE_IO_H_
