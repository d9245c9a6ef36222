#include "tools/sample_inputs.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"
#include "runtime/npy.h"

namespace amp {

absl::StatusOr<NamedDatums> ReadSample(const std::string& path, const Session& session) {
  absl::StatusOr<NamedTensors> arrays = ReadNpz(path);
  if (!arrays.ok()) return InFile(Escaped(path), arrays.status());
  const auto& names = session.model().graph(kMainGraph).names;
  NamedDatums sample;
  for (auto& [name, tensor] : *arrays) {
    if (absl::StartsWith(name, "out::")) continue;
    const std::string input(names.contains(name) ? name : absl::StripPrefix(name, "in::"));
    const auto it = names.find(input);
    if (it == names.end() || !session.model().value(it->second).is_graph_input) {
      return InFile(Escaped(path),
                    UsageError("array '", Escaped(name), "' is named after no input of the model, which has ",
                               QuotedFirstOf(session.InputNames())));
    }
    sample.insert_or_assign(input, std::move(tensor));
  }
  return sample;
}

}  // namespace amp
