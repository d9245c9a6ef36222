// Operators that move elements and do no arithmetic: their gradient moves back.
#include <algorithm>
#include <numeric>

#include "ir/graph/constant.h"
#include "passes/train/gradient/gradient_rule.h"

namespace amp {
namespace {

constexpr int64_t kLargestBlock = 1 << 20;

// Reshape, Flatten, Squeeze, Unsqueeze: the same elements in the same order.
absl::Status Reshaped(Backward& node) {
  node.Give(0, ReshapeLike(node.Gradient(), node.InputId(0)));
  return absl::OkStatus();
}

absl::Status Identity(Backward& node) {
  node.Give(0, node.Gradient());
  return absl::OkStatus();
}

// Without `perm` the axes are reversed, which is its own reverse.
absl::Status OfTranspose(Backward& node) {
  const std::optional<Axes> permutation = node.Ints("perm");
  if (!permutation.has_value()) {
    node.Give(0, node.write().Op("Transpose", {node.Gradient()}));
    return absl::OkStatus();
  }
  Axes inverse(permutation->size()), sorted = *permutation;
  std::iota(inverse.begin(), inverse.end(), 0);
  std::sort(sorted.begin(), sorted.end());
  if (sorted != inverse) return Backward::Refuse("attribute perm: expected every axis once");
  for (size_t i = 0; i < permutation->size(); ++i) {
    inverse[static_cast<size_t>((*permutation)[i])] = static_cast<int64_t>(i);
  }
  node.Give(0, Transpose(node.Gradient(), inverse));
  return absl::OkStatus();
}

absl::Status OfExpand(Backward& node) {
  node.GiveBroadcast(0, node.Gradient());
  return absl::OkStatus();
}

// How many elements of each operand are along the axis, as a tensor of rank 1.
Term SizesAlong(Backward& node, int64_t axis) {
  std::vector<Term> sizes;
  Axes known;
  for (size_t port = 0; port < node.num_inputs(); ++port) {
    const int64_t dim = node.write().KnownDim(node.InputId(port), axis);
    if (dim != kUnknownDim) known.push_back(dim);
  }
  if (known.size() == node.num_inputs()) return node.write().Integers(known);
  sizes.reserve(node.num_inputs());
  for (size_t port = 0; port < node.num_inputs(); ++port) {
    sizes.push_back(node.write().DimOf(node.InputId(port), axis));
  }
  return Concat(sizes, 0);
}

absl::Status OfConcat(Backward& node) {
  const int64_t axis = node.Int("axis", 0);
  if (node.num_inputs() == 1) return Identity(node);
  const std::vector<Term> parts =
      node.write().OpMany("Split", {node.Gradient(), SizesAlong(node, axis)}, node.num_inputs(), {{"axis", axis}});
  for (size_t port = 0; port < parts.size(); ++port) node.Give(port, parts[port]);
  return absl::OkStatus();
}

// A part that the loss does not depend on has a gradient of zeros.
absl::Status OfSplit(Backward& node) {
  std::vector<Term> parts;
  for (size_t port = 0; port < node.node().outputs.size(); ++port) {
    if (node.OutputId(port) == kNone) return Backward::Refuse("all of its outputs have to be there");
    const Term& g = node.Gradient(port);
    parts.push_back(g.IsNone() ? node.write().ZerosLike(node.OutputId(port)) : g);
  }
  node.Give(0, Concat(parts, node.Int("axis", 0)));
  return absl::OkStatus();
}

// [d0, d1] repeated is [r0, d0, r1, d1]: the sum over the axes of repeats.
absl::Status OfTile(Backward& node) {
  const auto rank = node.Rank(node.InputId(0));
  if (!rank.has_value()) return Backward::Refuse("the rank of its operand has to be known");
  TermWriter& write = node.write();
  const Term pairs = Concat({Unsqueeze(node.Input(1), {1}), Unsqueeze(write.ShapeOf(node.InputId(0)), {1})}, 1);
  Axes repeats;
  for (int64_t axis = 0; axis < *rank; ++axis) repeats.push_back(2 * axis);
  const Term apart = Reshape(node.Gradient(), Reshape(pairs, write.Integers({-1})));
  node.Give(0, Sum(apart, repeats, KeepDims::kNo));
  return absl::OkStatus();
}

absl::Status SpaceToDepth(Backward& node) {
  const int64_t block = node.Int("blocksize", 1);
  if (block < 1 || block > kLargestBlock) return Backward::Refuse("attribute blocksize is out of range");
  node.Give(0, node.write().Op("DepthToSpace", {node.Gradient()},
                               {{"blocksize", node.Int("blocksize", 1)}, {"mode", std::string("DCR")}}));
  return absl::OkStatus();
}

// With mode CRD a block's place is behind the channel instead of before it.
absl::Status DepthToSpace(Backward& node) {
  const int64_t block = node.Int("blocksize", 1);
  if (block < 1 || block > kLargestBlock) return Backward::Refuse("attribute blocksize is out of range");
  TermWriter& write = node.write();
  Term gradient = write.Op("SpaceToDepth", {node.Gradient()}, {{"blocksize", block}});
  if (node.String("mode", "DCR") == "CRD") {
    const ValueId x = node.InputId(0);
    const Term blocks = write.Integers({block * block}), samples = write.DimOf(x, 0);
    const Term space = Slice(write.ShapeOf(x), {2}, {4}, {0});
    const Term apart = Reshape(gradient, Concat({samples, blocks, write.Integers({-1}), space}, 0));
    gradient = ReshapeLike(Transpose(apart, {0, 2, 1, 3, 4}), x);
  }
  node.Give(0, gradient);
  return absl::OkStatus();
}

absl::Status Trilu(Backward& node) {
  std::vector<Term> operands = {node.Gradient()};
  if (node.HasInput(1)) operands.push_back(node.Input(1));
  node.Give(0, node.write().Op("Trilu", operands, {{"upper", node.Int("upper", 1)}}));
  return absl::OkStatus();
}

// Outside of training it does nothing; inside, what was kept was divided by the share that is.
absl::Status Dropout(Backward& node) {
  const bool is_absent = !node.HasInput(2);
  const auto trains = ScalarConstant(node.model(), node.InputId(2));
  if (is_absent || trains == 0) return Identity(node);
  if (node.OutputId(1) == kNone) return Backward::Refuse("a Dropout that trains has to have its output of the mask");
  TermWriter& write = node.write();
  const Term& g = node.Gradient();
  const Term ratio = node.HasInput(1) ? Cast(node.Input(1), g.dtype()) : write.Number(0.5, g.dtype());
  const Term kept = Where(node.Output(1), g / (1 - ratio), 0);
  node.Give(0, trains.has_value() ? kept : Where(node.Input(2), kept, g));
  return absl::OkStatus();
}

constexpr GradientRule kRules[] = {
    {"Concat", OfConcat},
    {"DepthToSpace", DepthToSpace},
    {"Dropout", Dropout, PortsFrom(1)},
    {"Expand", OfExpand, Port(1)},
    {"Flatten", Reshaped},
    {"Identity", Identity},
    {"Reshape", Reshaped, Port(1)},
    {"SpaceToDepth", SpaceToDepth},
    {"Split", OfSplit, Port(1), AllPorts()},
    {"Squeeze", Reshaped, Port(1)},
    {"Tile", OfTile, Port(1)},
    {"Transpose", OfTranspose},
    {"Trilu", Trilu, Port(1)},
    {"Unsqueeze", Reshaped, Port(1)},
};

}  // namespace

absl::Span<const GradientRule> ShapeRules() { return kRules; }

}  // namespace amp
