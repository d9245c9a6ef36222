// The verifier runs after every stage of a rewrite and when one is taken back: a model that is broken there aborts.
#include "ir/graph/verify.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "ir/file/model_file.h"
#include "passes/classify/op_lists.h"
#include "passes/report/stages.h"
#include "passes/sequence/rewrite_model.h"
#include "passes/undo/undo_rewrite.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

constexpr char kModel[] = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2,4] x) => (float[2,2] y) <float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
    [mm] a = MatMul (x, w)
    [ex] y = Exp (a)
  })";

template <typename Function>
bool Aborts(Function function) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(60);
    std::signal(SIGABRT, SIG_DFL);  // Catch2 reports it otherwise
    if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(2);
    function();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE((WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

enum class Breakage { kNone, kNameInMessage };

LoadedFile InMemory() {
  LoadedFile file;
  file.arena = std::make_unique<google::protobuf::Arena>();
  file.model = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(file.arena.get());
  *file.model = ModelFromText(kModel);
  return file;
}

// Breaks the model, which stays behind its message, at the end of one stage.
RewriteSettings Breaking(const LoadedFile& file, Stage at, Breakage how) {
  RewriteSettings settings;
  settings.on_stage = [message = file.model, at, how](Stage stage) {
    if (stage == at && how == Breakage::kNameInMessage) {
      message->mutable_graph()->mutable_node(message->graph().node_size() - 1)->set_output(0, "nobody");
    }
    return absl::OkStatus();
  };
  return settings;
}

absl::StatusOr<RewriteOutcome> Rewrite(LoadedFile& file, RewriteSettings settings, Stage last) {
  const absl::StatusOr<OpLists> lists = OpLists::Load({});
  settings.stop_after = last;
  return RewriteModel(file, nullptr, *lists, settings);
}

TEST_CASE("every stage ends with a look at the model") {
  for (const Stage stage : {Stage::kLoad, Stage::kInfer, Stage::kLift, Stage::kClassify, Stage::kGuard, Stage::kPaint,
                            Stage::kCasts, Stage::kWeights, Stage::kFold}) {
    INFO(StageName(stage));
    const auto rewrite = [&](Breakage how) {
      LoadedFile file = InMemory();
      if (!Rewrite(file, Breaking(file, stage, how), stage).ok()) ::_exit(3);
    };
    CHECK_FALSE(Aborts([&] { rewrite(Breakage::kNone); }));
    CHECK(Aborts([&] { rewrite(Breakage::kNameInMessage); }));
  }
}

TEST_CASE("taking a rewrite back ends with a look at the model") {
  const auto take_back = [](Breakage how) {
    LoadedFile file = InMemory();
    absl::StatusOr<RewriteOutcome> rewritten = Rewrite(file, {}, Stage::kFold);
    LoadedFile low;
    low.model = &rewritten->model->EditProto();
    low.arena = rewritten->model->ReleaseArena();
    const absl::StatusOr<RewriteOutcome> undone = UndoRewrite(low, nullptr, Breaking(low, Stage::kLoad, how));
    if (!undone.ok() || !undone->report.changed) ::_exit(3);
  };
  CHECK_FALSE(Aborts([&] { take_back(Breakage::kNone); }));
  CHECK(Aborts([&] { take_back(Breakage::kNameInMessage); }));
}

TEST_CASE("a name, a use too many and a forgotten use are seen") {
  const auto broken = [](const auto& edit) {
    return Aborts([&] {
      const std::unique_ptr<Model> model = GraphFromText(kModel);
      edit(*model);
      Verify(*model);
    });
  };
  const auto uses = [](Model& model) -> std::vector<Use>& {
    return const_cast<Value&>(model.value(model.graph(kMainGraph).inputs[0])).uses;  // what nobody may do
  };
  CHECK_FALSE(broken([](Model&) {}));
  CHECK(broken([](Model& model) { model.EditProto(NodeId(1)).set_output(0, "nobody"); }));
  CHECK(broken([&](Model& model) { uses(model).push_back(uses(model).front()); }));
  CHECK(broken([&](Model& model) { uses(model).pop_back(); }));
}

}  // namespace
}  // namespace amp
