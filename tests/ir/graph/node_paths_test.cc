#include "ir/graph/node_paths.h"

#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "ir/functions/inline_functions.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

using Paths = std::set<std::string>;

Paths PathsOf(const Model& model) {
  const NodePaths paths = FindNodePaths(model);
  Paths unique(paths.nodes.begin(), paths.nodes.end());
  CHECK(unique.size() == paths.nodes.size());
  return unique;
}

TEST_CASE("bodies have their owner's path in front, and their attribute's name where there are several") {
  const auto model = GraphFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, int64 n, float[4] x) => (float[4] y, float[4] z) {
      [loop] y = Loop (n, c, x) <body = b (int64 i, bool go, float[4] s) => (bool on, float[4] t) {
        on = Identity (go)
        [if] t = If (c) <
          then_branch = t () => (float[4] p) { [n] p = Relu (s) },
          else_branch = e () => (float[4] q) { [n] r = Relu (s) q = Relu (r) }>
      }>
      w = If (c) <
        then_branch = t2 () => (float[4] p2) { [n] p2 = Relu (x) },
        else_branch = e2 () => (float[4] q2) { q2 = Relu (x) }>
      z = Relu (x)
    })");
  CHECK(PathsOf(*model) == Paths{"loop", "loop/Identity#0", "loop/if", "loop/if/then_branch/n", "loop/if/else_branch/n",
                                 "loop/if/else_branch/Relu#0", "If#0", "If#0/then_branch/n", "If#0/else_branch/Relu#0",
                                 "Relu#0"});
  const auto graphs = FindNodePaths(*model).graphs;
  CHECK(graphs[kMainGraph].empty());
  CHECK(Paths(graphs.begin(), graphs.end()) ==
        Paths{"", "loop", "loop/if/then_branch", "loop/if/else_branch", "If#0/then_branch", "If#0/else_branch"});
}

TEST_CASE("names with slashes, or that are there twice, still give every node a path of its own") {
  const auto model = GraphFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[4] x) => (float[4] y, float[4] z, float[4] u, float[4] v) {
      [if] y = If (c) <
        then_branch = t () => (float[4] p) { [a] o = Relu (x) ["if/a"] p = Relu (o) },
        else_branch = e () => (float[4] q) { [a] q = Relu (x) }>
      ["if/then_branch/a"] z = Relu (x)
      [same] u = Relu (x)
      [same] v = Relu (x)
      ["same~2"] w = Relu (x)
    })");
  CHECK(PathsOf(*model).size() == 8);
}

TEST_CASE("inlined nodes have the call in front, once") {
  auto arena = std::make_unique<google::protobuf::Arena>();
  auto* proto = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(arena.get());
  *proto = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
    g (bool c, float[4] x) => (float[4] y) {
      [if] y = If (c) <
        then_branch = t () => (float[4] p) { [call] p = my.Outer (x, c) },
        else_branch = e () => (float[4] q) { [call] q = my.Inner (x) }>
    }
    <domain: "my", opset_import: ["" : 17, "my" : 1]>
    Outer (a, c) => (b) {
      [if] b = If (c) <
        then_branch = t () => (p) { [in] p = my.Inner (a) },
        else_branch = e () => (q) { [relu] q = Relu (a) }>
    }
    <domain: "my", opset_import: ["" : 17]>
    Inner (a) => (b) { [neg] b = Neg (a) })");
  absl::StatusOr<InlinedFunctions> inlined = InlineFunctions(*proto, {});
  REQUIRE(inlined.ok());
  const auto model = *Model::Create(std::move(arena), proto);
  MarkCalls(*model, *inlined);
  CHECK(PathsOf(*model) == Paths{"if", "if/then_branch/call/if", "if/then_branch/call/if/then_branch/in/neg",
                                 "if/then_branch/call/if/else_branch/relu", "if/else_branch/call/neg"});
  const auto calls = FindCallPaths(*model);
  CHECK(Paths(calls.begin(), calls.end()) ==
        Paths{"if/then_branch/call", "if/then_branch/call/if/then_branch/in", "if/else_branch/call"});
}

// Nested Ifs; names are distinct within a graph, and come from few letters and slashes.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}
  std::string Body(int depth) {
    std::string nodes;
    std::set<std::string> names;
    for (int left = 1 + Pick(4); left > 0; --left) absl::StrAppend(&nodes, Node(depth, names), "\n");
    last_ = absl::StrCat("v", num_values_ - 1);
    return nodes;
  }
  const std::string& last() const { return last_; }

 private:
  int Pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  std::string Name(std::set<std::string>& names) {
    static const char* const kParts[] = {"a", "b", "If#0", "Relu#0", "then_branch", "else_branch", "a~2"};
    if (Pick(4) == 0) return "";
    std::string name = kParts[Pick(7)];
    while (Pick(2) == 0) absl::StrAppend(&name, "/", kParts[Pick(7)]);
    return names.insert(name).second ? absl::StrCat("[\"", name, "\"] ") : "";
  }
  std::string Node(int depth, std::set<std::string>& names) {
    const std::string name = Name(names);
    if (depth == 0 || Pick(2) == 0) return absl::StrCat(name, "v", num_values_++, " = Relu (x)");
    const std::string then_nodes = Body(depth - 1), then_output = last_;
    const std::string else_nodes = Body(depth - 1), else_output = last_;
    return absl::StrCat(name, "v", num_values_++, " = If (c) <then_branch = t () => (float[4] ", then_output, ") { ",
                        then_nodes, " }, else_branch = e () => (float[4] ", else_output, ") { ", else_nodes, " }>");
  }

  std::mt19937 random_;
  int num_values_ = 0;
  std::string last_;
};

TEST_CASE("no two nodes have one path, whatever their names") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Generator generator(seed);
    const std::string nodes = generator.Body(3);
    const std::string text =
        absl::StrCat("<ir_version: 8, opset_import: [\"\" : 17]> g (bool c, float[4] x) => (float[4] ",
                     generator.last(), ") {", nodes, "}");
    INFO(text);
    PathsOf(*GraphFromText(text));
  }
}

}  // namespace
}  // namespace amp
