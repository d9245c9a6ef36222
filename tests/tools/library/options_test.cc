// The values that the library's options may have: those that the flags may have. No option is ignored.
#include <limits>

#include "absl/strings/match.h"
#include "nlohmann/json.hpp"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tests/scratch_folder.h"
#include "tools/library/amp.h"
#include "tools/library/rewrite_flags.h"

namespace amp {
namespace {

onnx::ModelProto OneMatMul() {
  return ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> { [mm] y = MatMul (x, w) })");
}

template <typename Change>
absl::Status InMemory(Change change) {
  RewriteOptions options;
  change(options);
  return Rewrite(OneMatMul(), options).status();
}

TEST_CASE("options out of range, or that contradict each other") {
  const auto with_error = [](double error) { return InMemory([&](RewriteOptions& o) { o.max_weight_error = error; }); };
  CHECK(with_error(-1) ==
        absl::InvalidArgumentError("--max-weight-error: expected a number from 0 to 1e+30, found -1"));
  CHECK(with_error(std::numeric_limits<double>::quiet_NaN()).code() == absl::StatusCode::kInvalidArgument);
  CHECK(with_error(std::numeric_limits<double>::infinity()).code() == absl::StatusCode::kInvalidArgument);
  CHECK(with_error(0).ok());
  CHECK(InMemory([](RewriteOptions& o) {
          o.keep_opset = true;
          o.opset = 18;
        }) == absl::InvalidArgumentError("--opset: keep and 18 exclude each other"));
  CHECK(InMemory([](RewriteOptions& o) { o.opset = 0; }).code() == absl::StatusCode::kInvalidArgument);
  for (const std::optional<bool> keep_io : {std::optional<bool>(), std::optional<bool>(true)}) {
    const absl::Status status = InMemory([&](RewriteOptions& o) {
      o.keep_io = keep_io;
      o.keep_io_names = {"x"};
    });
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK(absl::StrContains(status.message(), "expected keep_io to be false"));
  }
  CHECK(InMemory([](RewriteOptions& o) {
          o.keep_io = false;
          o.keep_io_names = {"x"};
        }).ok());
  CHECK(InMemory([](RewriteOptions& o) {
          o.policy = RewriteOptions::Policy::kFloat32;
          o.deny_node = {"mm"};
        }) == absl::InvalidArgumentError("--policy float32 takes a rewrite back as a whole; --deny-node does not apply "
                                         "to that"));
  for (const auto verify : {RewriteOptions::Verify::kAuto, RewriteOptions::Verify::kOff}) {
    CHECK(InMemory([&](RewriteOptions& o) {
            o.policy = RewriteOptions::Policy::kFloat32;
            o.verify = verify;
          }).ok());
  }
}

TEST_CASE("what is about files does not apply in memory") {
  const auto is_refused = [](const absl::Status& status) {
    return status.code() == absl::StatusCode::kInvalidArgument &&
           absl::StrContains(status.message(), "is about files and does not apply to a model in memory");
  };
  CHECK(is_refused(InMemory([](RewriteOptions& o) { o.in_place = true; })));
  CHECK(is_refused(InMemory([](RewriteOptions& o) { o.dry_run = true; })));
  CHECK(is_refused(InMemory([](RewriteOptions& o) { o.report_file = "r.json"; })));
  CHECK(is_refused(InMemory([](RewriteOptions& o) { o.external_data = RewriteOptions::ExternalData::kNever; })));
  CHECK(is_refused(
      InMemory([](RewriteOptions& o) { o.before_replacing = [](const auto&) { return absl::OkStatus(); }; })));
}

TEST_CASE("paths that contradict the options") {
  const ScratchFolder folder;
  const std::string in = folder.Write("in.onnx", OneMatMul().SerializeAsString());
  RewriteOptions options;
  CHECK(RewriteFile(in, "", options).status() ==
        absl::InvalidArgumentError("expected -o OUT.onnx, --in-place or --dry-run"));
  options.in_place = true;
  CHECK(RewriteFile(in, folder.File("out.onnx"), options).status() ==
        absl::InvalidArgumentError("--in-place and -o exclude each other"));
  CHECK(RewriteFile(in, in, options).ok());
  options.in_place = false;
  options.dry_run = true;
  CHECK(RewriteFile(in, "", options).ok());
  options.report_file = in;
  CHECK(RewriteFile(in, "", options).status().code() == absl::StatusCode::kPermissionDenied);
  options.report_file = folder.File("r.json");
  CHECK(RewriteFile(in, folder.File("r.json"), options).ok());  // the output is not looked at in a dry run
}

TEST_CASE("limits hold in memory") {
  CHECK(InMemory([](RewriteOptions& o) { o.limits.nodes = 0; }).code() == absl::StatusCode::kResourceExhausted);
  CHECK(InMemory([](RewriteOptions& o) { o.limits.rank = 1; }).code() == absl::StatusCode::kResourceExhausted);
  CHECK(InMemory([](RewriteOptions& o) { o.limits.rank = 2; }).ok());
}

TEST_CASE("a model that is handed over gives the same result") {
  onnx::ModelProto model = OneMatMul();
  const absl::StatusOr<RewriteResult> kept = Rewrite(model), given = Rewrite(std::move(model));
  REQUIRE(given.ok());
  CHECK(given->model.SerializeAsString() == kept->model.SerializeAsString());
  RewriteOptions options;
  options.deny_node = {"mm"};
  const absl::StatusOr<RewriteResult> unchanged = Rewrite(OneMatMul(), options);
  REQUIRE(unchanged.ok());
  CHECK(unchanged->model.SerializeAsString() == OneMatMul().SerializeAsString());
}

TEST_CASE("progress is told step by step, and can end the rewrite at any of them") {
  const ScratchFolder folder;
  const std::string in = folder.Write("in.onnx", OneMatMul().SerializeAsString());
  std::vector<std::string> steps;
  size_t last = SIZE_MAX;
  RewriteOptions options;
  options.on_progress = [&](const Progress& progress) {
    if (steps.empty() || steps.back() != progress.step) steps.push_back(progress.step);
    return steps.size() > last ? absl::CancelledError("enough") : absl::OkStatus();
  };
  REQUIRE(RewriteFile(in, folder.File("out.onnx"), options).ok());
  CHECK(steps == std::vector<std::string>{"load", "infer", "lift", "classify", "guard", "paint", "casts", "weights",
                                          "fold", "verify", "write"});
  std::filesystem::remove(folder.File("out.onnx"));
  for (last = 0; last < 11; ++last) {
    steps.clear();
    const absl::Status cancelled = RewriteFile(in, folder.File("out.onnx"), options).status();
    CHECK(cancelled.code() == absl::StatusCode::kCancelled);
    CHECK(absl::EndsWith(cancelled.message(), "enough"));
    CHECK_FALSE(folder.Has("out.onnx"));
  }
  steps.clear();
  CHECK(Rewrite(OneMatMul(), options).ok());
  CHECK(steps.size() == 10);
}

TEST_CASE("a rewrite asks between parts of its steps whether it may go on, and ends wherever it may not") {
  size_t asked = 0, last = SIZE_MAX;
  RewriteOptions options;
  options.verify = RewriteOptions::Verify::kOff;
  options.may_go_on = [&] { return asked++ < last ? absl::OkStatus() : absl::CancelledError("enough"); };
  REQUIRE(Rewrite(OneMatMul(), options).ok());
  const size_t all = asked;
  CHECK(all > 25);  // more often than there are steps
  for (last = 0; last < all; ++last) {
    asked = 0;
    CHECK(Rewrite(OneMatMul(), options).status().code() == absl::StatusCode::kCancelled);
    CHECK(asked == last + 1);
  }
}

TEST_CASE("an error before files are replaced leaves them") {
  const ScratchFolder folder;
  const std::string in = folder.Write("in.onnx", OneMatMul().SerializeAsString());
  const std::string earlier = OneMatMul().SerializeAsString();
  const std::string out = folder.Write("out.onnx", earlier), report = folder.Write("r.json", "{}");
  RewriteOptions options;
  options.report_file = report;
  options.before_replacing = [](const RewriteSummary& summary) {
    return summary.changed ? absl::AbortedError("no") : absl::OkStatus();
  };
  CHECK(RewriteFile(in, out, options).status().code() == absl::StatusCode::kAborted);
  CHECK(folder.Read("out.onnx") == earlier);
  CHECK(folder.Read("r.json") == "{}");
}

TEST_CASE("advice is the report's, hints among it") {
  const onnx::ModelProto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[5,12] x, float[12,16] w) => (float[5,16] y) { [mm] y = MatMul (x, w) })");
  RewriteOptions options;
  options.report = true;
  const absl::StatusOr<RewriteResult> result = Rewrite(model, options);
  REQUIRE(result.ok());
  const nlohmann::json report = nlohmann::json::parse(result->summary.report);
  CHECK(report["advice"] == nlohmann::json(result->summary.advice));
  REQUIRE(result->summary.hints.size() == 1);
  CHECK(result->summary.advice == result->summary.hints);
}

