// The data that a run of amp-train needs, and the results that it keeps: inputs that nobody reads, the table, a run
// that ends ahead of its last epoch.
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "ir/file/text.h"
#include "tests/catch2.h"
#include "tests/tools/train/amp_train_folder.h"
#include "tests/tools/train/step_graphs.h"
#include "tools/rewrite/amp_rewrite.h"
#include "tools/run/amp_run.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

// An input that no node reads, of a shape that is no batch, as exporters leave constants that they folded.
std::string WithUnreadInput() {
  return StepGraph(absl::StrReplaceAll(RegressionText(), {{"(float[n,3] x,", "(float[n,3] x, float[1,1,1,3] mean,"}}));
}

TEST_CASE("what no node reads needs no data, and what is given for it is not looked at") {
  const TrainRuns without, with(WithUnreadInput());
  const ToolOutput expected = without.Train({"--batch", "8", "--checkpoint", "@c.npz"});
  CHECK(with.Train({"--batch", "8", "--checkpoint", "@c.npz"}).exit_code == 0);
  const ToolOutput given = with.Train({"--batch", "8", "--data", "mean=@data.npz:x"});
  CHECK(given.exit_code == 0);
  CHECK_THAT(given.out, Contains("mean: no node reads it, so its file is not looked at\n"));
  CHECK(expected.exit_code == 0);
  // The near miss: what a node reads is demanded, and what is no input is none.
  CHECK_THAT(with.Error({"@step.onnx", "--data", "labels=@data.npz:labels", "--data", "mean=@data.npz:x"}),
             Contains("--data: expected x=FILE"));
  CHECK_THAT(with.TrainError({"--data", "median=@data.npz:x"}), Contains("'median' is no input"));
}

TEST_CASE("what no node reads of a forward model needs no test data either") {
  const TrainRuns runs;
  runs.folder().Write("unread.onnx", *ParseOnnxText(R"(<ir_version: 8, opset_import: ["" : 17]>
    forward (float[n,3] x, float scale) => (float[n,2] y) <float[3,2] w = {0.1, -0.1, 0.2, 0, 0, 0.3}, float[2] b = {0, 0}> {
      h = MatMul (x, w)
      y = Add (h, b)
    })"));
  const ToolOutput output = runs.Train({"--eval-data", "x=@data.npz:x", "--eval-data", "labels=@data.npz:labels",
                                        "--forward", "@unread.onnx", "--save-weights", "@out.onnx"});
  INFO(output.err);
  CHECK(output.exit_code == 0);
  CHECK_THAT(output.out, Contains("test accuracy"));
}

// Without the column of times.
std::vector<std::string> Rows(const TrainRuns& runs, const std::string& file) {
  std::vector<std::string> rows;
  for (const std::string& row : std::vector<std::string>(absl::StrSplit(runs.folder().Read(file), '\n'))) {
    std::vector<std::string> cells = absl::StrSplit(row, ',');
    if (cells.size() > 6) cells.erase(cells.begin() + 6);
    rows.push_back(absl::StrJoin(cells, ","));
  }
  return rows;
}

TEST_CASE("the table is written whenever it is asked for: also by a run that finds nothing to do") {
  const TrainRuns runs;
  const std::vector<std::string> flags = {"--batch", "8", "--epochs", "2"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), flags.begin(), flags.end());
    return more;
  };
  REQUIRE(runs.Train(with({"--checkpoint", "@c.npz", "--log", "@whole.csv"})).exit_code == 0);
  const ToolOutput resumed = runs.Train(with({"--resume", "@c.npz", "--log", "@again.csv"}));
  CHECK_THAT(resumed.err, Contains("nothing to do"));
  CHECK(runs.folder().Read("again.csv") == runs.folder().Read("whole.csv"));
  CHECK(Rows(runs, "again.csv").size() == 4);  // a heading, two epochs, and the end
  // The near miss: nothing is written that was not asked for.
  REQUIRE(runs.Train(with({"--resume", "@c.npz"})).exit_code == 0);
  CHECK(runs.folder().Read("again.csv") == runs.folder().Read("whole.csv"));
}

