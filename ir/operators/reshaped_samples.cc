#include "ir/operators/reshaped_samples.h"

#include <algorithm>
#include <utility>

#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"

namespace amp {
namespace {

constexpr int64_t kMostDims = 64;
constexpr int64_t kCopied = 0, kWhatIsLeft = -1;  // in the shape that a Reshape is given

using Dims = std::vector<int64_t>;

FollowedNode No(const char* why) { return {.why = Reason(why)}; }
FollowedNode Yes(size_t axis, int64_t block) { return {.outputs = {SampleAxis{axis, block}}}; }

std::optional<Dims> Constant(const Model& model, ValueId value) {
  const auto elements = value == kNone ? std::nullopt : ConstantElements(model, value, kMostDims);
  if (!elements.has_value()) return std::nullopt;
  return Dims(elements->begin(), elements->end());
}

bool AreAllKnown(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim > 0; });
}

int64_t Product(const Dims& dims, size_t end) {
  int64_t product = 1;
  for (size_t i = 0; i < end; ++i) product *= dims[i];
  return product;
}

// Where the samples of `axis` can be in the result; several places where dimensions of 1 are around.
std::vector<size_t> PlacesOfSamples(const Dims& before, const Dims& after, size_t axis, int64_t count) {
  std::vector<size_t> places;
  for (size_t i = 0; i < after.size(); ++i) {
    if (Product(after, i) == Product(before, axis) && after[i] % count == 0) places.push_back(i);
  }
  return places;
}

// A dimension of the samples alone is best, and where they were before.
size_t BestPlace(const std::vector<size_t>& places, const Dims& after, size_t axis, int64_t count) {
  const auto has_axis = std::find(places.begin(), places.end(), axis);
  const auto alone = std::find_if(places.begin(), places.end(), [&](size_t place) { return after[place] == count; });
  const bool is_alone = has_axis != places.end() && after[axis] == count;
  if (!is_alone && alone != places.end()) return *alone;
  return has_axis != places.end() ? axis : places.front();
}

// Returns the shape that `wanted` has to be so that the samples of `from` come to dimension `place` of `after`, for any
// number of samples.
Dims FreeShape(const Dims& wanted, const Dims& after, size_t place, const SampleAxis& from, bool may_copy) {
  Dims shape = wanted;
  const bool copies = may_copy && place == from.axis;
  const bool is_free = shape[place] == kWhatIsLeft || (copies && shape[place] == kCopied);
  const bool is_whole = copies && after[place] == from.block;  // of one sample as many as before
  if (!is_free) shape[place] = is_whole ? kCopied : kWhatIsLeft;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i == place) continue;
    const bool is_second = shape[i] == kWhatIsLeft && shape[place] == kWhatIsLeft;
    const bool copies_samples = shape[i] == kCopied && i == from.axis;
    if (is_second || copies_samples) shape[i] = after[i];
  }
  return shape;
}

// Without all sizes: the first dimension alone, where it is the samples' before and after.
FollowedNode FollowUnknownSizes(const Dims& before, Dims wanted, const SampleAxis& from, bool may_copy) {
  const bool is_first = from.axis == 0 && !wanted.empty() && may_copy;
  if (!is_first || (wanted[0] != kCopied && wanted[0] != before[0])) return No("works on sizes that are not known");
  FollowedNode followed = Yes(0, from.block);
  if (wanted[0] == kCopied) return followed;
  wanted[0] = kCopied;
  followed.edits.push_back({1, std::move(wanted)});
  return followed;
}

}  // namespace

FollowedNode FollowReshapedSamples(const Model& model, const Node& node, const Samples& samples) {
  const SampleAxis& from = *samples.Of(node.Input(0));
  const std::optional<Dims> wanted = Constant(model, node.Input(1));
  if (!wanted.has_value()) return No("takes its shape from what is no constant input");
  const auto before = ShapeOf(model, node.Input(0)), after = ShapeOf(model, node.Output(0));
  const bool may_copy = GetInt(node, "allowzero", 0) == 0;
  if (!before.has_value()) return No("works on sizes that are not known");
  const bool are_known = after.has_value() && AreAllKnown(*before) && AreAllKnown(*after);
  if (!are_known) return FollowUnknownSizes(*before, *wanted, from, may_copy);
  const std::vector<size_t> places = PlacesOfSamples(*before, *after, from.axis, samples.count);
  if (places.empty()) return No("mixes samples with what is in front of them");
  const size_t place = BestPlace(places, *after, from.axis, samples.count);
  FollowedNode followed = Yes(place, (*after)[place] / samples.count);
  const SampleAxis sizes{from.axis, (*before)[from.axis]};
  Dims shape = FreeShape(*wanted, *after, place, sizes, may_copy);
  if (shape != *wanted) followed.edits.push_back({1, std::move(shape)});
  return followed;
}

FollowedNode FollowFlattenedSamples(const Model& model, const Node& node, const Samples& samples) {
  const SampleAxis& from = *samples.Of(node.Input(0));
  const auto before = ShapeOf(model, node.Input(0));
  if (!before.has_value()) return No("works on sizes that are not known");
  const auto rank = static_cast<int64_t>(before->size());
  int64_t split = GetInt(node, "axis", 1);
  if (split < 0) split += rank;
  if (from.axis == 0 && split == 1) return Yes(0, from.block);
  if (split < 0 || split > rank || !AreAllKnown(*before)) return No("works on sizes that are not known");
  const bool is_first = from.axis < static_cast<size_t>(split);
  const Dims after = {Product(*before, static_cast<size_t>(split)),
                      Product(*before, before->size()) / Product(*before, static_cast<size_t>(split))};
  const size_t place = is_first ? 0 : 1;
  const std::vector<size_t> places = PlacesOfSamples(*before, after, from.axis, samples.count);
  const bool is_whole = std::find(places.begin(), places.end(), place) != places.end();
  return is_whole ? Yes(place, after[place] / samples.count) : No("mixes samples with what is in front of them");
}

FollowedNode FollowExpandedSamples(const Model& model, const Node& node, const Samples& samples) {
  const SampleAxis& from = *samples.Of(node.Input(0));
  std::optional<Dims> wanted = Constant(model, node.Input(1));
  const auto before = ShapeOf(model, node.Input(0));
  if (!wanted.has_value() || !before.has_value()) return No("takes its shape from what is no constant input");
  const size_t rank = std::max(wanted->size(), before->size()), from_end = before->size() - from.axis;
  FollowedNode followed = Yes(rank - from_end, from.block);
  if (wanted->size() < from_end) return followed;
  int64_t& size = (*wanted)[wanted->size() - from_end];
  if (size == 1) return followed;
  if (size != (*before)[from.axis]) return No("makes copies of samples");
  size = 1;
  followed.edits.push_back({1, std::move(wanted)});
  return followed;
}

}  // namespace amp