TEST_CASE("the report says by which program and flags it was made") {
  RewriteOptions options;
  options.report = true;
  options.dtype = RewriteOptions::Dtype::kBfloat16;
  options.deny_node = {"a", "b*"};
  options.keep_io = false;
  options.keep_io_names = {"x"};
  options.opset = 22;
  options.limits.nodes = 5;
  options.keep_batch_norm = true;
  options.max_weight_error = 0.123456789;
  const absl::StatusOr<RewriteResult> result = Rewrite(OneMatMul(), options);
  REQUIRE(result.ok());
  const nlohmann::json tool = nlohmann::json::parse(result->summary.report)["tool"];
  CHECK(tool["name"] == "amp-rewrite");
  CHECK_FALSE(tool["version"].get<std::string>().empty());
  CHECK(tool["flags"] ==
        nlohmann::json::array({"--dtype=bfloat16", "--deny-node=a", "--deny-node=b*", "--max-weight-error=0.123456789",
                               "--keep-io=x", "--keep-batch-norm", "--opset=22", "--max-nodes=5"}));
  CHECK(ChangedFlags({}).empty());
}

TEST_CASE("what was raised is said in the last line and in the explanation") {
  RewriteOptions options;
  options.explain = true;
  options.opset = 22;
  const absl::StatusOr<RewriteResult> lifted = Rewrite(OneMatMul(), options);
  REQUIRE(lifted.ok());
  CHECK(absl::EndsWith(lifted->summary.line, "; weights 16 B -> 8 B; opset 17 -> 22; IR version 8 -> 10"));
  CHECK(absl::StrContains(lifted->summary.explanation, "\nraised: opset 17 -> 22\nraised: IR version 8 -> 10\n"));
  options.opset.reset();
  const absl::StatusOr<RewriteResult> kept = Rewrite(OneMatMul(), options);
  REQUIRE(kept.ok());
  CHECK(absl::EndsWith(kept->summary.line, "; weights 16 B -> 8 B"));
  CHECK_FALSE(absl::StrContains(kept->summary.explanation, "raised"));
}

TEST_CASE("a model of calls alone says that they were kept, and what looks into them") {
  const onnx::ModelProto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
    g (float[2,2] x) => (float[2,2] y) { y = my.Block (x) }
    <domain: "my", opset_import: ["" : 17]> Block (a) => (b) { b = MatMul (a, a) })");
  RewriteOptions options;
  options.functions = RewriteOptions::Functions::kKeep;
  const absl::StatusOr<RewriteResult> result = Rewrite(model, options);
  REQUIRE(result.ok());
  CHECK(
      result->summary.unchanged_because ==
      "it has no operator of class allow beside 1 call of model-local functions, left as they are; --functions inline "
      "looks into it");
}

}  // namespace
}  // namespace amp