TEST_CASE("a run that is stopped within an epoch has a table of the epochs before") {
  const TrainRuns runs;
  ToolStreams streams;
  int steps = 0;
  streams.show_progress = [&](const std::string& what) {
    if (absl::StrContains(what, " loss ") && ++steps == 7) ::raise(SIGTERM);
  };
  REQUIRE(runs.Train({"--batch", "8", "--epochs", "3", "--log", "@log.csv"}, streams).exit_code == 143);
  CHECK(Rows(runs, "log.csv").size() == 3);
  steps = 5;
  REQUIRE(runs.Train({"--batch", "8", "--epochs", "3", "--log", "@first.csv"}, streams).exit_code == 143);
  CHECK(Rows(runs, "first.csv").size() == 2);  // of the heading alone
}

// By name, as text.
std::string States(const TrainRuns& runs, const std::string& file) {
  const absl::StatusOr<NamedTensors> arrays = ReadNpz(runs.folder().File(file));
  REQUIRE(arrays.ok());
  std::string text;
  for (const auto& [name, tensor] : *arrays) {
    if (!absl::StartsWith(name, "state/")) continue;
    text += name;
    for (const std::byte b : tensor.bytes()) absl::StrAppend(&text, " ", static_cast<int>(b));
  }
  CHECK_FALSE(text.empty());
  return text;
}

std::vector<std::string> With(std::vector<std::string> flags, const std::vector<std::string>& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

// Without times.
std::string EpochLines(const std::string& out) {
  std::string lines;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(out, '\n'))) {
    if (!absl::StartsWith(line, "epoch ")) continue;
    for (const std::string& part : std::vector<std::string>(absl::StrSplit(line, "  "))) {
      if (!absl::StrContains(part, "ms/step")) absl::StrAppend(&lines, part, "  ");
    }
    lines += '\n';
  }
  return lines;
}

// The rows of an array from `first` to before `last`.
Tensor Rows(const Tensor& all, int64_t first, int64_t last) {
  Dims dims = all.dims();
  const auto row = all.size_bytes() / static_cast<size_t>(dims[0]);
  dims[0] = last - first;
  Tensor part = *Tensor::Create(all.dtype(), dims);
  const auto bytes = all.bytes().subspan(static_cast<size_t>(first) * row, static_cast<size_t>(last - first) * row);
  std::copy(bytes.begin(), bytes.end(), part.mutable_bytes().begin());
  return part;
}

TEST_CASE("a validation split is the last samples, before any are shuffled: as two files of the same samples") {
  const TrainRuns runs;
  const NamedTensors points = Points();
  for (const auto& [name, first, last] : {std::tuple("train.npz", 0, 30), std::tuple("test.npz", 30, 40)}) {
    runs.folder().Write(
        name, *NpzBytes({{"x", Rows(points[0].second, first, last)}, {"labels", Rows(points[1].second, first, last)}}));
  }
  const std::vector<std::string> flags = {"--batch", "8", "--epochs", "3", "--shuffle", "4"};
  const ToolOutput split = runs.Train(With(flags, {"--validation-split", "0.25", "--checkpoint", "@split.npz"}));
  const ToolOutput files =
      runs.Run(With({"@step.onnx", "--data", "x=@train.npz:x", "--data", "labels=@train.npz:labels", "--eval-data",
                     "x=@test.npz:x", "--eval-data", "labels=@test.npz:labels", "--checkpoint", "@files.npz"},
                    flags));
  INFO(split.err << files.err);
  CHECK_THAT(split.out, Contains("  test loss ") && Contains("  test accuracy "));
  CHECK(EpochLines(split.out) == EpochLines(files.out));
  CHECK(States(runs, "split.npz") == States(runs, "files.npz"));
  CHECK_THAT(runs.TrainError({"--validation-split", "1"}), Contains("expected a number between 0 and 1, found 1"));
  CHECK_THAT(runs.TrainError({"--validation-split", "0.999"}), Contains("to train on and to test on, found 0 and 40"));
  CHECK_THAT(runs.TrainError({"--validation-split", "0.5", "--eval-data", "x=@data.npz:x"}),
             Contains("exclude each other"));
  CHECK_THAT(runs.TrainError(With(flags, {"--resume", "@split.npz"})), Contains("expected 30 samples, as when it was"));
}

// Writes data whose labels are swapped in the last ten samples, so that the test loss rises while the training goes on.
void WritePointsThatOverfit(const TrainRuns& runs) {
  NamedTensors points = Points();
  for (int i = 30; i < 40; ++i) {
    int64_t& label = points[1].second.mutable_elements<int64_t>()[static_cast<size_t>(i)];
    label = 1 - label;
  }
  runs.folder().Write("data.npz", *NpzBytes(points));
}

