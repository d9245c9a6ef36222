#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/operators/sample_rules.h"

namespace amp {

// Operands broadcast, from the last dimension on.
FollowedNode FollowPointwise(const Follower& f) {
  const Node& node = f.node();
  size_t rank = 0, from_end = 0;
  int64_t block = 0;
  for (size_t port = 0; port < node.inputs.size(); ++port) {
    if (node.Input(port) == kNone) continue;
    const auto shape = f.Shape(port);
    if (!shape.has_value()) return Follower::No(kUnknownShape);
    rank = std::max(rank, shape->size());
    const SampleAxis* axis = f.Axis(port);
    if (axis == nullptr) continue;
    const size_t place = shape->size() - axis->axis;
    if (block != 0 && (place != from_end || axis->block != block)) {
      return Follower::No("reads operands whose samples lie along different axes");
    }
    from_end = place;
    block = axis->block;
  }
  for (size_t port = 0; port < node.inputs.size(); ++port) {
    if (node.Input(port) == kNone || f.Axis(port) != nullptr) continue;
    const Dims shape = *f.Shape(port);
    if (shape.size() < from_end || shape[shape.size() - from_end] == 1) continue;
    return Follower::No(absl::StrCat("reads '", Escaped(f.model().value(node.Input(port)).name), "', which is ",
                                     TypeText(f.model(), node.Input(port)), " and has an element for each sample"));
  }
  return f.All({rank - from_end, block});
}

// Images and the like: the samples are the first dimension.
FollowedNode FollowImages(const Follower& f) {
  if (!f.OnlyFirst()) return Follower::No(kOthers);
  if (f.Axis(0)->axis != 0) return Follower::No("takes another axis than the first for its samples");
  const size_t num_outputs = f.node().outputs.size();
  const bool has_statistics = f.node().Has(Role::kTracksStatistics) && num_outputs > 1;
  if (has_statistics || GetInt(f.node(), "training_mode", 0) != 0) {
    return Follower::No("has statistics of all samples together");
  }
  if (num_outputs > 1) return Follower::No("counts places through all samples");
  return f.All({0, f.Axis(0)->block});
}

FollowedNode FollowResize(const Follower& f) {
  const auto shape = f.Shape(0);
  if (!shape.has_value()) return Follower::No(kUnknownShape);
  Dims axes(shape->size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = GetInts(f.node(), "axes").value_or(axes);
  if (!ResolveAll(axes, f.Rank(0))) return Follower::No(kUnknownAxes);
  const auto first = std::find(axes.begin(), axes.end(), 0);
  if (first == axes.end()) return FollowImages(f);
  if (f.node().Input(3) != kNone) return Follower::No("has a constant size, the number of samples among it");
  const size_t port = f.node().inputs.size() == 2 ? 1 : 2;
  std::optional<std::vector<double>> scales = ConstantElements(f.model(), f.node().Input(port), kMostAxes);
  if (const auto stated = GetFloats(f.node(), "scales")) scales.emplace(stated->begin(), stated->end());
  const auto place = static_cast<size_t>(first - axes.begin());
  const bool keeps = scales.has_value() && place < scales->size() && (*scales)[place] == 1;
  return keeps ? FollowImages(f) : Follower::No("makes another number of samples");
}

FollowedNode FollowGridSample(const Follower& f) {
  const SampleAxis *image = f.Axis(0), *grid = f.Axis(1);
  const bool are_both = image != nullptr && grid != nullptr && *image == *grid && image->axis == 0;
  return are_both ? f.All(*image) : Follower::No("reads one operand alone by samples");
}

}  // namespace amp
