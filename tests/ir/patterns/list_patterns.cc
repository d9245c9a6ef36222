// Counts what the recognisers find in each model named on the command line: lines "PATH KIND COUNT". With --reasons it
// also prints lines "PATH: NODE: is no attention: WHY" for products whose left operand comes from a softmax. For
// tests/judge/rewrite/patterns.py. Functions are not inlined.
#include <cstdio>
#include <map>
#include <string>

#include "ir/base/status.h"
#include "ir/file/model_file.h"
#include "ir/graph/graph.h"
#include "ir/graph/infer.h"
#include "ir/operators/operator_facts.h"
#include "ir/patterns/attention_pattern.h"
#include "ir/patterns/gelu_pattern.h"
#include "ir/patterns/group_norm_pattern.h"
#include "ir/patterns/hard_swish_pattern.h"
#include "ir/patterns/norm_pattern.h"
#include "ir/patterns/rotary_pattern.h"
#include "ir/patterns/silu_pattern.h"
#include "ir/patterns/softmax_pattern.h"

namespace amp {
namespace {

enum class Reasons { kNo, kYes };

constexpr Recognised (*kRecognisers[])(const Model&, NodeId) = {
    RecogniseNorm,      RecogniseGroupNorm, RecogniseSoftmax,   RecogniseGelu,
    RecogniseHardSwish, RecogniseSilu,      RecogniseAttention, RecogniseRotary};

bool ReadsSoftmax(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  const NodeId producer = node.inputs.empty() ? NodeId(kNone) : model.value(node.inputs[0]).producer;
  return IsHeavy(node) && producer != kNone && IsSoftmax(model.node(producer));
}

absl::Status List(const std::string& path, Reasons reasons) {
  AMP_ASSIGN_OR_RETURN(LoadedFile file, LoadModel(path));
  AMP_ASSIGN_OR_RETURN(const auto model, Model::Create(std::move(file.arena), file.model, nullptr, file.weights()));
  InferTypes(*model);
  std::map<std::string, int> counts;
  for (const NodeId id : model->AllNodes()) {
    for (const auto recognise : kRecognisers) {
      const Recognised found = recognise(*model, id);
      if (found.found()) ++counts[std::string(PatternName(found.pattern().kind))];
    }
    if (reasons == Reasons::kNo || !ReadsSoftmax(*model, id)) continue;
    const Recognised attention = RecogniseAttention(*model, id);
    if (attention.found()) continue;
    std::printf("%s: %s: is no attention: %s\n", path.c_str(), Escaped(model->NodeLabel(id)).c_str(),
                attention.reason().sentence().c_str());
  }
  for (const auto& [kind, count] : counts) std::printf("%s %s %d\n", path.c_str(), kind.c_str(), count);
  return absl::OkStatus();
}

}  // namespace
}  // namespace amp

int main(int argc, char** argv) {
  int failures = 0;
  amp::Reasons reasons = amp::Reasons::kNo;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--reasons") {
      reasons = amp::Reasons::kYes;
      continue;
    }
    const absl::Status status = amp::List(argument, reasons);
    if (status.ok()) continue;
    ++failures;
    std::printf("%s: error: %s\n", argv[i], std::string(status.message()).c_str());
  }
  return failures == 0 ? 0 : 1;
}
