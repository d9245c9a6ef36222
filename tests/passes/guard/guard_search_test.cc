// Guards that search around a node: how far, and that the order of the file does not matter.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tools/library/amp.h"

namespace amp {
namespace {

// A norm written out, whose root has `bystanders` other readers, before or after the one that divides.
std::string NormWithBystanders(int bystanders, bool division_first) {
  std::vector<std::string> nodes, outputs = {"float[4,8] y"};
  for (int i = 0; i < bystanders; ++i) {
    nodes.push_back(absl::StrCat("[n", i, "] n", i, " = Neg (root)"));
    outputs.push_back(absl::StrCat("float[4,1] n", i));
  }
  nodes.insert(division_first ? nodes.begin() : nodes.end(), "[div] d = Div (m, root)");
  return absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[4,8] x, float[8,8] w) => ()",
                      absl::StrJoin(outputs, ", "), R"() {
    [mm] m = MatMul (x, w)
    [square] s = Mul (m, m)
    [mean] mean = ReduceMean <axes = [1]> (s)
    [root] root = Sqrt (mean)
    )",
                      absl::StrJoin(nodes, "\n"), "\n[last] y = MatMul (d, w)\n}");
}

std::string ReasonForDivision(int bystanders, bool division_first) {
  RewriteOptions options;
  options.report = true;
  const auto result = Rewrite(ModelFromText(NormWithBystanders(bystanders, division_first)), options);
  REQUIRE(result.ok());
  const auto report = nlohmann::json::parse(result->summary.report);
  for (const auto& node : report["nodes"]) {
    if (node["path"] == "div") return node["because"];
  }
  return "no such node";
}

TEST_CASE("a norm is found beside a hundred other readers of its root, in whatever order") {
  for (const bool division_first : {true, false}) {
    CHECK(ReasonForDivision(100, division_first) == "guard: decomposed norms: inside the norm that ends in div");
  }
}

TEST_CASE("a root with thousands of readers is not searched, in whatever order") {
  for (const bool division_first : {true, false}) {
    CHECK(!absl::StrContains(ReasonForDivision(3000, division_first), "decomposed norms"));
  }
}

}  // namespace
}  // namespace amp
