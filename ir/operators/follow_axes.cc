#include <algorithm>
#include <numeric>

#include "ir/operators/sample_rules.h"

namespace amp {

SampleAxis Without(SampleAxis axis, const Dims& removed) {
  const size_t before = axis.axis;
  axis.axis -= static_cast<size_t>(
      std::count_if(removed.begin(), removed.end(), [&](int64_t a) { return static_cast<size_t>(a) < before; }));
  return axis;
}

bool ResolveAll(Dims& axes, int64_t rank) {
  for (int64_t& axis : axes) axis = Resolved(axis, rank);
  return std::find(axes.begin(), axes.end(), -1) == axes.end();
}

bool Holds(const Dims& axes, size_t axis) {
  return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
}

// Works along one axis, which may not be that of the samples.
FollowedNode FollowAlong(const Follower& f, int64_t fallback) {
  if (!f.OnlyFirst()) return Follower::No(kOthers);
  if (f.Rank(0) < 0) return Follower::No(kUnknownShape);
  const int64_t axis = Resolved(GetInt(f.node(), "axis", fallback), f.Rank(0));
  if (axis < 0 || static_cast<size_t>(axis) == f.Axis(0)->axis) return Follower::No("works along the samples");
  return f.All(*f.Axis(0));
}

// Works on all dimensions from an axis on.
FollowedNode FollowFrom(const Follower& f, int64_t fallback) {
  if (f.Rank(0) < 0) return Follower::No(kUnknownShape);
  const int64_t axis = Resolved(GetInt(f.node(), "axis", fallback), f.Rank(0));
  if (axis < 0 || f.Axis(0) == nullptr || f.Axis(0)->axis >= static_cast<size_t>(axis)) {
    return Follower::No("works along the samples");
  }
  return FollowPointwise(f);  // scale and shift broadcast
}

FollowedNode FollowCumSum(const Follower& f) {
  if (!f.OnlyFirst()) return Follower::No(kOthers);
  const auto axis = ScalarConstant(f.model(), f.node().Input(1));
  if (!axis.has_value() || f.Rank(0) < 0) return Follower::No(kUnknownAxes);
  const int64_t along = Resolved(static_cast<int64_t>(*axis), f.Rank(0));
  if (along < 0 || static_cast<size_t>(along) == f.Axis(0)->axis) return Follower::No("adds up along the samples");
  return f.All(*f.Axis(0));
}

FollowedNode FollowReduction(const Follower& f) {
  if (!f.OnlyFirst()) return Follower::No(kOthers);
  if (f.Rank(0) < 0) return Follower::No(kUnknownShape);
  Dims axes = f.Integers(1, "axes").value_or(Dims());
  if (axes.empty() && f.node().Input(1) != kNone && !ConstantElements(f.model(), f.node().Input(1), kMostAxes)) {
    return Follower::No(kUnknownAxes);
  }
  if (axes.empty() && GetInt(f.node(), "noop_with_empty_axes", 0) != 0) return f.All(*f.Axis(0));
  if (axes.empty()) {
    axes.resize(static_cast<size_t>(f.Rank(0)));
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (!ResolveAll(axes, f.Rank(0)) || Holds(axes, f.Axis(0)->axis)) return Follower::No("reduces along the samples");
  return f.All(GetInt(f.node(), "keepdims", 1) != 0 ? *f.Axis(0) : Without(*f.Axis(0), axes));
}

FollowedNode FollowArgument(const Follower& f) {
  FollowedNode followed = FollowAlong(f, 0);
  if (followed.why || GetInt(f.node(), "keepdims", 1) != 0) return followed;
  return f.All(Without(*f.Axis(0), {Resolved(GetInt(f.node(), "axis", 0), f.Rank(0))}));
}

FollowedNode FollowMoments(const Follower& f) {
  Dims axes = GetInts(f.node(), "axes").value_or(Dims{0, 2, 3});
  if (f.Rank(0) < 0 || !ResolveAll(axes, f.Rank(0)) || Holds(axes, f.Axis(0)->axis)) {
    return Follower::No("has moments of all samples together");
  }
  return f.All(*f.Axis(0));
}

}  // namespace amp