TEST_CASE("patience ends a run whose test loss gets no better, and the best model is kept") {
  const TrainRuns runs;
  WritePointsThatOverfit(runs);
  const std::vector<std::string> flags = {"--batch", "8", "--epochs", "50", "--validation-split", "0.25"};
  const ToolOutput output = runs.Train(With(flags, {"--patience", "3", "--save-best", "@best.onnx", "--forward",
                                                    "@forward.onnx", "--log", "@log.csv", "--checkpoint", "@c.npz"}));
  INFO(output.err << output.out);
  REQUIRE(output.exit_code == 0);
  CHECK_THAT(output.out, Contains("stopped early: the least test loss is that of epoch 1, 3 epochs before\n"));
  CHECK(Rows(runs, "log.csv").size() == 6);  // a heading, four epochs, and the end
  // The model is that of epoch 1.
  REQUIRE(runs.Train({"--batch", "8", "--epochs", "1", "--validation-split", "0.25", "--save-weights", "@one.onnx",
                      "--forward", "@forward.onnx"})
              .exit_code == 0);
  CHECK(runs.folder().Read("best.onnx") == runs.folder().Read("one.onnx"));
  // A run that goes on from there has nothing to do, with patience; without, it goes on.
  const ToolOutput resumed = runs.Train(With(flags, {"--patience", "3", "--resume", "@c.npz"}));
  CHECK_THAT(resumed.err, Contains("nothing to do: --patience had run out behind epoch 4"));
  CHECK_THAT(resumed.out, !Contains("epoch 5/50"));
  CHECK_THAT(runs.Train({"--batch", "8", "--epochs", "5", "--validation-split", "0.25", "--resume", "@c.npz"}).out,
             Contains("epoch 5/5"));
  CHECK(runs.TrainError({"--patience", "3"}) ==
        "--patience is for --validation-split or --eval-data, neither of which is there");
  CHECK(runs.TrainError({"--save-best", "@b.onnx"}) ==
        "--save-best is for --validation-split or --eval-data, neither of which is there");
}

TEST_CASE("a run that keeps the best model says of which epoch that is") {
  const TrainRuns runs;
  WritePointsThatOverfit(runs);
  const std::vector<std::string> flags = {"--batch", "8",         "--validation-split", "0.25",       "--save-best",
                                          "@b.onnx", "--forward", "@forward.onnx",      "--patience", "9"};
  const std::string file = runs.folder().File("b.onnx");
  CHECK_THAT(runs.Train(With(flags, {"--epochs", "3", "--checkpoint", "@c.npz"})).out,
             Contains(absl::StrCat("wrote ", file, ": the least test loss is that of epoch 1\n")));
  CHECK_THAT(runs.Train(With(flags, {"--epochs", "4", "--resume", "@c.npz"})).out,
             Contains(absl::StrCat("left ", file, " as it is: the least test loss is that of epoch 1\n")));
  CHECK(runs.Train(With(flags, {"--epochs", "1", "--quiet"})).out.empty());
}

TEST_CASE("a test loss that is no number has no best epoch") {
  const TrainRuns runs(StepGraph(RegressionText("h = Log (x)")));  // of numbers below zero: NaN
  const ToolOutput output = runs.Train(
      {"--batch", "8", "--epochs", "9", "--validation-split", "0.25", "--patience", "2", "--save-best", "@b.onnx"});
  CHECK(output.exit_code == 0);
  CHECK_THAT(output.out, Contains("stopped early: the test loss was no number in any of 2 epochs\n"));
  CHECK_THAT(output.err, Contains("b.onnx is not written: no test loss is a number\n"));
  CHECK_FALSE(runs.folder().Has("b.onnx"));
}

TEST_CASE("a run that goes on without the split of the run before is told so") {
  const TrainRuns runs;
  REQUIRE(runs.Train({"--batch", "8", "--validation-split", "0.25", "--checkpoint", "@c.npz"}).exit_code == 0);
  CHECK_THAT(
      runs.TrainError({"--batch", "8", "--epochs", "2", "--resume", "@c.npz"}),
      Contains("expected 30 samples, as when it was written; found 40; expected --validation-split 0.25 as then, "
               "found none"));
  CHECK_THAT(runs.TrainError({"--batch", "8", "--epochs", "2", "--resume", "@c.npz", "--validation-split", "0.5"}),
             Contains("found 20; expected --validation-split 0.25 as then, found 0.5"));
}

