// Facts about a node's operator and its types: the roles of the operator (ir/schema/operator_table.h) together with the
// node's attributes and ports.
//
// The type of some outputs is chosen by an attribute instead of an input; painting such an output means editing the
// attribute. Everything else about types comes from ir/schema/schema.h.
#ifndef AMP_IR_OPERATORS_OPERATOR_FACTS_H_
#define AMP_IR_OPERATORS_OPERATOR_FACTS_H_

#include <optional>
#include <string>
#include <vector>

#include "ir/base/reason.h"
#include "ir/graph/graph.h"

namespace amp {

// Makes the type attributes of `node` say what its output values' types (Value::dtype) say now: Cast.to,
// ConstantOfShape.value, EyeLike.dtype, Optional.type and so on. Attention keeps its softmax in float32. No effect on
// other operators. REQUIRES: a scalar held by a type attribute fits the new type (the constants guard sees to it).
void SyncTypeAttributes(Model& model, NodeId node);

// The attributes of `node` that a change of its type may edit: those of SyncTypeAttributes, and a Constant's value.
std::vector<std::string> AttributesThatTypesEdit(const Node& node);

// Whether the node still has what chooses its type after such an edit: a Constant one value and no other, a fill one
// element, an Optional a type or an input, all others the attributes that they cannot do without.
bool ChoosesItsType(const Node& node);

// The lowest opset whose Cast takes and gives the low type, and says so to inference.
int FirstOpsetWithCasts(DType low);

// Why a Cast to or from the low type in the main graph would not be one; none when it would. Without casts nothing can
// change its type.
Reason ObstacleToCasts(const Model& model, DType low);

// Cast or CastLike of ai.onnx: its output type is free, whatever its input's is.
bool IsCast(const Node& node);

// A cast that means nothing but "this value in that type", so that it may be folded, recorded and put back: a Cast (a
// CastLike reads a second value), no call of a function of that name, without graphs, with one input and one output,
// both there. Attributes for types that no rewrite makes (saturate, round_mode of 8 bits) may be there.
bool IsPlainCast(const Model& model, NodeId id);

// Operators on sequences and optionals: container and element are typed by different variables, but what goes in and
// what comes out hold one element type.
bool KeepsElementType(const Node& node);

// Whether the port's elements make no difference to the results, only their shape does, nor does its type: Shape, Size,
// and EyeLike and its kind where an attribute says the result's type.
bool ReadsShapeAlone(const Node& node, size_t port);

// Whether every element of the results is one of an operand, bit by bit, or a fixed number as zero, so that nothing is
// rounded: moves, choices, Resize of the nearest elements, Dropout that is known not to drop.
bool CopiesElements(const Model& model, NodeId id);

// Losses: only graphs that train hold one.
bool IsLoss(const Node& node);

// Losses and operators that draw random numbers or keep state: never converted by force.
bool IsLossOrStateful(const Node& node);

// Softmax and its logarithm: what ends a classifier.
bool IsSoftmax(const Node& node);

// MatMul, Gemm, Conv, ConvTranspose, LSTM, GRU, RNN, Attention and com.microsoft's fused forms of them: where 16 bits
// pay, counted in reports.
bool IsHeavy(const Node& node);

// The lowest ai.onnx opset from which on the operator keeps its statistics in a type of their own, where that differs
// from what `node`'s schema does (BatchNormalization: 15); 0 for all others.
int OpsetWithSeparateStatistics(const Node& node);

// BatchNormalization where it does not train: scale, shift, mean and variance are operands. The schema gives them types
// of their own from opset 15 on; importers of models want the type of the input.
bool TakesStatistics(const Node& node);

// A ConstantOfShape whose value has not exactly one element: ONNX's checker lets it pass, but it means nothing.
bool HasMalformedFill(const Node& node);

// A float32 operand that an attribute holds: ConstantOfShape.value, Pad.value. Nothing for others.
std::optional<float> GetAttributeOperand(const Node& node);

}  // namespace amp

#endif  // AMP_IR_OPERATORS_OPERATOR_FACTS_H_
