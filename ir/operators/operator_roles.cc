#include "ir/operators/operator_roles.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "ir/base/saturated.h"
#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"

namespace amp {
namespace {

constexpr Roles Only(Role role) { return role | role; }

struct Row {
  const char* op_type;
  Roles roles;
};

constexpr Roles kPointwise = Only(Role::kPointwise);
constexpr Roles kMoves = Only(Role::kMoves);
constexpr Roles kChooses = Role::kPointwise | Role::kBounds;

constexpr Row kRows[] = {
    // ---- moves
    {"CenterCropPad", kMoves},
    {"Compress", kMoves},
    {"Concat", kMoves},
    {"ConcatFromSequence", kMoves},
    {"DepthToSpace", kMoves},
    {"Expand", kMoves},
    {"Flatten", kMoves},
    {"Gather", kMoves},
    {"GatherElements", kMoves},
    {"GatherND", kMoves},
    {"Identity", kMoves | Role::kPointwise},
    {"Pad", kMoves},
    {"Reshape", kMoves},
    {"ReverseSequence", kMoves},
    {"Optional", kMoves},
    {"OptionalGetElement", kMoves},
    {"ScatterElements", kMoves},
    {"ScatterND", kMoves},
    {"SequenceAt", kMoves},
    {"SequenceConstruct", kMoves},
    {"SequenceErase", kMoves},
    {"SequenceInsert", kMoves},
    {"Slice", kMoves},
    {"SpaceToDepth", kMoves},
    {"Split", kMoves},
    {"SplitToSequence", kMoves},
    {"Squeeze", kMoves},
    {"Tile", kMoves},
    {"Transpose", kMoves},
    {"Trilu", kMoves},
    {"Unsqueeze", kMoves},
    // ---- element by element
    {"Abs", kPointwise | Role::kNegates},
    {"Add", kPointwise | Role::kAdds},
    {"Clip", kChooses},
    {"Div", kPointwise | Role::kDivides},
    {"Exp", kPointwise | Role::kExponential},
    {"Log", kPointwise | Role::kLogarithm},
    {"Max", kChooses},
    {"Min", kChooses},
    {"Mul", kPointwise | Role::kMultiplies},
    {"Neg", kPointwise | Role::kNegates},
    {"Pow", kPointwise | Role::kPowers},
    {"Reciprocal", kPointwise | Role::kInverts},
    {"Relu", kChooses},
    {"Sqrt", kPointwise | Role::kRoots},
    {"Sub", kPointwise | Role::kAdds | Role::kSubtracts},
    {"Sum", kPointwise | Role::kAdds},
    {"Where", kChooses},
    {"Ceil", kPointwise | Role::kRounds},
    {"Floor", kPointwise | Role::kRounds},
    {"Mod", kPointwise | Role::kRounds},
    {"Round", kPointwise | Role::kRounds},
    {"Cos", kPointwise | Role::kPeriodic},
    {"Sin", kPointwise | Role::kPeriodic},
    {"Tan", kPointwise | Role::kPeriodic},
    // ---- decisions
    {"Equal", kPointwise | Role::kCompares},
    {"Greater", kPointwise | Role::kCompares},
    {"GreaterOrEqual", kPointwise | Role::kCompares},
    {"Less", kPointwise | Role::kCompares},
    {"LessOrEqual", kPointwise | Role::kCompares},
    {"ArgMax", Only(Role::kFindsIndex)},
    {"ArgMin", Only(Role::kFindsIndex)},
    {"TopK", Only(Role::kFindsIndex)},
    // ---- sums
    {"AveragePool", Only(Role::kSums)},
    {"GlobalAveragePool", Only(Role::kSums)},
    {"ReduceL1", Only(Role::kSums)},
    {"ReduceL2", Role::kSums | Role::kSquares},
    {"ReduceLogSum", Only(Role::kSums)},
    {"ReduceMean", Only(Role::kSums)},
    {"ReduceSum", Only(Role::kSums)},
    {"ReduceSumSquare", Role::kSums | Role::kSquares},
    {"CumSum", Only(Role::kRunningSum)},
    {"ReduceMax", Only(Role::kTakesMaximum)},
    {"Conv", Only(Role::kProducts)},
    {"Einsum", Only(Role::kProducts)},
    {"Gemm", Only(Role::kProducts)},
    {"MatMul", Only(Role::kProducts)},
    // ---- sources
    {"Range", Only(Role::kCounts)},
    {"EyeLike", Only(Role::kSelects)},
    {"OneHot", Only(Role::kSelects)},
    {"Shape", Only(Role::kReadsShape)},
    {"Size", Only(Role::kReadsShape)},
    {"BatchNormalization", Only(Role::kTracksStatistics)},
};

const absl::flat_hash_map<absl::string_view, Roles>& RolesByName() {
  static const auto* const roles = [] {
    auto* made = new absl::flat_hash_map<absl::string_view, Roles>;
    for (const Row& row : kRows) made->emplace(row.op_type, row.roles);
    return made;
  }();
  return *roles;
}

// Axes of a reduction, negative ones resolved; nothing when they are not known. `rank` axes when none are named.
std::optional<std::vector<int64_t>> ReducedAxes(const Model& model, const Node& node, int64_t rank) {
  std::vector<int64_t> axes = GetInts(node, "axes").value_or(std::vector<int64_t>());
  if (node.Input(1) != kNone) {
    const auto elements = ConstantElements(model, node.Input(1), rank);
    if (!elements.has_value()) return std::nullopt;
    axes.assign(elements->begin(), elements->end());
  }
  if (axes.empty() && GetInt(node, "noop_with_empty_axes", 0) == 0) {
    for (int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  for (int64_t& axis : axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
  }
  return axes;
}

int64_t Product(const std::vector<int64_t>& factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (factor < 0) return -1;
    product = SaturatedProduct(product, factor);
  }
  return product;
}

bool Is(const std::optional<double>& constant, double wanted) { return constant.has_value() && *constant == wanted; }

}  // namespace

Roles RolesOf(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (node.schema == nullptr || !node.domain().empty()) return Roles();
  const auto it = RolesByName().find(node.op_type());
  return it == RolesByName().end() ? Roles() : it->second;
}

std::vector<std::string> OperatorsWithRoles() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.op_type);
  return names;
}