TEST_CASE("weights that are not finite are told where they skip every step") {
  const TrainRuns runs;
  onnx::ModelProto step;
  REQUIRE(step.ParseFromString(runs.folder().Read("step.onnx")));
  std::string spoilt;
  for (onnx::TensorProto& tensor : *step.mutable_graph()->mutable_initializer()) {
    if (tensor.data_type() != onnx::TensorProto::FLOAT || tensor.dims_size() != 2 || !spoilt.empty()) continue;
    spoilt = tensor.name();
    const int64_t count = tensor.dims(0) * tensor.dims(1);
    const std::vector<float> elements(static_cast<size_t>(count), std::numeric_limits<float>::quiet_NaN());
    tensor.clear_float_data();
    tensor.set_raw_data(elements.data(), elements.size() * sizeof(float));
  }
  REQUIRE_FALSE(spoilt.empty());
  runs.folder().Write("step.onnx", step.SerializeAsString());
  const ToolOutput output = runs.Train({"--batch", "8", "--epochs", "2"});
  CHECK_THAT(output.err, Contains(absl::StrCat("warning: all steps of epoch 1 were skipped for '", spoilt, "', ")) &&
                             Contains("elements, which are not finite: nothing is learnt\n") && !Contains("epoch 2"));
}

TEST_CASE("a run that gets better goes to its end: the near miss of patience") {
  const TrainRuns runs;
  const ToolOutput output = runs.Train({"--batch", "8", "--epochs", "6", "--patience", "2", "--eval-data",
                                        "x=@data.npz:x", "--eval-data", "labels=@data.npz:labels"});
  CHECK_THAT(output.out, Contains("epoch 6/6") && !Contains("stopped early"));
}

TEST_CASE("a run with tests, patience and a best model that is interrupted comes to the same bits") {
  const TrainRuns runs;
  WritePointsThatOverfit(runs);
  const std::vector<std::string> flags = {"--batch",    "8", "--epochs",  "50", "--validation-split", "0.25",
                                          "--patience", "3", "--shuffle", "2",  "--learning-rate",    "0.01"};
  REQUIRE(runs.Train(With(flags, {"--checkpoint", "@whole.npz", "--save-best", "@whole.onnx", "--log", "@whole.csv"}))
              .exit_code == 0);
  for (const int at : {2, 6, 11}) {
    ToolStreams streams;
    int steps = 0;
    streams.show_progress = [&](const std::string& what) {
      if (absl::StrContains(what, " loss ") && ++steps == at) ::raise(SIGTERM);
    };
    const std::vector<std::string> part = With(flags, {"--checkpoint", "@part.npz", "--save-best", "@part.onnx"});
    REQUIRE(runs.Train(part, streams).exit_code == 143);
    REQUIRE(runs.Train(With(part, {"--resume", "@part.npz", "--log", "@part.csv"})).exit_code == 0);
    CHECK(States(runs, "part.npz") == States(runs, "whole.npz"));
    CHECK(runs.folder().Read("part.onnx") == runs.folder().Read("whole.onnx"));
    CHECK(Rows(runs, "part.csv") == Rows(runs, "whole.csv"));
  }
}

TEST_CASE("a loss that is no number ends a run where that is asked for") {
  const TrainRuns runs(StepGraph(RegressionText("h = Log (x)")));  // of numbers below zero: NaN
  CHECK_THAT(runs.TrainError(
                 {"--batch", "8", "--terminate-on-nan", "--save-weights", "@w.onnx", "--forward", "@forward.onnx"}, 4),
             Contains("--terminate-on-nan: the loss is NaN in epoch 1 after 1 batches; no model is saved"));
  CHECK_FALSE(runs.folder().Has("w.onnx"));
  CHECK(runs.Train({"--batch", "8"}).exit_code == 0);
  const TrainRuns sound;
  CHECK(sound.Train({"--batch", "8", "--terminate-on-nan"}).exit_code == 0);
}

