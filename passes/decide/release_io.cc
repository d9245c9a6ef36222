#include "passes/decide/release_io.h"

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "ir/base/status.h"
#include "passes/classify/suggest.h"

namespace amp {
namespace {

// "; write --keep-io none" for false: truth values, which flags of other tools take here.
std::string MeantAsChoice(absl::string_view name) {
  const std::string word = absl::AsciiStrToLower(name);
  for (const char* yes : {"true", "yes", "on", "1"}) {
    if (word == yes) return "; write --keep-io all, the default";
  }
  for (const char* no : {"false", "no", "off", "0"}) {
    if (word == no) return "; write --keep-io none";
  }
  return "";
}

}  // namespace

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
    const std::string meant = MeantAsChoice(name);
    return UsageError("--keep-io: '", Escaped(name), "' is no input or output of the graph",
                      meant.empty() ? DidYouMean(name, known) : meant);
  }
  return released;
}

}  // namespace amp
