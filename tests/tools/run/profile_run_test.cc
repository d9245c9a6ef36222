// The table and the trace that --profile makes of the times of nodes, and the complete times of a run itself.
#include "tools/run/profile_run.h"

#include "ir/file/model_file.h"
#include "ir/file/text.h"
#include "nlohmann/json.hpp"
#include "tests/catch2.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

constexpr absl::string_view kBranches = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (bool c, float[2] x) => (float[2] y) {
    [first] h = Relu (x)
    [choice] y = If <then_branch = t () => (float[2] p) { [inner] q = Neg (h)  [last] p = Exp (q) },
                     else_branch = e () => (float[2] r) { r = Abs (h) }> (c)
  })";

Profile ProfileOf(absl::string_view model, const SessionOptions& options) {
  const absl::StatusOr<std::string> bytes = ParseOnnxText(model);
  REQUIRE(bytes.ok());
  absl::StatusOr<LoadedFile> file = ParseModel(*bytes);
  REQUIRE(file.ok());
  const absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(*std::move(file), options);
  REQUIRE(session.ok());
  Tensor yes = Tensor::Of<bool>(DType::kBool, {}, {true});
  const absl::StatusOr<Profile> profile =
      ProfileRun(**session, {{"c", yes}, {"x", Tensor::Of<float>(DType::kFloat32, {2}, {1, 2})}}, 1, true);
  REQUIRE(profile.ok());
  return *profile;
}

TEST_CASE("the table has a line per operator, the one that takes most first") {
  const Profile profile = {.nodes = {{"a", "Relu-14", "reference", 0, 1000, 1000},
                                     {"b", "my.domain::Gate-1", "reference", 1000, 6000, 6000},
                                     {"c", "Relu-14", "reference", 7000, 2000, 2000}},
                           .run_us = 10'000};
  CHECK(ProfileTable(profile) ==
        "operator             calls          ms   share\n"
        "my.domain::Gate-1        1           6   60.0%\n"
        "Relu-14                  2           3   30.0%\n"
        "the whole run: 10 ms, 1 of them between nodes\n");
}

TEST_CASE("the trace has a complete event per node, in microseconds") {
  const Profile profile = {.nodes = {{"head/\xff", "Relu-14", "onednn jit", 1.5, 20.25, 20.25}}, .run_us = 30};
  const nlohmann::json trace = nlohmann::json::parse(ProfileTrace(profile));
  REQUIRE(trace["traceEvents"].size() == 1);
  const nlohmann::json& event = trace["traceEvents"][0];
  CHECK(event["name"] == "Relu-14");
  CHECK(event["ph"] == "X");
  CHECK(event["ts"] == 1.5);
  CHECK(event["dur"] == 20.25);
  CHECK(event["args"]["kernel"] == "onednn jit");
  CHECK(event["args"]["node"] == "base64:aGVhZC//");  // names in models need not be UTF-8
}

TEST_CASE("values are alive from where they are given to where they are read last") {
  const Profile profile = ProfileOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[2] x) => (float[2] y, bool d) {
      [first] a = Exp (x)  [second] b = Concat <axis = 0> (a, a)  [third] s = ReduceSum <keepdims = 0> (b)
      [fourth] y = Add (a, s)  [fifth] d = Not (c) })",
                                    OneByOne());
  const auto of = [&](const std::string& path) {
    const auto it = absl::c_find_if(profile.alive, [&](const AliveBytes& each) { return each.path == path; });
    REQUIRE(it != profile.alive.end());
    return it->bytes;
  };
  // c is of one byte, x and a of 8, b of 16, s of 4.
  CHECK(of("first") == 1 + 8 + 8);
  CHECK(of("second") <= 1 + 8 + 8 + 16);  // whether inputs stay is the caller's
  CHECK(of("second") >= 1 + 8 + 16);
  CHECK(of("third") - of("second") == 4);
  CHECK(of("fourth") - of("third") == 8 - 16);
}

TEST_CASE("nodes of a body lie within the one that they belong to, and are not counted twice") {
  const Profile profile = ProfileOf(kBranches, OneByOne());
  REQUIRE(profile.nodes.size() == 4);
  const ProfiledNode &first = profile.nodes[0], &inner = profile.nodes[1], &last = profile.nodes[2];
  const ProfiledNode& choice = profile.nodes[3];
  CHECK(first.path == "first");
  CHECK(inner.path == "choice/then_branch/inner");
  CHECK(inner.op == "Neg-13");
  CHECK_THAT(inner.kernel, Contains("loops"));
  CHECK(choice.op == "If-16");
  CHECK(first.start_us >= 0);
  CHECK(inner.start_us >= choice.start_us);
  CHECK(choice.own_us == choice.duration_us - last.duration_us - inner.duration_us);
  CHECK(inner.own_us == inner.duration_us);
  CHECK(profile.run_us >= first.duration_us + choice.duration_us);
}

TEST_CASE("nodes that run as a unit are one entry") {
  const Profile profile = ProfileOf(kBranches, {});
  REQUIRE(profile.nodes.size() == 3);
  CHECK(profile.nodes[1].op == "Chain of 2");
}

}  // namespace
}  // namespace amp
