// The table of steps between versions of an operator that need more than the eye of the schema, and what rows are made
// of. Internal to the adapters of ir/opset/opset_adapters.h.
#ifndef AMP_IR_OPSET_OPSET_STEPS_H_
#define AMP_IR_OPSET_OPSET_STEPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/base/reason.h"
#include "ir/graph/graph.h"

namespace amp {

// Why the step does not apply to this node. It sees the node as it is in the file, before any of
// the earlier steps, and may look only at what those leave alone.
using StepCheck = Reason (*)(const Model& model, NodeId node);
// Turns the node's `from` form into its `to` form.
using StepEdit = void (*)(Model& model, NodeId node);
// The first opset at which what the edit makes of this node is right, where that is later than the step's own; else 0.
using StepSettles = int (*)(const Model& model, NodeId node);

struct OpsetStep {
  absl::string_view op_type;
  int from = 0, to = 0;     // since_versions of two neighbouring schemas of the operator
  StepEdit edit = nullptr;  // null: the form stays; what was added has a default that keeps the old meaning
  StepCheck check = nullptr;
  absl::string_view becomes = "";  // the operator that `edit` makes of it, when that is another one
  StepSettles settles = nullptr;
};

// Ordered by operator and version.
absl::Span<const OpsetStep> OpsetSteps();

// ---- edits and checks, by family
// before opset 8
void BroadcastByShape(Model& model, NodeId node);
void CastNameToNumber(Model& model, NodeId node);
void ConcatWriteAxis(Model& model, NodeId node);
void DropBroadcast(Model& model, NodeId node);
void DropConsumedInputs(Model& model, NodeId node);
void DropOutputSequence(Model& model, NodeId node);
void DropoutDropIsTest(Model& model, NodeId node);
void GruSpellDirection(Model& model, NodeId node);
void LpPoolWholeNorm(Model& model, NodeId node);
void PReluSlopeByShape(Model& model, NodeId node);
void PadRenamePaddings(Model& model, NodeId node);
void ReshapeShapeToInput(Model& model, NodeId node);
void SeluWriteDefaults(Model& model, NodeId node);
void SplitLengthsToAttribute(Model& model, NodeId node);
void TileRepeatsPerAxis(Model& model, NodeId node);
void UpsampleScalesPerAxis(Model& model, NodeId node);
Reason DropoutTests(const Model& model, NodeId node);
Reason HasShape(const Model& model, NodeId node);
Reason KnowsBroadcastAxes(const Model& model, NodeId node);
Reason KnowsSlopeAxes(const Model& model, NodeId node);
Reason NamesType(const Model& model, NodeId node);
Reason NormIsWhole(const Model& model, NodeId node);
Reason SplitIsConstant(const Model& model, NodeId node);
Reason TileIsConstant(const Model& model, NodeId node);
// attributes that become inputs
void AxesToInput(Model& model, NodeId node);
void UnsqueezeAxesToInput(Model& model, NodeId node);
void ClipBoundsToInputs(Model& model, NodeId node);
void DftAxisToInput(Model& model, NodeId node);
void DropoutRatioToInput(Model& model, NodeId node);
void PadsToInputs(Model& model, NodeId node);
void SliceRangesToInputs(Model& model, NodeId node);
void SplitToInput(Model& model, NodeId node);
void TopKToInput(Model& model, NodeId node);
void UpsampleScalesToInput(Model& model, NodeId node);
Reason KnowsDataType(const Model& model, NodeId node);
Reason MaskIsUnused(const Model& model, NodeId node);
// normalizations
void BatchNormalizationDropIsTest(Model& model, NodeId node);
void BatchNormalizationDropSpatial(Model& model, NodeId node);
void BatchNormalizationWriteMode(Model& model, NodeId node);
void GroupNormalizationPerChannel(Model& model, NodeId node);
Reason HasGroups(const Model& model, NodeId node);
Reason IsTestIsPlain(const Model& model, NodeId node);
Reason SavedStatisticsAreUnread(const Model& model, NodeId node);
Reason StatisticsAreFlat(const Model& model, NodeId node);
// Scan
void ScanBatchByScan(Model& model, NodeId node);
Reason ScansWholeSequences(const Model& model, NodeId node);
// pools
Reason NoWindowStartsInPadding(const Model& model, NodeId node);
// other meanings, other operators
void DropoutMaskToBool(Model& model, NodeId node);
void GridSampleRenameModes(Model& model, NodeId node);
void MeanVarianceWriteAxes(Model& model, NodeId node);
void ResizeDropOldChoices(Model& model, NodeId node);
void ResizeNameOldCoordinates(Model& model, NodeId node);
void RoiAlignNameOldCoordinates(Model& model, NodeId node);
void ScatterToScatterElements(Model& model, NodeId node);
void SoftmaxUncoerce(Model& model, NodeId node);
void SplitCountOutputs(Model& model, NodeId node);
void UpsampleToResize(Model& model, NodeId node);
Reason HasNewCoordinates(const Model& model, NodeId node);
int SoftmaxSettles(const Model& model, NodeId node);

// ---- constants for edits
// A new int64 / float32 / int64 scalar initializer in the node's graph, named after the node's first output.
ValueId AddInts(Model& model, NodeId node, absl::string_view suffix, absl::Span<const int64_t> values);
ValueId AddIntScalar(Model& model, NodeId node, absl::string_view suffix, int64_t value);
ValueId AddFloats(Model& model, NodeId node, absl::string_view suffix, absl::Span<const float> values);
// REQUIRES: `type` is float16, bfloat16, float32 or float64.
ValueId AddFloatScalar(Model& model, NodeId node, absl::string_view suffix, float value, DType type);
// The elements of a constant float32 tensor whose data is in the file itself; nothing for any other value.
std::optional<std::vector<float>> ConstantFloats(const Model& model, ValueId value);
// A unique name for something that belongs to the node: "<its first output>_<suffix>".
std::string NameFor(Model& model, NodeId node, absl::string_view suffix);
// Makes `value` the node's input `port`, with absent ones before it where the node has fewer.
void SetOrAppendInput(Model& model, NodeId node, size_t port, ValueId value);
// Inserts a node with one output right before / after `node`; both are named by NameFor. Returns the output.
ValueId InsertBefore(Model& model, NodeId node, absl::string_view op_type, std::vector<ValueId> inputs);
ValueId InsertBehind(Model& model, NodeId node, absl::string_view op_type, std::vector<ValueId> inputs);
// Lets `replacement`, computed from `value`, take over its name, its graph outputs and all its other readers.
void PutBehind(Model& model, ValueId value, ValueId replacement);

}  // namespace amp

#endif  // AMP_IR_OPSET_OPSET_STEPS_H_
