#include "ir/graph/check_order.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/node_paths.h"

namespace amp {
namespace {

class OrderCheck {
 public:
  explicit OrderCheck(const Model& model)
      : model_(model), is_open_(model.num_graphs(), false), is_done_(model.num_nodes(), false) {}

  absl::Status Check(GraphId graph) {
    is_open_[graph] = true;
    for (NodeId id = model_.graph(graph).first; id != kNone; id = model_.node(id).next) {
      for (const ValueId in : model_.node(id).PresentInputs()) {
        if (!IsKnown(in)) return Failure("node '", NodePath(model_, id), "' reads", in);
      }
      for (GraphId body : model_.node(id).bodies) AMP_RETURN_IF_ERROR(Check(body));
      is_done_[id] = true;
    }
    for (ValueId out : model_.graph(graph).outputs) {
      if (!IsKnown(out)) return Failure("graph '", model_.value(out).name, "' gives", out);
    }
    is_open_[graph] = false;
    return absl::OkStatus();
  }

 private:
  bool IsKnown(ValueId id) const {
    const Value& value = model_.value(id);
    if (!is_open_[value.graph]) return false;
    if (value.producer != kNone) return is_done_[value.producer];
    const auto& names = model_.graph(value.graph).names;  // an initializer may be gone
    const auto it = names.find(value.name);
    return it != names.end() && it->second == id;
  }

  absl::Status Failure(absl::string_view kind, absl::string_view name, absl::string_view verb, ValueId id) const {
    return absl::InternalError(absl::StrCat(kind, Escaped(name), verb, " '", Escaped(model_.value(id).name),
                                            "': expected a value that is made before, found none"));
  }

  const Model& model_;
  IdVector<GraphId, bool> is_open_;
  IdVector<NodeId, bool> is_done_;
};

}  // namespace

absl::Status CheckOrder(const Model& model) { return OrderCheck(model).Check(kMainGraph); }

}  // namespace amp
