#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/base/status.h"
#include "ir/operators/sample_rules.h"

namespace amp {
namespace {

constexpr int64_t kMostStates = int64_t{1} << 20;

bool IsZeros(const Model& model, ValueId value) {
  const auto elements = ConstantElements(model, value, kMostStates);
  return elements.has_value() && std::all_of(elements->begin(), elements->end(), [](double e) { return e == 0; });
}

}  // namespace

FollowedNode FollowMatMul(const Follower& f) {
  const int64_t ranks[] = {f.Rank(0), f.Rank(1)};
  if (ranks[0] < 2 || ranks[1] < 2) return Follower::No("multiplies by a vector, or by what has no known shape");
  const size_t rank = static_cast<size_t>(std::max(ranks[0], ranks[1]));
  size_t from_end[2] = {0, 0};
  for (const size_t port : {size_t{0}, size_t{1}}) {
    if (f.Axis(port) != nullptr) from_end[port] = static_cast<size_t>(ranks[port]) - f.Axis(port)->axis;
  }
  if (from_end[0] == 1 || from_end[1] == 2) return Follower::No("adds products of all samples up");
  const bool are_both = from_end[0] != 0 && from_end[1] != 0;
  if (are_both && (from_end[0] != from_end[1] || from_end[0] < 3 || f.Axis(0)->block != f.Axis(1)->block)) {
    return Follower::No("multiplies samples with each other");
  }
  const size_t with = from_end[0] != 0 ? 0 : 1, place = from_end[with];
  if (!are_both && place > 2) {
    const Dims other = *f.Shape(1 - with);
    if (other.size() >= place && other[other.size() - place] != 1) {
      return Follower::No("multiplies by a matrix for each sample");
    }
  }
  return f.All({rank - place, f.Axis(with)->block});
}

FollowedNode FollowGemm(const Follower& f) {
  const SampleAxis* rows = f.Axis(0);
  const bool is_rows = rows != nullptr && rows->axis == (GetInt(f.node(), "transA", 0) != 0 ? 1u : 0u);
  if (!is_rows || f.Axis(1) != nullptr) return Follower::No("adds products of all samples up");
  const auto bias = f.Shape(2);
  if (f.node().Input(2) == kNone) return f.All({0, rows->block});
  if (!bias.has_value()) return Follower::No(kUnknownShape);
  const SampleAxis* of_bias = f.Axis(2);
  const bool has_rows = bias->size() == 2 && (*bias)[0] != 1;
  if (of_bias == nullptr ? has_rows : *of_bias != SampleAxis{0, rows->block} || bias->size() != 2) {
    return Follower::No("adds a row for each sample");
  }
  return f.All({0, rows->block});
}

FollowedNode FollowEinsum(const Follower& f) {
  std::string equation = GetString(f.node(), "equation", "");
  std::erase(equation, ' ');
  const std::vector<std::string> sides = absl::StrSplit(equation, absl::string_view("->"));
  if (sides.size() != 2 || equation.find('.') != std::string::npos) return Follower::No("has no plain equation");
  const std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  char letter = 0;
  int64_t block = 1;
  for (size_t port = 0; port < terms.size(); ++port) {
    const SampleAxis* axis = f.Axis(port);
    if (axis == nullptr || axis->axis >= terms[port].size()) continue;
    if (letter != 0 && (terms[port][axis->axis] != letter || axis->block != block)) {
      return Follower::No("multiplies samples with each other");
    }
    letter = terms[port][axis->axis];
    block = axis->block;
  }
  for (size_t port = 0; port < terms.size(); ++port) {
    const auto count = std::count(terms[port].begin(), terms[port].end(), letter);
    if (count != (f.Axis(port) != nullptr ? 1 : 0)) return Follower::No("multiplies samples with each other");
  }
  const size_t place = sides[1].find(letter);
  if (place == std::string::npos) return Follower::No("adds products of all samples up");
  return f.All({place, block});
}

// A first state of zeros goes: without one it is zeros for any number of samples.
FollowedNode FollowRecurrence(const Follower& f) {
  constexpr size_t kLengths = 4, kFirstState = 5, kLastState = 6;
  const Node& node = f.node();
  const bool is_samples_first = GetInt(node, "layout", 0) != 0;
  const size_t place = is_samples_first ? 0 : 1;
  if (f.Axis(0) == nullptr || f.Axis(0)->axis != place) return Follower::No("takes another axis for its samples");
  const int64_t block = f.Axis(0)->block;
  FollowedNode followed;
  for (size_t port = 1; port < node.inputs.size(); ++port) {
    const bool is_state = port == kFirstState || port == kLastState;
    const SampleAxis wanted{port == kLengths ? 0 : place, block};
    if (node.Input(port) == kNone || (f.Axis(port) != nullptr && *f.Axis(port) == wanted)) continue;
    const std::string name = Escaped(f.model().value(node.Input(port)).name);
    if (f.Axis(port) != nullptr) return Follower::No(absl::StrCat("reads '", name, "' along another axis"));
    if (is_state && IsZeros(f.model(), node.Input(port))) {
      followed.edits.push_back({port, std::nullopt});
    } else if (is_state || port == kLengths) {
      return Follower::No(absl::StrCat("reads '", name, "', which has an element for each sample"));
    }
  }
  for (size_t port = 0; port < node.outputs.size(); ++port) {
    followed.outputs.push_back(SampleAxis{is_samples_first ? 0 : port == 0 ? size_t{2} : size_t{1}, block});
  }
  return followed;
}

}  // namespace amp
