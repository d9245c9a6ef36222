#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

#include "ir/base/status.h"
#include "passes/paint/min_cut.h"
#include "tools/library/part_errors.h"

namespace amp {
namespace {

constexpr size_t kMostCuts = 64;
// Costs are whole numbers in a cut: all bytes that may be saved or lost are so many of them.
constexpr double kResolution = 1e9;

}  // namespace

// Parts on the source's side are low. Whatever no part gives or reads is on the sink's.
class PartErrors::Cutter {
 public:
  Cutter(const PartErrors& errors, const LowParts& may_be_low) : errors_(errors), may_be_low_(may_be_low) {
    for (const Traffic& traffic : errors_.traffic_) bytes_ += traffic.LowBytes() + traffic.HighBytes();
  }

  absl::StatusOr<std::vector<LowParts>> Find(const std::function<absl::Status()>& may_go_on) {
    const Point none = PointOf(LowParts(may_be_low_.size(), false)), most = PointOf(Cut(0));
    found_ = {none, most};
    // Between points that are far apart there is more to find than between others.
    std::vector<std::pair<Point, Point>> gaps = {{none, most}};
    for (size_t i = 0; i < kMostCuts && !gaps.empty(); ++i) {
      AMP_RETURN_IF_ERROR(may_go_on());
      const auto widest = std::max_element(gaps.begin(), gaps.end(), [](const auto& a, const auto& b) {
        return a.second.saved - a.first.saved < b.second.saved - b.first.saved;
      });
      const auto [less, more] = std::move(*widest);
      gaps.erase(widest);
      std::optional<Point> middle = Between(less, more);
      if (!middle.has_value()) continue;
      found_.push_back(*middle);
      gaps.emplace_back(less, *middle);
      gaps.emplace_back(*std::move(middle), more);
    }
    std::stable_sort(found_.begin(), found_.end(), [](const Point& a, const Point& b) { return a.error > b.error; });
    std::vector<LowParts> choices;
    for (Point& point : found_) {
      if (choices.empty() || choices.back() != point.low) choices.push_back(std::move(point.low));
    }
    return choices;
  }

 private:
  struct Point {
    LowParts low;
    double error = 0, saved = 0;
  };

  Point PointOf(const LowParts& low) const {
    const Choice choice = errors_.Evaluate(low);
    return {low, std::accumulate(choice.squared.begin(), choice.squared.end(), 0.0), choice.saved};
  }

  // Returns a point of the hull between two of them, if there is one.
  std::optional<Point> Between(const Point& less, const Point& more) const {
    if (more.error <= less.error || more.saved <= less.saved) return std::nullopt;
    const double price = (more.saved - less.saved) / (more.error - less.error);
    Point middle = PointOf(Cut(price));
    const auto worth = [&](const Point& point) { return point.saved - price * point.error; };
    constexpr double kLeastGain = 1e-6;
    const bool is_new = worth(middle) > worth(less) + kLeastGain * (more.saved - less.saved);
    return is_new ? std::optional(std::move(middle)) : std::nullopt;
  }

  // Returns the choice that saves the most bytes, each unit of error at this price in bytes.
  LowParts Cut(double price) const {
    MinCut cut;
    std::vector<CutNode> nodes;
    for (size_t part = 0; part < may_be_low_.size(); ++part) {
      nodes.push_back(cut.AddNode());
      if (!may_be_low_[part]) cut.AddArc(nodes.back(), MinCut::sink(), MinCut::kInfinite);
    }
    const auto node_of = [&](size_t part) { return part < nodes.size() ? nodes[part] : MinCut::sink(); };
    // Costs `bytes` where the first is low and the second is not.
    const auto add = [&](CutNode low, CutNode high, double bytes) {
      const double cost = (bytes < bytes_ ? bytes / bytes_ : 1) * kResolution;  // NaN is as much as all of them
      if (low != high && high != MinCut::source()) cut.AddArc(low, high, static_cast<int64_t>(std::llround(cost)));
    };
    for (const Traffic& traffic : errors_.traffic_) AddTraffic(traffic, node_of, add, cut);
    for (const std::vector<Site>& sites : errors_.sites_) {
      for (const Site& site : sites) {
        // A low reader of what was given in float32 rounds it itself.
        if (site.producer < nodes.size()) add(node_of(site.producer), MinCut::sink(), price * site.if_producer);
        if (site.reader < nodes.size()) add(node_of(site.reader), node_of(site.producer), price * site.if_reader);
      }
    }
    cut.Solve();
    LowParts low;
    for (const CutNode node : nodes) low.push_back(cut.IsOnSourceSide(node));
    return low;
  }

  // Where any part has the value low there is a low copy, and where any has it in float32 there is one of that.
  void AddTraffic(const Traffic& traffic, const auto& node_of, const auto& add, MinCut& cut) const {
    const CutNode low_copy = cut.AddNode(), high_copy = cut.AddNode();
    const auto count = [&](size_t part) {
      cut.AddArc(node_of(part), low_copy, MinCut::kInfinite);
      cut.AddArc(high_copy, node_of(part), MinCut::kInfinite);
    };
    for (const size_t reader : traffic.readers) count(reader);
    if (!traffic.is_weight) count(traffic.producer);
    add(low_copy, MinCut::sink(), traffic.LowBytes());
    add(MinCut::source(), high_copy, traffic.HighBytes());
  }

  const PartErrors& errors_;
  const LowParts& may_be_low_;
  double bytes_ = 1;
  std::vector<Point> found_;
};

absl::StatusOr<std::vector<LowParts>> PartErrors::BestChoices(const LowParts& may_be_low,
                                                              const std::function<absl::Status()>& may_go_on) const {
  return Cutter(*this, may_be_low).Find(may_go_on);
}

}  // namespace amp
