#include "passes/release_io.h"

#include <string>
#include <vector>

#include "ir/base/status.h"
#include "passes/classify/suggest.h"

namespace amp {

ReleasedIo ReleasedValues::Positions(const Model& model) const {
  ReleasedIo released;
  for (ValueId id : model.graph(kMainGraph).inputs) released.inputs.push_back(inputs.contains(id));
  released.outputs = outputs;
  return released;
}

absl::StatusOr<ReleasedValues> ReleaseIo(const Model& model, const KeepIo& keep) {
  const Graph& main = model.graph(kMainGraph);
  ReleasedValues released;
  released.outputs.assign(main.outputs.size(), !keep.all);
  for (ValueId id : main.inputs) {
    if (!keep.all && !model.value(id).IsInitializer()) released.inputs.insert(id);
  }
  for (const std::string& name : keep.names) {
    bool found = false;
    for (ValueId id : main.inputs) {
      if (model.value(id).name != name) continue;
      released.inputs.erase(id);
      found = true;
    }
    for (size_t i = 0; i < main.outputs.size(); ++i) {
      if (model.value(main.outputs[i]).name != name) continue;
      released.outputs[i] = false;
      found = true;
    }
    if (found) continue;
    std::vector<std::string> known;
    for (const auto* values : {&main.inputs, &main.outputs}) {
      for (ValueId id : *values) known.push_back(model.value(id).name);
    }
    return UsageError("--keep-io: '", Escaped(name), "' is no input or output of the graph", DidYouMean(name, known));
  }
  return released;
}

}  // namespace amp
