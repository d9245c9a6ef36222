// Watches a rewrite and writes into the model what it did (rewrite_record.h).
//
// The changes of a rewrite follow from the ids that it touched, except for the user's casts that folding bypassed.
// Those are found by comparing all readers of the user's casts before and after.
//
//   a ─ Cast(f16) ─ Cast(f32) ─ MatMul     a:f16 ─ MatMul     the second cast stood on the first, and MatMul read it
#ifndef AMP_PASSES_RECORD_RECORD_REWRITE_H_
#define AMP_PASSES_RECORD_RECORD_REWRITE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/functions/inline_functions.h"
#include "ir/graph/graph.h"
#include "passes/cast/insert_casts.h"
#include "passes/cast/narrow_weights.h"
#include "passes/record/rewrite_record.h"

namespace amp {

class RewriteRecorder {
 public:
  // Begins with the model as it came, before initializers are frozen and the opset is lifted, and forgets the model
  // before it. `inlined`: the functions that were inlined already; may be null.
  void Begin(const Model& model, const InlinedFunctions* inlined);
  // A node that something else took the place of.
  void AddReplaced(std::string path) { record_.replaced.push_back(std::move(path)); }
  // A node whose weights were multiplied by a power of two.
  void AddScaled(const ScaledProduct& scaled) { record_.scaled.push_back(scaled); }
  // By earlier rewrites and this one.
  const std::vector<ScaledProduct>& scaled() const { return record_.scaled; }
  // Nodes that were replaced, at any time between.
  void AddUnit(UnitOperator unit) { record_.units.push_back(std::move(unit)); }
  void AddConstants(const std::vector<std::string>& bytes) {
    record_.constants.insert(record_.constants.end(), bytes.begin(), bytes.end());
  }
  // Right before types change.
  void BeforeCasts(const Model& model);
  // Right after the last edit: adds this rewrite to what the model's record says already. Where the model cannot hold a
  // record it has none, and the reason is returned.
  Reason Finish(Model& model, DType low, const std::vector<InsertedCast>& casts,
                const std::vector<NarrowedWeight>& weights);

 private:
  struct SeenCast {
    NodeId node = kNone;
    ValueId source = kNone;
    std::string source_name, output_name;
    DType to = DType::kUndefined;
    std::vector<Use> readers;
  };
  ValueId BeforeOurs(const Model& model, ValueId value) const;
  std::vector<Use> ReadersBehindOurs(const Model& model, ValueId value) const;
  void RecordPorts(const Model& model);
  void RecordAttributes(const Model& model);
  void RecordUsersCasts(const Model& model);

  RewriteRecord record_;
  absl::flat_hash_set<NodeId> ours_;                   // casts of this and of earlier rewrites
  absl::flat_hash_map<ValueId, ValueId> copied_from_;  // low constants of earlier rewrites
  std::vector<RewriteRecord::Attribute> attributes_;
  std::vector<SeenCast> casts_;
  std::vector<RewriteRecord::BodyPort> body_inputs_;  // float32 ones
  std::vector<bool> float32_inputs_, float32_outputs_;
  std::vector<std::string> overridable_;
};

}  // namespace amp

#endif  // AMP_PASSES_RECORD_RECORD_REWRITE_H_
