#include "passes/cast/fold_casts.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/operators/operator_facts.h"
#include "passes/cast/insert_casts.h"

namespace amp {
namespace {

// The value that readers of cast `id` can read instead; kNone if there is none.
ValueId EquivalentSource(const Model& model, NodeId id) {
  if (!IsPlainCast(model, id)) return kNone;
  const NodeId first = model.value(model.node(id).Input(0)).producer;
  if (first == kNone || !IsPlainCast(model, first) || !(model.node(id).inserted || model.node(first).inserted))
    return kNone;
  const ValueId source = model.node(first).Input(0);
  const DType src = model.value(source).dtype;
  const DType mid = model.value(model.node(first).Output(0)).dtype;
  const DType dst = model.value(model.node(id).Output(0)).dtype;
  return src == dst && CastChainIsExact(src, mid, dst) ? source : kNone;
}

// Lets `source` be the graph output that cast `id` gives, if nothing else gives it its name.
void HandOverOutput(Model& model, NodeId id, ValueId source) {
  const ValueId out = model.node(id).Output(0);
  const bool is_free =
      model.value(source).producer != kNone && model.value(source).graph == kMainGraph && !model.IsModelOutput(source);
  if (!model.IsModelOutput(out) || !is_free) return;
  model.TakeOverGraphOutputs(out, source, model.UniqueName(absl::StrCat(model.value(source).name, "_folded")));
}

bool IsDead(const Model& model, NodeId id) {
  return IsPlainCast(model, id) && model.value(model.node(id).Output(0)).uses.empty();
}

// A cast that lost readers may have its last ones in branches alone: it runs there, and only where it is needed.
void SinkCast(Model& model, NodeId id, FoldedCasts& folded) {
  const Node& cast = model.node(id);
  if (cast.erased || !cast.inserted) return;
  const ValueId source = cast.Input(0), out = cast.Output(0);
  const std::vector<ScopedReaders> places = PlaceConversions(model, source, model.value(out).uses);
  if (std::any_of(places.begin(), places.end(), [&](const auto& place) { return place.scope == cast.graph; })) return;
  model.MoveInward(id, places[0].scope);
  const absl::Span<const ScopedReaders> others = absl::MakeConstSpan(places).subspan(1);
  for (const ScopedReaders& place : others) model.MoveUses(out, source, place.readers);
  for (const NodeId copy : CastInserter(model).Insert(source, model.value(out).dtype, others)) {
    folded.copies.emplace_back(id, copy);
  }
}

}  // namespace

FoldedCasts FoldCasts(Model& model) {
  FoldedCasts folded;
  absl::flat_hash_set<NodeId> seen;
  std::vector<NodeId> lost_readers;
  for (const GraphId scope : model.AllGraphs()) {
    for (NodeId id : model.NodesInOrder(scope)) {
      if (model.node(id).erased) continue;  // the first of a pair that spans scopes
      const ValueId source = EquivalentSource(model, id);
      if (source == kNone) continue;
      const NodeId first = model.value(model.node(id).Input(0)).producer;
      // An output of a body is made in the body: runtimes do not take an outer value for one.
      const GraphId home = model.value(source).graph;
      model.ReplaceUses(model.node(id).Output(0), source,
                        [&](const Use& use) { return !use.IsGraphOutput() || use.graph == home; });
      HandOverOutput(model, id, source);
      if (seen.insert(first).second) lost_readers.push_back(first);
      for (NodeId cast : {id, first}) {
        if (!IsDead(model, cast)) continue;
        model.Erase(cast);
        folded.erased.push_back(cast);
      }
    }
  }
  for (const NodeId id : lost_readers) SinkCast(model, id, folded);
  return folded;
}

}  // namespace amp
