// The record of a rewrite, kept in the model, so that it can be taken back (undo_rewrite.h).
//
//   metadata_props["amp.rewrite"] = {"v":2,"types":["float16"],"opset":17,"ir":8,"casts":["x_to_float16"],
//                                    "narrowed":["w",["w",1]],"copies":[["b_float16","b"]],"inputs":["x"],
//                                    "units":[{"node":"n","opset":17,"nodes":["...",...],"reads":[["x",0],...]}],
//                                    "scaled":[{"node":"y_scaled","weights":"w","exponent":20,"mul":"y"}],
//                                    "scopes":[["k",0]]}
//
// In the file, "w" is a value of the main graph and ["w",1] one of the body that `scopes` lists first: body 0 of the
// node whose first output is k. Nodes are called by their first output everywhere, since they need no name. In memory
// both are ids, so that a later rewrite may rename what it likes. Nothing is read off names: a cast that a user called
// x_to_float16 is not in the record. A later rewrite of the same model adds to the record (record_rewrite.h); what was
// before the first one stays known.
#ifndef AMP_PASSES_RECORD_REWRITE_RECORD_H_
#define AMP_PASSES_RECORD_REWRITE_RECORD_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/base/reason.h"
#include "ir/graph/graph.h"
#include "ir/patterns/scaled_product.h"
#include "ir/patterns/unit_operator.h"

namespace amp {

struct RewriteRecord {
  struct BodyPort {
    GraphId body = kMainGraph;
    size_t port = 0;
  };
  // An attribute that followed its node's type; `before` is its bytes, nothing where it was absent.
  struct Attribute {
    NodeId node = kNone;
    std::string name;
    std::optional<std::string> before;
  };
  // A cast of the user's that folding made superfluous: `readers` take something further up, and it may be gone.
  struct UsersCast {
    NodeId node = kNone;  // where it still stands; else all that follows but `readers` says how to make it again
    std::string name, output;
    std::string description;  // ir/file/description.h
    DType to = DType::kUndefined;
    GraphId graph = kMainGraph;
    ValueId source = kNone;             // what it read: a value,
    std::optional<size_t> source_cast;  // or what another of the record's casts gives
    std::string source_name;            // what `source` was called before, if that is not what it is called now
    std::vector<Use> readers;
  };

  std::vector<std::string> types;                   // low types used
  int opset = 0, ir_version = 0;                    // before
  std::vector<NodeId> casts;                        // inserted
  std::vector<ValueId> narrowed;                    // constants that are low under their own name
  std::vector<std::pair<ValueId, ValueId>> copies;  // low copy, float32 original
  std::vector<std::string> inputs, outputs;         // of the main graph, that became low: these names never change
  std::vector<BodyPort> body_inputs;                // that became low
  std::vector<std::string> inlined;                 // model-local functions that are no longer called
  std::vector<std::string> frozen;                  // graph inputs that --freeze-initializers took away
  std::vector<std::string> replaced;                // nodes that something else took the place of, for good
  std::vector<Attribute> attributes;
  std::vector<UsersCast> users_casts;
  std::vector<std::string> constants;  // initializers that went with what read them, as bytes
  std::vector<UnitOperator> units;     // that stand for nodes which were written out before
  std::vector<ScaledProduct> scaled;   // whose weights are times a power of two
  int num_misfits = 0;                 // entries that name what the model does not have
};

// Nothing for a model that was never rewritten. kDataLoss for an entry that is no such record.
absl::StatusOr<std::optional<RewriteRecord>> ReadRecord(const Model& model);
// Whether an earlier rewrite left a record that can be read. Taking it back replaces low copies by the constants.
bool HasRecord(const Model& model);
// Why the model cannot hold this record, which is then not in it. An entry of that key that is no record
// is somebody else's: writing and removing leave it as it is.
Reason WriteRecord(Model& model, const RewriteRecord& record);
void RemoveRecord(Model& model);

}  // namespace amp

#endif  // AMP_PASSES_RECORD_REWRITE_RECORD_H_
