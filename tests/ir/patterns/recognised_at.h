// Runs a recogniser of patterns on a graph that is given as text, for tests of the recognisers.
#ifndef AMP_TESTS_IR_PATTERNS_RECOGNISED_AT_H_
#define AMP_TESTS_IR_PATTERNS_RECOGNISED_AT_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "ir/graph/infer.h"
#include "ir/patterns/pattern.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {

using Recognise = Recognised (*)(const Model&, NodeId);

// The pattern, or the reason, at the node that gives `anchor`.
inline std::string RecognisedAt(Recognise recognise, const std::string& graph, const std::string& anchor,
                                int opset = 17) {
  const auto model = GraphFromText(absl::StrCat("<ir_version: 8, opset_import: [\"\" : ", opset, "]> g ", graph));
  InferTypes(*model);
  const auto& names = model->graph(kMainGraph).names;
  const auto it = names.find(anchor);
  REQUIRE(it != names.end());
  const Recognised result = recognise(*model, model->value(it->second).producer);
  return result.found() ? PatternText(*model, result.pattern()) : result.reason().sentence();
}

}  // namespace amp

#endif  // AMP_TESTS_IR_PATTERNS_RECOGNISED_AT_H_