TEST_CASE("steps that a finite check skips are in the epoch's line, also without a loss scale") {
  const TrainRuns runs;
  const auto rewrite = [&](const std::vector<std::string>& flags, const std::string& out) {
    const ToolOutput made = RunAmpRewrite(With({runs.folder().File("forward.onnx"), "-o", runs.folder().File(out),
                                                "--train", "--policy", "float32", "--optimizer", "sgd"},
                                               flags));
    INFO(made.err);
    REQUIRE(made.exit_code == 0);
  };
  NamedTensors points = Points();
  points[0].second.mutable_elements<float>()[7] = std::numeric_limits<float>::infinity();
  runs.folder().Write("data.npz", *NpzBytes(points));
  const std::vector<std::string> train = {"--batch", "8", "--save-weights", "@w.onnx", "--checkpoint", "@c.npz"};
  rewrite({}, "step.onnx");
  CHECK_THAT(runs.Train(train).out, Contains("  skipped 1  ") && !Contains("loss scale") && Contains("w.onnx"));

  rewrite({"--no-finite-check"}, "step.onnx");
  const std::string before = runs.folder().Read("w.onnx"), checkpoint = runs.folder().Read("c.npz");
  const ToolOutput kept = runs.Train(train), saved = runs.Train({"--batch", "8", "--save-weights", "@w.onnx"});
  CHECK((kept.exit_code == 4 && saved.exit_code == 4));
  CHECK_THAT(kept.err,
             Contains("--checkpoint: ") && Contains("c.npz is not written: expected finite numbers, found NaN "
                                                    "or infinities in 'w', "));
  CHECK_THAT(saved.err,
             Contains("--save-weights: ") && Contains("w.onnx is not written") && Contains("--allow-nan writes them"));
  CHECK((runs.folder().Read("w.onnx") == before && runs.folder().Read("c.npz") == checkpoint));
  const ToolOutput allowed = runs.Train(With(train, {"--allow-nan"}));
  CHECK(allowed.exit_code == 0);
  CHECK_THAT(allowed.out, !Contains("skipped") && Contains("loss nan"));
  CHECK(runs.folder().Read("w.onnx") != before);
}

TEST_CASE("a regression is made, trained, tested and evaluated from end to end") {
  const TrainRuns runs;
  std::vector<float> x, y;
  for (int i = 0; i < 200; ++i) {
    const double a = std::sin(i * 12.9), b = std::cos(i * 7.7);
    x.insert(x.end(), {static_cast<float>(a), static_cast<float>(b)});
    y.push_back(static_cast<float>(2 * a - b + 0.5));
  }
  runs.folder().Write("r.npz", *NpzBytes({{"x", Tensor::Of<float>(DType::kFloat32, {200, 2}, x)},
                                          {"y", Tensor::Of<float>(DType::kFloat32, {200}, y)}}));
  REQUIRE(runs.Run({"new", "mlp", "2-16-1", "--task", "regression", "-o", "@r.onnx"}).exit_code == 0);
  const ToolOutput made = RunAmpRewrite({runs.folder().File("r.onnx"), "-o", runs.folder().File("rs.onnx"), "--train",
                                         "--loss", "mse", "--optimizer", "adam", "--learning-rate", "0.01"});
  INFO(made.err);
  REQUIRE(made.exit_code == 0);
  const ToolOutput output = runs.Run({"@rs.onnx", "--data", "x=@r.npz:x", "--data", "labels=@r.npz:y", "--batch", "20",
                                      "--epochs", "60", "--shuffle", "1", "--validation-split", "0.2", "--save-weights",
                                      "@rt.onnx", "--forward", "@r.onnx", "--log", "@r.csv"});
  INFO(output.err << output.out);
  REQUIRE(output.exit_code == 0);
  CHECK_THAT(output.out,
             Contains("  mean absolute error ") && Contains("  test mean absolute error ") && !Contains("accuracy"));
  CHECK_THAT(runs.folder().Read("r.csv"), Contains(",mean_absolute_error,test_mean_absolute_error\n"));
  const ToolOutput evaluated =
      RunAmpRun({runs.folder().File("rt.onnx"), "--evaluate", "x=" + runs.folder().File("r.npz") + ":x", "--evaluate",
                 "y=" + runs.folder().File("r.npz") + ":y", "--json"});
  INFO(evaluated.err << evaluated.out);
  REQUIRE(evaluated.exit_code == 0);
  double error = 1;
  REQUIRE(absl::SimpleAtod(evaluated.out.substr(evaluated.out.find("mean_absolute_error\": ") + 22, 8), &error));
  CHECK(error < 0.1);
  CHECK(runs.Error({"new", "cnn", "--task", "regression", "-o", "@c.onnx"}) ==
        "new: cnn is for --task classification alone");
  CHECK_THAT(runs.Error({"new", "mlp", "2-1", "--task", "guess", "-o", "@c.onnx"}),
             Contains("expected classification or regression"));
}

}  // namespace
}  // namespace amp
