#include "tools/library/find_origin.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"
#include "passes/train/mean_over_ranks.h"
#include "runtime/plan/program.h"
#include "runtime/values/compare_values.h"

namespace amp {
namespace {

int64_t NumNotFinite(const Datum& datum) {
  const Tensor* const tensor = datum.tensor();
  if (tensor == nullptr) return 0;
  return absl::c_count_if(AsDoubles(*tensor), [](double element) { return !std::isfinite(element); });
}

class OriginFinder {
 public:
  explicit OriginFinder(const Session& session) : model_(session.model()), program_(session.program()) {}

  void See(ValueId value, const Datum& datum) {
    const int64_t count = NumNotFinite(datum);
    if (count == 0) return;
    not_finite_.insert(value);
    if (!origin_.empty()) return;
    const NodeId producer = model_.value(value).producer;
    // A mean over ranks brings what began in another of them.
    if (producer != kNone && model_.node(producer).op_type() == kMeanOverRanks) return;
    if (producer != kNone && ReadsNotFinite(model_.node(producer))) return;
    const std::string name = Escaped(model_.value(value).name);
    const std::string what = producer == kNone ? absl::StrFormat("input '%s'", name)
                                               : absl::StrFormat("'%s' of node %s", name, Describe(model_, producer));
    origin_ = absl::StrFormat("%s, %d of %d elements", what, count, datum.tensor()->num_elements());
  }

  std::string Take() { return std::move(origin_); }

 private:
  bool ReadsNotFinite(const Node& node) const {
    for (const ValueId input : node.PresentInputs()) {
      if (not_finite_.contains(input) || NumNotFinite(program_.constants[input]) > 0) return true;
    }
    return false;
  }

  const Model& model_;
  const Program& program_;
  absl::flat_hash_set<ValueId> not_finite_;
  std::string origin_;
};

}  // namespace

absl::StatusOr<std::string> FindOriginOfNotFinite(const Session& session, const NamedDatums& inputs,
                                                  RunOptions options) {
  OriginFinder finder(session);
  const ValueObserver see = [&](ValueId value, const Datum& datum) { finder.See(value, datum); };
  options.observer = &see;
  AMP_RETURN_IF_ERROR(session.Run(inputs, options).status());
  return finder.Take();
}

}  // namespace amp
