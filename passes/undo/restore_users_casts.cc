#include "passes/undo/restore_users_casts.h"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/file/description.h"
#include "ir/graph/insert_nodes.h"
#include "ir/operators/operator_facts.h"

namespace amp {
namespace {

using Cast = RewriteRecord::UsersCast;

class Restorer {
 public:
  Restorer(Model& model, const std::vector<Cast>& casts) : model_(model), casts_(casts) {}

  int Run() {
    absl::flat_hash_set<absl::string_view> names;
    for (const Cast& cast : casts_) names.insert(cast.output);
    for (const ValueId id : model_.AllValues()) {
      if (names.contains(model_.value(id).name)) NoteName(model_.value(id).graph, model_.value(id).name);
    }
    RestoreAll();
    MoveReaders();
    return num_misfits_;
  }

 private:
  // The output of a cast, and the first of the record's casts above it.
  struct Restored {
    ValueId out = kNone;
    const Cast* first = nullptr;
  };

  // A cast is made after the one that it reads, in whatever order the record has them.
  void RestoreAll() {
    std::vector<std::vector<size_t>> readers(casts_.size());
    std::vector<size_t> ready;
    size_t num_expected = 0;  // the others are counted already
    for (size_t i = 0; i < casts_.size(); ++i) {
      const bool stands_on_other = casts_[i].source_cast.has_value();
      const bool stands_alone = casts_[i].node != kNone || casts_[i].source != kNone;
      if (stands_on_other) readers[*casts_[i].source_cast].push_back(i);
      if (stands_alone) ready.push_back(i);
      num_expected += stands_alone || stands_on_other ? 1 : 0;
    }
    std::vector<Restored> restored(casts_.size());
    for (size_t next = 0; next < ready.size(); ++next) {
      const size_t i = ready[next];
      const bool stands_on_other = casts_[i].source_cast.has_value();
      restored[i] = Restore(
          casts_[i], stands_on_other ? restored[*casts_[i].source_cast] : Restored{casts_[i].source, &casts_[i]});
      ready.insert(ready.end(), readers[i].begin(), readers[i].end());
    }
    num_misfits_ += static_cast<int>(num_expected - ready.size());  // that stand on each other or on a misfit
  }

  Restored Restore(const Cast& cast, Restored above) {
    if (cast.node != kNone) {
      above.out = model_.node(cast.node).erased ? kNone : model_.node(cast.node).Output(0);
    } else if (above.out != kNone) {
      above.out = Make(above.out, cast, *above.first);
    }
    if (above.out == kNone) {
      ++num_misfits_;
      return above;
    }
    for (const Use& use : cast.readers) {
      if (!RedirectUse(use, above.out)) ++num_misfits_;
    }
    return above;
  }

  // kNone where what it is to read is gone.
  ValueId Make(ValueId source, const Cast& cast, const Cast& first) {
    const NodeId producer = model_.value(source).producer;
    if (producer != kNone && model_.node(producer).erased) return kNone;
    // If the cast's result was a graph output, the value that the first cast read has taken its name over.
    const ValueId heir = first.source;
    const bool took_name_over = heir != kNone && model_.value(heir).name == cast.output && model_.IsModelOutput(heir) &&
                                model_.value(heir).producer != kNone;
    const std::string name = took_name_over ? absl::StrCat(cast.output, "_undone") : cast.output;
    const std::string output = IsFree(name, cast.graph) ? name : model_.UniqueName(name);
    const bool is_behind = model_.value(source).graph == cast.graph;
    const NodeId node =
        InsertCast(model_, {cast.graph, is_behind ? producer : kNone}, source, cast.to, {output, cast.name});
    NoteName(cast.graph, output);
    if (!RestoreDescription(model_.EditProto(node), cast.description)) ++num_misfits_;
    const ValueId out = model_.node(node).Output(0);
    if (!took_name_over) return out;
    model_.TakeOverGraphOutputs(heir, out, model_.UniqueName(first.source_name));
    NoteName(model_.value(heir).graph, model_.value(heir).name);
    return out;
  }

  // Notes which graphs have a value of that name in themselves or inside.
  void NoteName(GraphId graph, const std::string& name) {
    for (GraphId around = graph; taken_.emplace(around, name).second && around != kMainGraph;) {
      around = model_.node(model_.graph(around).owner).graph;
    }
  }

  // Whether no graph around or inside this one has a value of that name. Others may: names are the scopes' own.
  bool IsFree(const std::string& name, GraphId graph) const {
    for (GraphId around = graph; around != kMainGraph;) {
      around = model_.node(model_.graph(around).owner).graph;
      if (model_.graph(around).names.contains(name)) return false;
    }
    return !taken_.contains(std::make_pair(graph, name));
  }

  // Notes that `use` is to read `value`, if it reads another value now that is the same but for casts.
  bool RedirectUse(const Use& use, ValueId value) {
    if (!use.IsGraphOutput() && model_.node(use.node).erased) return false;
    const size_t num_ports =
        use.IsGraphOutput() ? model_.graph(use.graph).outputs.size() : model_.node(use.node).inputs.size();
    if (use.port >= num_ports) return false;
    const ValueId source =
        use.IsGraphOutput() ? model_.graph(use.graph).outputs[use.port] : model_.node(use.node).inputs[use.port];
    if (source == kNone) return false;
    auto& targets = redirected_[source];
    const auto it = targets.try_emplace({use.graph, use.node, use.port}, source).first;
    if (it->second == value || BeforeCasts(it->second) != BeforeCasts(value)) return false;
    it->second = value;
    return true;
  }

  // All readers of a value at once: one by one, each would be looked for among all of them.
  void MoveReaders() {
    for (const auto& [source, targets] : redirected_) {
      std::vector<Model::UseMove> moves;
      for (const auto& [reader, target] : targets) {
        const auto& [graph, node, port] = reader;
        if (target != source) moves.push_back({Use{node, port, graph}, target});
      }
      model_.MoveUses(source, moves);
    }
  }

  // The value that the casts above this one begin from; the value itself if there are none. Each walk is remembered.
  ValueId BeforeCasts(ValueId value) {
    std::vector<ValueId> walked;
    while (!before_casts_.contains(value)) {
      walked.push_back(value);
      const NodeId producer = model_.value(value).producer;
      const bool is_cast = producer != kNone && IsCast(model_.node(producer)) &&
                           !model_.node(producer).inputs.empty() && model_.node(producer).Input(0) != kNone;
      if (!is_cast) before_casts_[value] = value;
      if (is_cast) value = model_.node(producer).Input(0);
    }
    const ValueId before = before_casts_.at(value);  // a copy: an insertion moves the elements of the map
    for (const ValueId id : walked) before_casts_[id] = before;
    return before;
  }

  Model& model_;
  const std::vector<Cast>& casts_;
  absl::flat_hash_map<ValueId, ValueId> before_casts_;
  // By the value that it reads: what each reader is to read.
  std::map<ValueId, absl::flat_hash_map<std::tuple<GraphId, NodeId, size_t>, ValueId>> redirected_;
  absl::flat_hash_set<std::pair<GraphId, std::string>> taken_;
  int num_misfits_ = 0;
};

}  // namespace

int RestoreUsersCasts(Model& model, const std::vector<RewriteRecord::UsersCast>& casts) {
  return Restorer(model, casts).Run();
}

}  // namespace amp
