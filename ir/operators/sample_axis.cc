#include "ir/operators/sample_axis.h"

#include "ir/operators/reshaped_samples.h"
#include "ir/operators/sample_rules.h"

namespace amp {
namespace {

constexpr int kSoftmaxByAxis = 13;  // before, it took all dimensions from its axis on for one

FollowedNode FollowSoftmax(const Follower& f) {
  return f.model().opset("") >= kSoftmaxByAxis ? FollowAlong(f, -1) : FollowFrom(f, 1);
}

// Follows a shape: its other dimensions are the same for any number of samples.
FollowedNode FollowShape(const Follower& f) {
  if (f.Rank(0) < 0 || f.node().Has(Role::kCountsElements)) return Follower::No("reads how many samples there are");
  int64_t start = GetInt(f.node(), "start", 0), end = GetInt(f.node(), "end", f.Rank(0));
  if (start < 0) start += f.Rank(0);
  if (end < 0) end += f.Rank(0);
  const auto axis = static_cast<int64_t>(f.Axis(0)->axis);
  return axis < start || axis >= end ? FollowedNode() : Follower::No("reads how many samples there are");
}

struct Rule {
  absl::string_view name;
  FollowedNode (*follow)(const Follower&);
};

FollowedNode FollowReshape(const Follower& f) {
  if (!f.OnlyFirst()) return Follower::No(kOthers);
  return FollowReshapedSamples(f.model(), f.node(), f.samples());
}
FollowedNode FollowFlatten(const Follower& f) { return FollowFlattenedSamples(f.model(), f.node(), f.samples()); }
FollowedNode FollowExpand(const Follower& f) {
  if (!f.OnlyFirst()) return Follower::No(kOthers);
  return FollowExpandedSamples(f.model(), f.node(), f.samples());
}
FollowedNode FollowLayerNorm(const Follower& f) { return FollowFrom(f, -1); }
FollowedNode FollowSplit(const Follower& f) { return FollowAlong(f, 0); }
FollowedNode FollowTopK(const Follower& f) { return FollowAlong(f, -1); }

constexpr absl::string_view kPointwiseOperators[] = {"Abs",
                                                     "Acos",
                                                     "Acosh",
                                                     "Add",
                                                     "And",
                                                     "Asin",
                                                     "Asinh",
                                                     "Atan",
                                                     "Atanh",
                                                     "Cast",
                                                     "CastLike",
                                                     "Ceil",
                                                     "Celu",
                                                     "Clip",
                                                     "Cos",
                                                     "Cosh",
                                                     "DequantizeLinear",
                                                     "Div",
                                                     "Dropout",
                                                     "Elu",
                                                     "Equal",
                                                     "Erf",
                                                     "Exp",
                                                     "Floor",
                                                     "Gelu",
                                                     "Greater",
                                                     "GreaterOrEqual",
                                                     "HardSigmoid",
                                                     "HardSwish",
                                                     "Identity",
                                                     "IsInf",
                                                     "IsNaN",
                                                     "LeakyRelu",
                                                     "Less",
                                                     "LessOrEqual",
                                                     "Log",
                                                     "Max",
                                                     "Mean",
                                                     "Min",
                                                     "Mish",
                                                     "Mod",
                                                     "Mul",
                                                     "Neg",
                                                     "Not",
                                                     "Or",
                                                     "PRelu",
                                                     "Pow",
                                                     "QuantizeLinear",
                                                     "Reciprocal",
                                                     "Relu",
                                                     "Round",
                                                     "Selu",
                                                     "Shrink",
                                                     "Sigmoid",
                                                     "Sign",
                                                     "Sin",
                                                     "Sinh",
                                                     "Softplus",
                                                     "Softsign",
                                                     "Sqrt",
                                                     "Sub",
                                                     "Sum",
                                                     "Swish",
                                                     "Tan",
                                                     "Tanh",
                                                     "ThresholdedRelu",
                                                     "Where",
                                                     "Xor"};
constexpr absl::string_view kImageOperators[] = {"AveragePool",
                                                 "BatchNormalization",
                                                 "Conv",
                                                 "ConvTranspose",
                                                 "DepthToSpace",
                                                 "GlobalAveragePool",
                                                 "GlobalLpPool",
                                                 "GlobalMaxPool",
                                                 "GroupNormalization",
                                                 "InstanceNormalization",
                                                 "LRN",
                                                 "LpPool",
                                                 "MaxPool",
                                                 "SpaceToDepth"};
constexpr absl::string_view kReductions[] = {"ReduceL1",  "ReduceL2",       "ReduceLogSum", "ReduceLogSumExp",
                                             "ReduceMax", "ReduceMean",     "ReduceMin",    "ReduceProd",
                                             "ReduceSum", "ReduceSumSquare"};
constexpr absl::string_view kRecurrent[] = {"GRU", "LSTM", "RNN"};

constexpr Rule kRules[] = {
    {"ArgMax", FollowArgument},
    {"ArgMin", FollowArgument},
    {"Concat", FollowConcat},
    {"CumSum", FollowCumSum},
    {"Einsum", FollowEinsum},
    {"Expand", FollowExpand},
    {"Flatten", FollowFlatten},
    {"Gather", FollowGather},
    {"GatherElements", FollowGatherElements},
    {"Gemm", FollowGemm},
    {"GridSample", FollowGridSample},
    {"Hardmax", FollowSoftmax},
    {"LayerNormalization", FollowLayerNorm},
    {"LogSoftmax", FollowSoftmax},
    {"LpNormalization", FollowTopK},
    {"MatMul", FollowMatMul},
    {"MeanVarianceNormalization", FollowMoments},
    {"OneHot", FollowOneHot},
    {"Pad", FollowPad},
    {"RMSNormalization", FollowLayerNorm},
    {"Reshape", FollowReshape},
    {"Resize", FollowResize},
    {"Shape", FollowShape},
    {"Size", FollowShape},
    {"Slice", FollowSlice},
    {"Softmax", FollowSoftmax},
    {"Split", FollowSplit},
    {"Squeeze", FollowSqueeze},
    {"Tile", FollowTile},
    {"TopK", FollowTopK},
    {"Transpose", FollowTranspose},
    {"Unsqueeze", FollowUnsqueeze},
    {"Upsample", FollowResize},
};

using RuleTable = absl::flat_hash_map<absl::string_view, FollowedNode (*)(const Follower&)>;

const RuleTable& Rules() {
  static const auto* const table = [] {
    auto* made = new RuleTable();
    for (const absl::string_view name : kPointwiseOperators) (*made)[name] = FollowPointwise;
    for (const absl::string_view name : kImageOperators) (*made)[name] = FollowImages;
    for (const absl::string_view name : kReductions) (*made)[name] = FollowReduction;
    for (const absl::string_view name : kRecurrent) (*made)[name] = FollowRecurrence;
    for (const Rule& rule : kRules) (*made)[rule.name] = rule.follow;
    return made;
  }();
  return *table;
}

}  // namespace

const SampleAxis* Samples::Of(ValueId value) const {
  const auto found = value == kNone ? axes.end() : axes.find(value);
  return found == axes.end() ? nullptr : &found->second;
}

FollowedNode FollowSamples(const Model& model, NodeId id, const Samples& samples) {
  const Node& node = model.node(id);
  const bool is_known = node.schema != nullptr && node.domain().empty() && !model.IsCallOfFunction(id);
  const auto rule = is_known ? Rules().find(node.op_type()) : Rules().end();
  if (rule == Rules().end()) return {.why = Reason("may do anything with the samples")};
  return rule->second(Follower(model, id, samples));
}

}  // namespace amp
