#include "ir/schema/operator_table.h"

#include <utility>

#include "absl/container/flat_hash_map.h"

namespace amp {
namespace {

using Absent = TypeAttribute::Absent;
using Form = TypeAttribute::Form;

constexpr Roles kMoves = Role::kMoves;
constexpr Roles kRearranges = Role::kMoves | Role::kRearranges;
constexpr Roles kCopies = Role::kCopies;
constexpr Roles kPointwise = Role::kPointwise;
constexpr Roles kChooses = Role::kPointwise | Role::kBounds;
constexpr Roles kContains = Role::kMoves | Role::kContains;
constexpr Roles kHeavy = Role::kHeavy;
constexpr Roles kRandom = Role::kRandom;

constexpr Interval kFromZero = {.low = 0};
constexpr Interval kUpToOne = {0, 1};
constexpr Interval kAroundZero = {-1, 1};

constexpr absl::string_view kContrib = "com.microsoft";

// The row of an operator that adds the inputs `ports` to what it makes of the others.
template <typename... Ports>
constexpr Operator Adds(Operator row, Ports... ports) {
  row.addends = (... | (1u << ports));
  return row;
}

// The row of an operator that computes, unless the attribute is that.
constexpr Operator CopiesWhere(absl::string_view attribute, absl::string_view value, Operator row) {
  row.copies_where = {attribute, value};
  return row;
}

constexpr Operator kTable[] = {
    // ---- moves
    {"", "CenterCropPad", kMoves},
    {"", "Compress", kMoves},
    {"", "Concat", kMoves | Role::kJoins},
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
    CopiesWhere("reduction", "none", {"", "ScatterElements", kMoves}),
    CopiesWhere("reduction", "none", {"", "ScatterND", kMoves}),
    {"", "Slice", kMoves},
    {"", "SpaceToDepth", kRearranges},
    {"", "Split", kMoves},
    {"", "Squeeze", kRearranges},
    {"", "Tile", kMoves},
    {"", "Transpose", kRearranges},
    {"", "Trilu", kMoves},
    {"", "Unsqueeze", kRearranges},
    // ---- copies
    {"", "BitCast", kCopies},
    CopiesWhere("mode", "nearest", {"", "GridSample", kCopies | Role::kSamplesAt}),
    {"", "Hardmax", kCopies},
    {"", "MaxUnpool", kCopies},
    CopiesWhere("mode", "nearest", {"", "Resize", kCopies}),
    {"", "Scatter", kCopies},
    {"", "TensorScatter", kCopies},
    {"", "Unique", kCopies},
    CopiesWhere("mode", "nearest", {"", "Upsample", kCopies}),
    {"", "Dropout", Role::kDrops},
    // ---- sequences and optionals
    {"", "ConcatFromSequence", kContains},
    {"", "Optional", kContains, {Form::kTypeProto, "type"}},
    {"", "OptionalGetElement", kContains},
    {"", "SequenceAt", kContains},
    {"", "SequenceConstruct", kContains},
    {"", "SequenceEmpty", kCopies, {Form::kNumber, "dtype", Absent::kFloat32}},
    {"", "SequenceErase", kContains},
    {"", "SequenceInsert", kContains},
    {"", "SplitToSequence", kContains},
    // ---- element by element
    {"", "Abs", kPointwise | Role::kNegates, {}, {}, {}, kFromZero},
    {"", "Add", kPointwise | Role::kAdds},
    {"", "Atanh", kPointwise | Role::kEndsAtOne | Role::kOdd},
    {"", "Clip", kChooses | Role::kClips},
    {"", "Div", kPointwise | Role::kDivides},
    {"", "Exp", kPointwise | Role::kExponential, {}, {}, {}, kFromZero, 16},
    {"", "Log", kPointwise | Role::kLogarithm},
    {"", "Max", kChooses | Role::kLargest},
    {"", "Min", kChooses | Role::kLeast},
    {"", "Mul", kPointwise | Role::kMultiplies},
    {"", "Neg", kPointwise | Role::kNegates},
    {"", "Pow", kPointwise | Role::kPowers},
    {"", "Reciprocal", kPointwise | Role::kInverts},
    {"", "Relu", kChooses, {}, {}, {}, kFromZero},
    {"", "Sqrt", kPointwise | Role::kRoots, {}, {}, {}, kFromZero},
    {"", "Sub", kPointwise | Role::kAdds | Role::kSubtracts},
    {"", "Sum", kPointwise | Role::kAdds},
    {"", "Where", kChooses | Role::kCopies},
    {"", "Erf", kPointwise | Role::kOdd, {}, {}, {}, kAroundZero, 4},
    {"", "HardSigmoid", kPointwise, {}, {}, {}, kUpToOne},
    {"", "Sigmoid", kPointwise, {}, {}, {}, kUpToOne, 8},
    {"", "Softplus", kPointwise, {}, {}, {}, kFromZero, 8},
    {"", "Softsign", kPointwise | Role::kOdd, {}, {}, {}, kAroundZero},
    {"", "Tanh", kPointwise | Role::kOdd, {}, {}, {}, kAroundZero, 4},
    {"", "Ceil", kPointwise | Role::kRounds},
    {"", "Floor", kPointwise | Role::kRounds},
    {"", "Mod", kPointwise | Role::kRounds},
    {"", "Round", kPointwise | Role::kRounds},
    {"", "Cos", kPointwise | Role::kPeriodic, {}, {}, {}, kAroundZero},
    {"", "Sin", kPointwise | Role::kPeriodic | Role::kOdd, {}, {}, {}, kAroundZero},
    {"", "Tan", kPointwise | Role::kPeriodic | Role::kOdd},
    Adds({kContrib, "BiasAdd", {}}, 1),
    Adds({kContrib, "BiasDropout", {}}, 1),
    Adds({kContrib, "BiasGelu", {}}, 1),
    Adds({kContrib, "BiasSplitGelu", {}}, 1),
    Adds({kContrib, "BitmaskBiasDropout", {}}, 1),
    Adds({kContrib, "FastGelu", {}}, 1),
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
    {"", "TopK", Role::kFindsIndex | Role::kRanks | Role::kCopies},
    // ---- reductions
    {"", "AveragePool", Role::kSums},
    {"", "GlobalAveragePool", Role::kSums | Role::kPoolsGlobally},
    {"", "ReduceL1", Role::kSums, {}, {}, {}, kFromZero},
    {"", "ReduceL2", Role::kSums | Role::kSquares | Role::kLength, {}, {}, {}, kFromZero},
    {"", "ReduceLogSum", Role::kSums | Role::kLogarithm},
    {"", "ReduceMean", Role::kSums},
    {"", "ReduceSum", Role::kSums},
    {"", "ReduceSumSquare", Role::kSums | Role::kSquares, {}, {}, {}, kFromZero},
    {"", "CumSum", Role::kRunningSum},
    {"", "ReduceMax", Role::kTakesMaximum},
    // ---- matrix work
    {"", "Attention", kHeavy, {Form::kSoftmaxPrecision, "softmax_precision"}},
    Adds({"", "Conv", kHeavy | Role::kProducts | Role::kConvolution}, 2),
    Adds({"", "ConvTranspose", kHeavy | Role::kConvolution | Role::kSwapsChannels}, 2),
    Adds({"", "DeformConv", {}}, 3),
    {"", "Einsum", Role::kProducts | Role::kReadsEquation},
    Adds({"", "GRU", kHeavy}, 3),
    Adds({"", "Gemm", kHeavy | Role::kProducts | Role::kMatrixProduct}, 2),
    Adds({"", "LSTM", kHeavy}, 3),
    {"", "MatMul", kHeavy | Role::kProducts | Role::kMatrixProduct},
    Adds({"", "RNN", kHeavy}, 3),
    // ---- the same in ONNX Runtime: fused convolutions, products and attention
    Adds({kContrib, "Attention", kHeavy}, 2),
    Adds({kContrib, "ConvTransposeWithDynamicPads", kHeavy}, 3),
    Adds({kContrib, "DecoderAttention", kHeavy}, 4),
    Adds({kContrib, "DecoderMaskedMultiHeadAttention", kHeavy}, 13),
    Adds({kContrib, "DecoderMaskedSelfAttention", kHeavy}, 2),
    Adds({kContrib, "FusedConv", kHeavy}, 2, 3),
    Adds({kContrib, "FusedGemm", kHeavy}, 2),
    {kContrib, "FusedMatMul", kHeavy},
    {kContrib, "FusedMatMulActivation", kHeavy},
    Adds({kContrib, "GemmFastGelu", kHeavy}, 2),
    {kContrib, "GroupQueryAttention", kHeavy},
    {kContrib, "LinearAttention", kHeavy},
    Adds({kContrib, "LongformerAttention", kHeavy}, 2, 5),
    {kContrib, "MatMulBnb4", kHeavy},
    Adds({kContrib, "MatMulNBits", kHeavy}, 5),
    Adds({kContrib, "MoE", kHeavy}, 3, 5, 7),
    Adds({kContrib, "MultiHeadAttention", kHeavy}, 3),
    Adds({kContrib, "NhwcConv", kHeavy}, 2),
    Adds({kContrib, "NhwcFusedConv", kHeavy}, 2, 3),
    Adds({kContrib, "PackedAttention", kHeavy}, 2),
    Adds({kContrib, "PackedMultiHeadAttention", kHeavy}, 3),
    {kContrib, "PagedAttention", kHeavy},
    {kContrib, "SparseAttention", kHeavy},
    {kContrib, "TransposeMatMul", kHeavy},
    // ---- normalisation, classifiers, training
    Adds({"", "BatchNormalization", Role::kNormalises | Role::kTracksStatistics, {}, {}, /*separate_statistics=*/15},
         2),
    Adds({"", "GroupNormalization", Role::kNormalises}, 2),
    Adds({"", "InstanceNormalization", Role::kNormalises}, 2),
    Adds({"", "LayerNormalization", Role::kNormalises}, 2),
    {"", "LpNormalization", Role::kNormalises | Role::kDividesByLength},
    {"", "MeanVarianceNormalization", Role::kNormalises},
    {"", "RMSNormalization", Role::kNormalises},
    {kContrib, "GatedRMSNorm", Role::kNormalises},
    Adds({kContrib, "GroupNorm", Role::kNormalises}, 2),
    Adds({kContrib, "SkipGroupNorm", Role::kNormalises}, 2, 4),
    Adds({kContrib, "SkipLayerNormalization", Role::kNormalises}, 3, 4),
    Adds({kContrib, "SkipSimplifiedLayerNormalization", Role::kNormalises}, 3),
    {"", "LogSoftmax", Role::kSoftmax, {}, {}, {}, {.high = 0}},
    {"", "Softmax", Role::kSoftmax, {}, {}, {}, kUpToOne, 8},
    {"", "NegativeLogLikelihoodLoss", Role::kLoss},
    {"", "SoftmaxCrossEntropyLoss", Role::kLoss},
    // ---- sources
    {"", "Constant", Role::kConstant, {Form::kTensor, "value"}},
    {"", "ConstantOfShape", kCopies, {Form::kFill, "value"}},
    {"",
     "EyeLike",
     Role::kSelects | Role::kShapedLike | Role::kCopies,
     {Form::kNumber, "dtype", Absent::kTypeOfFirstInput}},
    {"", "OneHot", Role::kSelects | Role::kCopies},
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
