#include "tools/library/find_mend.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/types/span.h"
#include "ir/base/status.h"

namespace amp {
namespace {

using Nodes = std::vector<std::string>;

Nodes Joined(const Nodes& a, const Nodes& b) {
  Nodes joined = a;
  joined.insert(joined.end(), b.begin(), b.end());
  return joined;
}

class Search {
 public:
  Search(const Nodes& candidates, size_t most_tries, const MendTest& mends)
      : candidates_(candidates), most_tries_(std::max<size_t>(most_tries, 1)), mends_(mends) {}

  absl::StatusOr<Mend> Run() {
    AMP_ASSIGN_OR_RETURN(const Nodes beginning, ShortestBeginning());
    if (beginning.empty()) return Mend();
    AMP_ASSIGN_OR_RETURN(Nodes needed, Needed({}, beginning, /*is_open=*/false));
    return Mend{std::move(needed), !ran_out_};
  }

 private:
  // Out of tries, nothing mends.
  absl::StatusOr<bool> Mends(const Nodes& nodes) {
    if (tries_ == most_tries_) {
      ran_out_ = true;
      return false;
    }
    ++tries_;
    return mends_(nodes);
  }

  // Tries one node, two, four ... all; empty if none mends.
  absl::StatusOr<Nodes> ShortestBeginning() {
    for (size_t count = 1; !candidates_.empty(); count = std::min(count * 2, candidates_.size())) {
      Nodes beginning(candidates_.begin(), std::next(candidates_.begin(), static_cast<std::ptrdiff_t>(count)));
      AMP_ASSIGN_OR_RETURN(const bool is_enough, Mends(beginning));
      if (is_enough) return beginning;
      if (count == candidates_.size()) break;
    }
    return Nodes();
  }

  // Returns the nodes of `nodes` that are needed. REQUIRES: `nodes` mends together with `kept`, as the result does.
  // is_open: `kept` has not been tried alone.
  absl::StatusOr<Nodes> Needed(const Nodes& kept, const Nodes& nodes, bool is_open) {  // NOLINT(misc-no-recursion)
    if (is_open) {
      AMP_ASSIGN_OR_RETURN(const bool is_enough, Mends(kept));
      if (is_enough) return Nodes();
    }
    if (nodes.size() == 1) return nodes;
    const auto half = std::next(nodes.begin(), static_cast<std::ptrdiff_t>(nodes.size() / 2));
    const Nodes first(nodes.begin(), half), second(half, nodes.end());
    AMP_ASSIGN_OR_RETURN(const Nodes of_second, Needed(Joined(kept, first), second, /*is_open=*/true));
    AMP_ASSIGN_OR_RETURN(const Nodes of_first, Needed(Joined(kept, of_second), first, !of_second.empty()));
    return Joined(of_first, of_second);
  }

  const Nodes& candidates_;
  const size_t most_tries_;
  const MendTest& mends_;
  size_t tries_ = 0;
  bool ran_out_ = false;
};

}  // namespace

absl::StatusOr<Mend> FindMend(const std::vector<std::string>& candidates, size_t most_tries, const MendTest& mends) {
  return Search(candidates, most_tries, mends).Run();
}

}  // namespace amp
