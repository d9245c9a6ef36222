#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/operators/sample_rules.h"

namespace amp {

FollowedNode FollowTranspose(const Follower& f) {
  if (f.Rank(0) < 0) return Follower::No(kUnknownShape);
  const auto axis = static_cast<int64_t>(f.Axis(0)->axis);
  const auto order = GetInts(f.node(), "perm");
  if (!order.has_value()) return f.All({static_cast<size_t>(f.Rank(0) - 1 - axis), f.Axis(0)->block});
  const auto place = std::find(order->begin(), order->end(), axis);
  if (place == order->end()) return Follower::No(kUnknownAxes);
  return f.All({static_cast<size_t>(place - order->begin()), f.Axis(0)->block});
}

FollowedNode FollowConcat(const Follower& f) {
  const SampleAxis* first = f.Axis(0);
  for (size_t port = 0; port < f.node().inputs.size(); ++port) {
    if (first != nullptr && f.Axis(port) != nullptr && *f.Axis(port) == *first) continue;
    const bool is_fixed = f.Axis(port) == nullptr || first == nullptr;
    const size_t fixed = f.Axis(port) == nullptr ? port : 0;
    if (!is_fixed) return Follower::No("joins operands whose samples lie along different axes");
    return Follower::No(absl::StrCat("joins samples with '", Escaped(f.model().value(f.node().Input(fixed)).name),
                                     "', which is there once"));
  }
  const int64_t axis = Resolved(GetInt(f.node(), "axis", 1), f.Rank(0));
  if (axis < 0 || static_cast<size_t>(axis) == first->axis) return Follower::No("joins along the samples");
  return f.All(*first);
}

FollowedNode FollowSlice(const Follower& f) {
  if (!f.OnlyFirst()) return Follower::No(kOthers);
  const auto starts = f.Integers(1, "starts"), ends = f.Integers(2, "ends");
  const bool has_axes = f.node().Input(3) != kNone || HasAttribute(f.node(), "axes");
  std::optional<Dims> axes = f.Integers(3, "axes");
  if (!axes.has_value() && !has_axes && f.Rank(0) >= 0) {  // the first ones, as many as there are starts
    const auto of_starts = f.Shape(1);
    const size_t count = starts.has_value() ? starts->size()
                         : of_starts.has_value() && of_starts->size() == 1 && of_starts->front() >= 0
                             ? static_cast<size_t>(of_starts->front())
                             : static_cast<size_t>(f.Rank(0));
    axes.emplace(count);
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!axes.has_value() || f.Rank(0) < 0 || !ResolveAll(*axes, f.Rank(0))) return Follower::No(kUnknownAxes);
  const auto steps = f.node().Input(4) == kNone ? Dims(axes->size(), 1) : f.Integers(4, "").value_or(Dims());
  for (size_t i = 0; i < axes->size(); ++i) {
    if (static_cast<size_t>((*axes)[i]) != f.Axis(0)->axis) continue;
    const bool takes_all = starts.has_value() && ends.has_value() && i < starts->size() && i < ends->size() &&
                           i < steps.size() && (*starts)[i] == 0 && steps[i] == 1 &&
                           (*ends)[i] >= std::numeric_limits<int32_t>::max();
    if (!takes_all) return Follower::No("takes a part of the samples");
  }
  return f.All(*f.Axis(0));
}

FollowedNode FollowGather(const Follower& f) {
  if (f.Rank(0) < 0 || f.Rank(1) < 0) return Follower::No(kUnknownShape);
  const int64_t axis = Resolved(GetInt(f.node(), "axis", 0), f.Rank(0));
  if (axis < 0 || (f.Axis(0) != nullptr && f.Axis(1) != nullptr)) {
    return Follower::No("looks samples up in each other");
  }
  if (f.Axis(1) != nullptr) return f.All({static_cast<size_t>(axis) + f.Axis(1)->axis, f.Axis(1)->block});
  SampleAxis samples = *f.Axis(0);
  if (samples.axis == static_cast<size_t>(axis)) return Follower::No("takes a part of the samples");
  if (samples.axis > static_cast<size_t>(axis)) samples.axis = samples.axis + static_cast<size_t>(f.Rank(1)) - 1;
  return f.All(samples);
}

FollowedNode FollowGatherElements(const Follower& f) {
  const SampleAxis *data = f.Axis(0), *places = f.Axis(1);
  if (data == nullptr || places == nullptr || *data != *places)
    return Follower::No("reads one operand alone by samples");
  const int64_t axis = Resolved(GetInt(f.node(), "axis", 0), f.Rank(0));
  if (axis < 0 || static_cast<size_t>(axis) == data->axis) return Follower::No("looks samples up in each other");
  return f.All(*data);
}

FollowedNode FollowSqueeze(const Follower& f) {
  if (f.Rank(0) < 0) return Follower::No(kUnknownShape);
  std::optional<Dims> axes = f.Integers(1, "axes");
  if (!axes.has_value()) return Follower::No("removes whatever dimension is 1");
  if (!ResolveAll(*axes, f.Rank(0)) || Holds(*axes, f.Axis(0)->axis))
    return Follower::No("removes the axis of the samples");
  return f.All(Without(*f.Axis(0), *axes));
}

FollowedNode FollowUnsqueeze(const Follower& f) {
  std::optional<Dims> axes = f.Integers(1, "axes");
  if (f.Rank(0) < 0 || !axes.has_value()) return Follower::No(kUnknownAxes);
  const int64_t rank = f.Rank(0) + static_cast<int64_t>(axes->size());
  if (!ResolveAll(*axes, rank)) return Follower::No(kUnknownAxes);
  size_t left = f.Axis(0)->axis;  // old dimensions in front of that of the samples
  for (int64_t at = 0; at < rank; ++at) {
    if (Holds(*axes, static_cast<size_t>(at))) continue;
    if (left-- == 0) return f.All({static_cast<size_t>(at), f.Axis(0)->block});
  }
  return Follower::No(kUnknownAxes);
}

FollowedNode FollowTile(const Follower& f) {
  const auto repeats = f.Integers(1, "");
  const bool is_one =
      f.OnlyFirst() && repeats.has_value() && f.Axis(0)->axis < repeats->size() && (*repeats)[f.Axis(0)->axis] == 1;
  return is_one ? f.All(*f.Axis(0)) : Follower::No("repeats samples");
}

FollowedNode FollowPad(const Follower& f) {
  if (!f.OnlyFirst() || f.Rank(0) < 0) return Follower::No(kUnknownShape);
  const auto pads = f.Integers(1, "pads");
  Dims axes(static_cast<size_t>(f.Rank(0)));
  std::iota(axes.begin(), axes.end(), 0);
  if (f.node().Input(3) != kNone) axes = f.Integers(3, "").value_or(Dims{-f.Rank(0) - 1});
  if (!pads.has_value() || !ResolveAll(axes, f.Rank(0)) || pads->size() != 2 * axes.size()) {
    return Follower::No(kUnknownAxes);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (static_cast<size_t>(axes[i]) != f.Axis(0)->axis) continue;
    if ((*pads)[i] != 0 || (*pads)[i + axes.size()] != 0) return Follower::No("adds samples");
  }
  return f.All(*f.Axis(0));
}

FollowedNode FollowOneHot(const Follower& f) {
  if (!f.OnlyFirst() || f.Rank(0) < 0) return Follower::No(kUnknownShape);
  const int64_t place = Resolved(GetInt(f.node(), "axis", -1), f.Rank(0) + 1);
  if (place < 0) return Follower::No(kUnknownAxes);
  SampleAxis axis = *f.Axis(0);
  if (axis.axis >= static_cast<size_t>(place)) ++axis.axis;
  return f.All(axis);
}

}  // namespace amp
