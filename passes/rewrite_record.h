// What a rewrite did to a model, kept in the model, so that it can be taken back (undo_rewrite.h).
//
//   metadata_props["amp.rewrite"] = {"v":1,"types":["float16"],"opset":17,"ir":8,"casts":["x_to_float16"],
//                                    "narrowed":["w"],"copies":[["b_float16","b"]],"inputs":["x"]}
//
// Names in the record are those that the rewritten model has. Nothing is read off names: a cast that a user called
// x_to_float16 is not in the record. A later rewrite of the same model adds to the record; what was before the first
// one stays known.
#ifndef AMP_PASSES_REWRITE_RECORD_H_
#define AMP_PASSES_REWRITE_RECORD_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "passes/insert_casts.h"
#include "passes/narrow_weights.h"

namespace amp {

struct RewriteRecord {
  // An input or output of a body.
  struct BodyPort {
    std::string owner;  // the first output of the node that holds the body
    int body = 0, port = 0;
  };
  // An attribute that followed its node's type; `before` is its bytes, nothing where it was absent.
  struct Attribute {
    std::string output;  // of the node: its first
    std::string name;
    std::optional<std::string> before;
  };
  // A cast of the user's that folding made superfluous: these readers take its input, and it may be gone.
  struct BypassedCast {
    std::string name, input, output;  // as they were called before
    std::string source;               // what `input` is called now
    DType to = DType::kUndefined;
    std::vector<std::pair<std::string, int>> readers;  // (first output, input port) of nodes
    BodyPort scope;  // where the cast stood, if that is another graph than its input's
    std::vector<BodyPort> body_outputs;
  };

  std::vector<std::string> types;                           // low types used
  int opset = 0, ir_version = 0;                            // before
  std::vector<std::string> casts;                           // inserted nodes
  std::vector<std::string> narrowed;                        // constants that are low under their own name
  std::vector<std::pair<std::string, std::string>> copies;  // low copy, float32 original
  std::vector<std::string> inputs, outputs;                 // graph inputs and outputs that became low
  std::vector<BodyPort> body_inputs;                        // that became low
  std::vector<std::string> inlined;                         // model-local functions that are no longer called
  std::vector<std::string> frozen;                          // graph inputs that --freeze-initializers took away
  std::vector<Attribute> attributes;
  std::vector<BypassedCast> bypassed_casts;
};

// Nothing for a model that was never rewritten. kDataLoss for an entry that is no such record.
absl::StatusOr<std::optional<RewriteRecord>> ReadRecord(const Model& model);
void WriteRecord(Model& model, const RewriteRecord& record);
void RemoveRecord(Model& model);

// Watches one rewrite.
class RewriteRecorder {
 public:
  // Of the model as it came, before initializers are frozen and the opset is lifted.
  void Begin(const Model& model, const std::vector<std::string>& inlined_functions);
  // Right before types change.
  void BeforeCasts(const Model& model);
  // Right after the last edit: adds this rewrite to what the model's record says already. What names cannot tell apart
  // is not recorded: the record goes, and the reason is returned; else nothing.
  std::string Finish(Model& model, DType low, const std::vector<InsertedCast>& casts,
                     const std::vector<NarrowedWeight>& weights, const std::vector<NodeId>& erased_casts);

 private:
  std::string ObstacleToRecord(const Model& model, const absl::flat_hash_set<std::string>& ours) const;
  struct SeenAttribute {
    NodeId node;
    std::string name;
    std::optional<std::string> before;
  };
  struct SeenCast {
    ValueId input;
    std::vector<Use> readers;
    RewriteRecord::BypassedCast record;
  };
  RewriteRecord before_;
  std::vector<SeenAttribute> attributes_;
  std::vector<std::pair<NodeId, SeenCast>> casts_;
  std::vector<Use> body_inputs_;  // float32 ones; of a Use, graph and port
  std::vector<bool> float32_inputs_, float32_outputs_;
  std::vector<std::string> overridable_;
};

}  // namespace amp

#endif  // AMP_PASSES_REWRITE_RECORD_H_