ValueId SquaredValue(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  const Roles roles = RolesOf(model, id);
  if (roles.Has(Role::kSquares) && !node.inputs.empty()) return node.Input(0);
  if (node.inputs.size() != 2 || node.Input(0) == kNone) return kNone;
  if (roles.Has(Role::kMultiplies) && node.Input(0) == node.Input(1)) return node.Input(0);
  if (roles.Has(Role::kPowers) && Is(ScalarConstant(model, node.Input(1)), 2)) return node.Input(0);
  return kNone;
}

bool TakesRoot(const Model& model, NodeId id) {
  const Roles roles = RolesOf(model, id);
  if (roles.Has(Role::kRoots)) return true;
  const Node& node = model.node(id);
  if (!roles.Has(Role::kPowers) || node.inputs.size() != 2) return false;
  const auto exponent = ScalarConstant(model, node.Input(1));
  return Is(exponent, 0.5) || Is(exponent, -0.5);
}

int64_t SummedElements(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (!RolesOf(model, id).Has(Role::kSums) || node.Input(0) == kNone) return -1;
  if (const auto kernel = GetInts(node, "kernel_shape")) return Product(*kernel);
  const auto shape = ShapeOf(model, node.Input(0));
  if (!shape.has_value()) return -1;
  const auto rank = static_cast<int64_t>(shape->size());
  std::vector<int64_t> summed;
  if (node.op_type() == "GlobalAveragePool") {
    summed.assign(shape->begin() + std::min<int64_t>(2, rank), shape->end());
    return Product(summed);
  }
  const auto axes = ReducedAxes(model, node, rank);
  if (!axes.has_value()) return -1;
  for (const int64_t axis : *axes) summed.push_back((*shape)[static_cast<size_t>(axis)]);
  return Product(summed);
}

}  // namespace amp
