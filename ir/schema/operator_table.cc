#include "ir/schema/operator_table.h"

#include <utility>

#include "absl/container/flat_hash_map.h"

namespace amp {
namespace {

using Absent = TypeAttribute::Absent;
using Form = TypeAttribute::Form;

constexpr Roles kMoves = Role::kMoves;
constexpr Roles kRearranges = Role::kMoves | Role::kRearranges;
constexpr Roles kPointwise = Role::kPointwise;
constexpr Roles kChooses = Role::kPointwise | Role::kBounds;
constexpr Roles kContains = Role::kMoves | Role::kContains;
constexpr Roles kHeavy = Role::kHeavy;
constexpr Roles kRandom = Role::kRandom;

constexpr absl::string_view kContrib = "com.microsoft";

constexpr Operator kTable[] = {
    // ---- moves
    {"", "CenterCropPad", kMoves},
    {"", "Compress", kMoves},
    {"", "Concat", kMoves},
    {"", "DepthToSpace", kRearranges},
    {"", "Expand", kMoves},
    {"", "Flatten", kRearranges},
    {"", "Gather", kMoves | Role::kGathers},
    {"", "GatherElements", kMoves},
    {"", "GatherND", kMoves},
    {"", "Identity", kRearranges | Role::kPointwise},
    {"", "Pad", kMoves | Role::kPads},
    {"", "Reshape", kRearranges},
    {"", "ReverseSequence", kRearranges},
    {"", "ScatterElements", kMoves},
    {"", "ScatterND", kMoves},
    {"", "Slice", kMoves},
    {"", "SpaceToDepth", kRearranges},
    {"", "Split", kMoves},
    {"", "Squeeze", kRearranges},
    {"", "Tile", kMoves},
    {"", "Transpose", kRearranges},
    {"", "Trilu", kMoves},
    {"", "Unsqueeze", kRearranges},
    // ---- sequences and optionals
    {"", "ConcatFromSequence", kContains},
    {"", "Optional", kContains, {Form::kTypeProto, "type"}},
    {"", "OptionalGetElement", kContains},
    {"", "SequenceAt", kContains},
    {"", "SequenceConstruct", kContains},
    {"", "SequenceEmpty", {}, {Form::kNumber, "dtype", Absent::kFloat32}},
    {"", "SequenceErase", kContains},
    {"", "SequenceInsert", kContains},
    {"", "SplitToSequence", kContains},
    // ---- element by element
    {"", "Abs", kPointwise | Role::kNegates},
    {"", "Add", kPointwise | Role::kAdds},
    {"", "Clip", kChooses | Role::kClips},
    {"", "Div", kPointwise | Role::kDivides},
    {"", "Exp", kPointwise | Role::kExponential},
    {"", "Log", kPointwise | Role::kLogarithm},
    {"", "Max", kChooses},
    {"", "Min", kChooses},
    {"", "Mul", kPointwise | Role::kMultiplies},
    {"", "Neg", kPointwise | Role::kNegates},
    {"", "Pow", kPointwise | Role::kPowers},
    {"", "Reciprocal", kPointwise | Role::kInverts},
    {"", "Relu", kChooses},
    {"", "Sqrt", kPointwise | Role::kRoots},
    {"", "Sub", kPointwise | Role::kAdds | Role::kSubtracts},
    {"", "Sum", kPointwise | Role::kAdds},
    {"", "Where", kChooses},
    {"", "Ceil", kPointwise | Role::kRounds},
    {"", "Floor", kPointwise | Role::kRounds},
    {"", "Mod", kPointwise | Role::kRounds},
    {"", "Round", kPointwise | Role::kRounds},
    {"", "Cos", kPointwise | Role::kPeriodic},
    {"", "Sin", kPointwise | Role::kPeriodic},
    {"", "Tan", kPointwise | Role::kPeriodic},
    // ---- changes of type
    {"", "Cast", Role::kCasts | Role::kPlainCast, {Form::kNumber, "to", Absent::kFloat32}},
    {"", "CastLike", Role::kCasts},
    {"", "DequantizeLinear", {}, {Form::kNumber, "output_dtype", Absent::kTypeOfSecondInput}},
    // ---- decisions
    {"", "Equal", kPointwise | Role::kCompares},
    {"", "Greater", kPointwise | Role::kCompares},
    {"", "GreaterOrEqual", kPointwise | Role::kCompares},
    {"", "Less", kPointwise | Role::kCompares},
    {"", "LessOrEqual", kPointwise | Role::kCompares},
    {"", "ArgMax", Role::kFindsIndex},
    {"", "ArgMin", Role::kFindsIndex},
    {"", "TopK", Role::kFindsIndex | Role::kRanks},
    // ---- reductions
    {"", "AveragePool", Role::kSums},
    {"", "GlobalAveragePool", Role::kSums | Role::kPoolsGlobally},
    {"", "ReduceL1", Role::kSums},
    {"", "ReduceL2", Role::kSums | Role::kSquares},
    {"", "ReduceLogSum", Role::kSums},
    {"", "ReduceMean", Role::kSums},
    {"", "ReduceSum", Role::kSums},
    {"", "ReduceSumSquare", Role::kSums | Role::kSquares},
    {"", "CumSum", Role::kRunningSum},
    {"", "ReduceMax", Role::kTakesMaximum},
    // ---- matrix work
    {"", "Attention", kHeavy, {Form::kSoftmaxPrecision, "softmax_precision"}},
    {"", "Conv", kHeavy | Role::kProducts | Role::kConvolution},
    {"", "ConvTranspose", kHeavy | Role::kConvolution | Role::kSwapsChannels},
    {"", "Einsum", Role::kProducts | Role::kReadsEquation},
    {"", "GRU", kHeavy},
    {"", "Gemm", kHeavy | Role::kProducts | Role::kMatrixProduct},
    {"", "LSTM", kHeavy},
    {"", "MatMul", kHeavy | Role::kProducts | Role::kMatrixProduct},
    {"", "RNN", kHeavy},
    // ---- the same in ONNX Runtime: fused convolutions, products and attention
    {kContrib, "Attention", kHeavy},
    {kContrib, "ConvTransposeWithDynamicPads", kHeavy},
    {kContrib, "DecoderAttention", kHeavy},
    {kContrib, "DecoderMaskedMultiHeadAttention", kHeavy},
    {kContrib, "DecoderMaskedSelfAttention", kHeavy},
    {kContrib, "FusedConv", kHeavy},
    {kContrib, "FusedGemm", kHeavy},
    {kContrib, "FusedMatMul", kHeavy},
    {kContrib, "FusedMatMulActivation", kHeavy},
    {kContrib, "GemmFastGelu", kHeavy},
    {kContrib, "GroupQueryAttention", kHeavy},
    {kContrib, "LinearAttention", kHeavy},
    {kContrib, "LongformerAttention", kHeavy},
    {kContrib, "MatMulBnb4", kHeavy},
    {kContrib, "MatMulNBits", kHeavy},
    {kContrib, "MoE", kHeavy},
    {kContrib, "MultiHeadAttention", kHeavy},
    {kContrib, "NhwcConv", kHeavy},
    {kContrib, "NhwcFusedConv", kHeavy},
    {kContrib, "PackedAttention", kHeavy},
    {kContrib, "PackedMultiHeadAttention", kHeavy},
    {kContrib, "PagedAttention", kHeavy},
    {kContrib, "SparseAttention", kHeavy},
    {kContrib, "TransposeMatMul", kHeavy},
    // ---- normalisation, classifiers, training
    {"", "BatchNormalization", Role::kTracksStatistics, {}, {}, /*separate_statistics=*/15},
    {"", "LogSoftmax", Role::kSoftmax},
    {"", "Softmax", Role::kSoftmax},
    {"", "NegativeLogLikelihoodLoss", Role::kLoss},
    {"", "SoftmaxCrossEntropyLoss", Role::kLoss},
    // ---- sources
    {"", "Constant", Role::kConstant, {Form::kTensor, "value"}},
    {"", "ConstantOfShape", {}, {Form::kFill, "value"}},
    {"", "EyeLike", Role::kSelects | Role::kShapedLike, {Form::kNumber, "dtype", Absent::kTypeOfFirstInput}},
    {"", "OneHot", Role::kSelects},
    {"", "Range", Role::kCounts},
    {"", "Shape", Role::kReadsShape},
    {"", "Size", Role::kReadsShape | Role::kCountsElements},
    {"", "BlackmanWindow", {}, {Form::kNumber, "output_datatype", Absent::kFloat32}},
    {"", "HammingWindow", {}, {Form::kNumber, "output_datatype", Absent::kFloat32}},
    {"", "HannWindow", {}, {Form::kNumber, "output_datatype", Absent::kFloat32}},
    {"", "MelWeightMatrix", {}, {Form::kNumber, "output_datatype", Absent::kFloat32}},
    {"", "Bernoulli", kRandom, {Form::kNumber, "dtype", Absent::kTypeOfFirstInput}},
    {"", "Multinomial", kRandom},
    {"", "RandomNormal", kRandom, {Form::kNumber, "dtype", Absent::kFloat32}},
    {"", "RandomNormalLike", kRandom | Role::kShapedLike, {Form::kNumber, "dtype", Absent::kTypeOfFirstInput}},
    {"", "RandomUniform", kRandom, {Form::kNumber, "dtype", Absent::kFloat32}},
    {"", "RandomUniformLike", kRandom | Role::kShapedLike, {Form::kNumber, "dtype", Absent::kTypeOfFirstInput}},
    // ---- control flow
    {"", "If", {}, {}, ControlFlowKind::kIf},
    {"", "Loop", {}, {}, ControlFlowKind::kLoop},
    {"", "Scan", {}, {}, ControlFlowKind::kScan},
    {"", "SequenceMap", {}, {}, ControlFlowKind::kSequenceMap},
};

using Name = std::pair<absl::string_view, absl::string_view>;

const absl::flat_hash_map<Name, const Operator*>& ByName() {
  static const auto* const by_name = [] {
    auto* made = new absl::flat_hash_map<Name, const Operator*>;
    for (const Operator& row : kTable) made->emplace(Name(row.domain, row.name), &row);
    return made;
  }();
  return *by_name;
}

}  // namespace

const Operator& FindOperator(absl::string_view domain, absl::string_view name) {
  static constexpr Operator kWithoutRow;
  const auto it = ByName().find(Name(domain, name));
  return it == ByName().end() ? kWithoutRow : *it->second;
}

absl::Span<const Operator> OperatorTable() { return kTable; }

}  // namespace amp
