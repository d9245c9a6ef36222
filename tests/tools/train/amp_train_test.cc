// The inputs of amp-train, and what it prints and writes. An error is one line and its exit code.
#include "tools/train/amp_train.h"

#include <signal.h>
#include <sys/stat.h>

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "ir/file/text.h"
#include "runtime/session.h"
#include "runtime/values/npy.h"
#include "tests/catch2.h"
#include "tests/damaged_archive.h"
#include "tests/tools/train/amp_train_folder.h"
#include "tests/tools/train/step_graphs.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

using Runs = TrainRuns;

TEST_CASE("training prints a line per epoch, writes a table, a checkpoint and the trained model") {
  const Runs runs;
  const ToolOutput output =
      runs.Train({"--batch", "8", "--epochs", "3", "--shuffle", "1", "--eval-data", "x=@data.npz:x", "--eval-data",
                  "labels=@data.npz:labels", "--log", "@log.csv", "--checkpoint", "@c.npz", "--save-weights",
                  "@out.onnx", "--forward", "@forward.onnx", "--curve"});
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  const std::vector<std::string> lines = absl::StrSplit(output.out, '\n');
  REQUIRE(lines.size() > 6);
  CHECK(lines[0] == "x: float32[40,3] as float32[n,3]");
  CHECK(lines[1] == "labels: int64[40] as int64[n]");
  CHECK_THAT(lines[2], StartsWith("epoch 1/3  loss "));
  CHECK_THAT(lines[2], Contains("  loss scale 1024  skipped 0  ") && Contains("  test accuracy 0."));
  CHECK_THAT(lines[4], StartsWith("epoch 3/3  loss "));
  CHECK_THAT(output.out, Contains("loss over 15 steps\n"));
  CHECK_THAT(output.out, Contains("wrote " + runs.folder().File("out.onnx")));
  const std::vector<std::string> rows = absl::StrSplit(runs.folder().Read("log.csv"), '\n');
  REQUIRE(rows.size() == 5);
  CHECK_THAT(rows[3], StartsWith("3,"));
  CHECK(runs.folder().Has("c.npz"));
  CHECK(runs.folder().Has("out.onnx"));
}

TEST_CASE("the log is a page with the same table where its name says so") {
  const Runs runs;
  REQUIRE(runs.Train({"--batch", "8", "--epochs", "2", "--log", "@log.html"}).exit_code == 0);
  const std::string page = runs.folder().Read("log.html");
  CHECK_THAT(page, StartsWith("<!doctype html>") && Contains("\"kind\":\"training\""));
  CHECK_THAT(page, Contains("\"csv\":\"epoch,loss,accuracy,") && Contains("\\n2,"));
  REQUIRE(runs.Train({"--batch", "8", "--epochs", "2", "--log", "@log.html"}).exit_code == 0);  // itself
  runs.folder().Write("other.html", "a text");
  CHECK(runs.Train({"--batch", "8", "--epochs", "2", "--log", "@other.html"}).exit_code == 4);
}

TEST_CASE("verbose says what steps run on, and what the phases took") {
  const Runs runs;
  const ToolOutput output = runs.Train({"--batch", "8", "--verbose"});
  CHECK(output.exit_code == 0);
  const std::vector<std::string> lines = absl::StrSplit(output.err, '\n', absl::SkipEmpty());
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], StartsWith("amp-train: on cpu, ") && Contains(" loops, "));
  CHECK_THAT(lines[1], StartsWith("amp-train: load ") && Contains(" ms, data ") && Contains(" ms, steps ") &&
                           Contains(" ms, save "));
  CHECK(runs.Train({"--batch", "8"}).err.empty());
}

TEST_CASE("the model that is written gives the accuracy that was printed") {
  const Runs runs;
  const std::vector<std::string> eval = {"--eval-data", "x=@data.npz:x", "--eval-data", "labels=@data.npz:labels"};
  std::vector<std::string> flags = {"--batch", "8", "--epochs", "20", "--save-weights", "@out.onnx"};
  flags.insert(flags.end(), eval.begin(), eval.end());
  const ToolOutput trained = runs.Train(flags);
  REQUIRE(trained.exit_code == 0);
  const std::string accuracy = trained.out.substr(trained.out.rfind("test accuracy"), 20);
  CHECK(accuracy > "test accuracy 0.9000");
  const auto session = Session::Create(runs.folder().File("out.onnx"), {});
  REQUIRE(session.ok());
  const NamedTensors points = Points();
  const auto outputs = (*session)->Run({{"x", points[0].second}});
  REQUIRE(outputs.ok());
  int right = 0;
  const auto scores = (*outputs)[0].tensor()->elements<float>();
  const auto labels = points[1].second.elements<int64_t>();
  for (size_t i = 0; i < 40; ++i) right += (scores[2 * i + 1] > scores[2 * i]) == (labels[i] == 1) ? 1 : 0;
  CHECK(accuracy == absl::StrFormat("test accuracy %.4f", right / 40.0));
}

TEST_CASE("the loss of a test is that of the step, whether the forward model ends in a Softmax or not") {
  const Runs runs;
  runs.folder().Write("logits.onnx", *ParseOnnxText(R"(<ir_version: 8, opset_import: ["" : 17]>
    forward (float[n,3] x) => (float[n,2] scores) <float[3,2] w = {0.1, -0.1, 0.2, 0, 0, 0.3}, float[2] b = {0, 0}> {
      scores_0 = MatMul (x, w)
      scores = Add (scores_0, b)
    })"));
  const std::string head = R"(<ir_version: 8, opset_import: ["" : 17]>
    forward (float[n,3] x) => (float[n,2] y) <float[3,2] w = {0.1, -0.1, 0.2, 0, 0, 0.3}, float[2] b = {0, 0}> {
      h_0 = MatMul (x, w)
      h = Add (h_0, b)
      p = Softmax <axis = )";
  runs.folder().Write("behind.onnx", *ParseOnnxText(head + "1> (h)  y = Identity (p) }"));
  runs.folder().Write("samples.onnx", *ParseOnnxText(head + "0> (h)  y = Identity (p) }"));
  runs.folder().Write("flat.onnx", *ParseOnnxText(head + "1> (h)  y = Flatten (p) }"));
  runs.folder().Write("cast.onnx", *ParseOnnxText(head + "1> (h)  y = Cast <to = 1> (p) }"));
  const auto test_of = [&](const std::vector<std::string>& flags) -> std::vector<std::string> {
    std::vector<std::string> all = {
        "--batch", "8", "--eval-data", "x=@data.npz:x", "--eval-data", "labels=@data.npz:labels", "--log", "@log.csv"};
    all.insert(all.end(), flags.begin(), flags.end());
    const ToolOutput output = runs.Train(all);
    INFO(output.err);
    REQUIRE(output.exit_code == 0);
    const std::vector<std::string> rows = absl::StrSplit(runs.folder().Read("log.csv"), '\n');
    REQUIRE(rows.size() == 3);
    const std::vector<std::string> columns = absl::StrSplit(rows[1], ',');
    REQUIRE(columns.size() == 10);
    return {columns[8], columns[9]};
  };
  const std::vector<std::string> own = test_of({});
  CHECK_FALSE(own[0].empty());
  CHECK(test_of({"--forward", "@forward.onnx"}) == own);
  CHECK(test_of({"--forward", "@logits.onnx"}) == own);
  CHECK(test_of({"--forward", "@behind.onnx"}) == own);
  CHECK(test_of({"--forward", "@samples.onnx"})[0].empty());  // over samples, not classes: another loss than the step's
  CHECK(test_of({"--forward", "@flat.onnx"})[0].empty());     // probabilities, of which nobody says so
  CHECK(test_of({"--forward", "@cast.onnx"})[0].empty());
}

TEST_CASE("a run that is stopped and goes on ends with the same bits") {
  const Runs runs;
  const std::vector<std::string> flags = {"--batch", "7",          "--epochs", "4",      "--shuffle",
                                          "3",       "--schedule", "cosine",   "--quiet"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), flags.begin(), flags.end());
    return more;
  };
  REQUIRE(runs.Train(with({"--checkpoint", "@whole.npz"})).exit_code == 0);
  for (const int signal : {SIGTERM, SIGINT}) {
    int steps = 0;
    ToolStreams streams;
    streams.show_progress = [&](const std::string& what) {
      if (absl::StrContains(what, " loss ") && ++steps == 9) ::raise(signal);
    };
    std::vector<std::string> loud = with({"--checkpoint", "@part.npz"});
    loud.pop_back();  // --quiet shows no progress
    const ToolOutput stopped = runs.Train(loud, streams);
    CHECK(stopped.exit_code == 128 + signal);
    CHECK_THAT(stopped.err, Contains("in epoch 2 after 3 batches: wrote "));
    REQUIRE(runs.Train(with({"--checkpoint", "@part.npz", "--resume", "@part.npz"})).exit_code == 0);
    const auto states = [&](const std::string& file) {
      const absl::StatusOr<NamedTensors> arrays = ReadNpz(runs.folder().File(file));
      REQUIRE(arrays.ok());
      std::string text;
      for (const auto& [name, tensor] : *arrays) {
        if (!absl::StartsWith(name, "state/")) continue;
        text += name;
        for (const std::byte b : tensor.bytes()) absl::StrAppend(&text, " ", static_cast<int>(b));
      }
      return text;
    };
    CHECK_FALSE(states("whole.npz").empty());
    CHECK(states("whole.npz") == states("part.npz"));
  }
}

TEST_CASE("a signal in the last step stops nothing: all is done") {
  const Runs runs;
  ToolStreams streams;
  streams.show_progress = [&](const std::string& what) {
    if (absl::StrContains(what, " loss ")) ::raise(SIGTERM);
  };
  CHECK(runs.Train({"--batch", "40", "--save-weights", "@out.onnx"}, streams).exit_code == 0);
  CHECK(runs.folder().Has("out.onnx"));
}

TEST_CASE("what does not go on as it was is refused") {
  const Runs runs;
  const std::vector<std::string> first = {"--batch", "8", "--checkpoint", "@c.npz", "--checkpoint-every", "2"};
  ToolStreams streams;
  int steps = 0;
  streams.show_progress = [&](const std::string& what) {
    if (absl::StrContains(what, " loss ") && ++steps == 2) ::raise(SIGINT);
  };
  REQUIRE(runs.Train(first, streams).exit_code == 130);
  CHECK_THAT(runs.TrainError({"--batch", "4", "--resume", "@c.npz"}),
             Contains("it was written within an epoch: expected --batch 8, no --shuffle as then, found others"));
  CHECK_THAT(runs.TrainError({"--resume", "@nothing.npz"}, 6),
             Contains("nothing.npz: expected a file that can be read"));
  CHECK_THAT(runs.TrainError({"--resume", "@data.npz"}), Contains("expected a checkpoint"));
}

TEST_CASE("a run that goes on with other flags says so, in one line") {
  const Runs runs;
  const std::vector<std::string> first = {"--batch", "8", "--shuffle", "3", "--learning-rate", "0.25"};
  const auto with = [](std::vector<std::string> flags, const std::vector<std::string>& more) {
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  };
  REQUIRE(runs.Train(with(first, {"--checkpoint", "@c.npz"})).err.empty());
  const std::vector<std::string> resume = {"--resume", "@c.npz", "--epochs", "2"};
  CHECK(runs.Train(with(first, resume)).err.empty());
  CHECK(runs.Train(with({"--batch", "8", "--shuffle", "3"}, resume)).err.empty());  // the rate is in the checkpoint
  const std::string file = runs.folder().File("c.npz");
  CHECK(runs.Train(with({"--batch", "4", "--learning-rate", "0.5", "--seed", "7"}, resume)).err ==
        "amp-train: warning: " + file +
            ": goes on with other flags: --batch 4 (was 8), --learning-rate 0.5 (was 0.25), --seed 7 (was 0), "
            "--shuffle none (was 3)\n");
  CHECK(runs.Train(with(with(first, {"--schedule", "cosine", "--scale", "2", "--drop-last"}), resume)).err ==
        "amp-train: warning: " + file +
            ": goes on with other flags: --drop-last on (was off), --scale 2 (was none), --schedule cosine (was "
            "constant)\n");
  const std::vector<std::string> cosine = with(first, {"--schedule", "cosine", "--checkpoint", "@s.npz"});
  REQUIRE(runs.Train(with(cosine, {"--epochs", "1"})).err.empty());
  CHECK_THAT(runs.Train(with(cosine, {"--resume", "@s.npz", "--epochs", "2"})).err,
             Contains("--epochs 2 (was 1)\n"));  // the rate would not have come to 0 after one
}

TEST_CASE("skips are warned of at once, and fifty in a row end a run, with the value that began it") {
  const Runs runs(StepGraph(RegressionText("h = Log (x)")));  // of numbers below zero: NaN
  std::string warned;
  ToolStreams streams;
  streams.warn = [&](absl::string_view text) { absl::StrAppend(&warned, text); };
  const std::vector<std::string> train = {"--batch",        "8",       "--forward", "@forward.onnx",
                                          "--save-weights", "@w.onnx", "--epochs"};
  const auto with = [&](const char* epochs) {
    std::vector<std::string> all = train;
    all.emplace_back(epochs);
    return all;
  };
  const ToolOutput output = runs.Train(with("20"), streams);
  CHECK(output.exit_code == 7);
  CHECK_THAT(warned, Contains("10 steps in a row were skipped at a loss scale of 1, which goes no lower"));
  CHECK_THAT(
      output.err,
      Contains("50 steps in a row were skipped, the last one in epoch 10 after 5 batches: expected gradients that "
               "are finite, found NaN or infinities, first in 'h' of node Log#0 (Log-13), "));
  CHECK_FALSE(runs.folder().Has("w.onnx"));
  CHECK(runs.Train(with("9"), streams).exit_code == 0);  // the near miss: 45
}

TEST_CASE("a result that cannot be written, or would replace what is read, is an error before the first step") {
  const Runs runs;
  const std::string step = runs.folder().Read("step.onnx");
  CHECK_THAT(
      runs.TrainError({"--save-weights", "@nowhere/w.onnx"}, 6),
      Contains("nowhere/w.onnx: --save-weights: expected a file that can be written: cannot open the directory"));
  CHECK_THAT(runs.TrainError({"--checkpoint", "@nowhere/c.npz"}, 6),
             Contains("--checkpoint: expected a file that can be written: cannot open the directory: No such file"));
  CHECK_THAT(runs.TrainError({"--log", "@"}, 6), Contains("--log: expected a file, found a folder"));
  CHECK_THAT(runs.TrainError({"--checkpoint", "@step.onnx"}, 4),
             Contains("step.onnx: --checkpoint would replace the file of STEP; expected another file"));
  CHECK_THAT(runs.TrainError({"--log", "@./data.npz"}, 4), Contains("--log would replace the file of --data"));
  CHECK_THAT(runs.TrainError({"--checkpoint", "@a", "--save-weights", "@a"}, 4),
             Contains("a: --checkpoint and --save-weights would write the same file; expected two"));
  CHECK(runs.folder().Read("step.onnx") == step);
  REQUIRE(runs.Train({"--checkpoint", "@c.npz"}).exit_code == 0);
  CHECK(runs.Train({"--checkpoint", "@c.npz", "--resume", "@c.npz", "--epochs", "2"}).exit_code == 0);
  const std::string done = ", the total with what " + runs.folder().File("c.npz") + " has done; found ";
  for (const std::string epochs : {"2", "1"}) {
    CHECK(runs.Train({"--resume", "@c.npz", "--epochs", epochs}).err ==
          absl::StrCat("amp-train: warning: nothing to do: expected --epochs above 2", done, epochs, "\n"));
  }
  CHECK_THAT(RunAmpTrain({"--help"}).out, Contains("those that --resume finds done included"));
  CHECK(runs.Train({"--epochs", "0"}).err == "amp-train: warning: nothing to do: expected --epochs above 0; found 0\n");
}

TEST_CASE("a result that is no file, or may not be replaced, is an error before the first step and stays as it is") {
  const Runs runs;
  const std::string kept = runs.folder().Write("kept", "what was there");
  const std::string pipe = runs.folder().File("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string flag : {"--log", "--checkpoint", "--save-weights"}) {
    const auto fails = [&](const std::string& path, const std::string& text, int exit_code) {
      ToolStreams streams;
      int steps = 0;
      streams.show_progress = [&](const std::string& what) { steps += absl::StrContains(what, " loss ") ? 1 : 0; };
      const ToolOutput output = runs.Train({flag, path, "--force"}, streams);
      CHECK(output.exit_code == exit_code);
      CHECK(steps == 0);
      CHECK(output.out.empty());
      CHECK_THAT(output.err,
                 StartsWith(absl::StrCat("amp-train: error: ", path, ": ", flag, ": expected a file", text)));
      CHECK(output.err.find('\n') + 1 == output.err.size());
    };
    fails("/dev/full", ", found a device", 6);
    fails("/dev/null", ", found a device", 6);
    fails(pipe, ", found a pipe", 6);
    fails(runs.folder().File(""), ", found a folder", 6);
    fails("/proc/amp/w", " that can be written: cannot open the directory: No such file or directory", 6);
    fails("/proc/w",
          " that can be written: cannot create a file beside it: ", 6);  // in whose words depends on who asks
    REQUIRE(::chmod(kept.c_str(), 0444) == 0);
    fails(kept,
          " that can be written: exists and is read-only; expected a file that may be replaced: chmod u+w it, or name "
          "another",
          4);
    REQUIRE(::chmod(kept.c_str(), 0644) == 0);
    CHECK(runs.Train({flag, kept, "--force", "--batch", "0"}).exit_code == 2);
    CHECK(runs.Train({flag, kept, "--force", "--data", "y=@data.npz:x"}).exit_code ==
          2);  // found after the results are looked at
    CHECK(runs.folder().Read("kept") == "what was there");
  }
}

TEST_CASE("a forward model that runs as in training does not test what is trained") {
  const Runs runs;
  runs.folder().Write("f.onnx", *ParseOnnxText(R"(<ir_version: 8, opset_import: ["" : 17]>
    forward (float[n,3] x) => (float[n,2] logits) <float[3,2] w = {0.1, -0.1, 0.2, 0, 0, 0.3}, float[2] b = {0, 0},
        float ratio = {0.5}, bool training = {1}> {
      h = MatMul (x, w)  d = Dropout (h, ratio, training)  logits = Add (d, b)
    })"));
  CHECK_THAT(runs.TrainError(
                 {"--forward", "@f.onnx", "--eval-data", "x=@data.npz:x", "--eval-data", "labels=@data.npz:labels"}),
             Contains("(Dropout) of ") && Contains("runs as in training: expected a --forward model without"));
}

TEST_CASE("a forward model in 16 bits has no place for what is trained, and the error says what has") {
  const Runs runs;
  runs.folder().Write("low.onnx", *ParseOnnxText(R"(<ir_version: 8, opset_import: ["" : 17]>
    forward (float16[n,3] x) => (float16[n,2] y) <float16[3,2] w = {1, 2, 3, 4, 5, 6}, float16[2] b = {0, 0}> {
      y = Gemm (x, w, b)
    })"));
  CHECK_THAT(
      runs.TrainError({"--forward", "@low.onnx", "--save-weights", "@out.onnx"}, 3),
      Contains("low.onnx: initializer 'w': expected float32[3,2], found float16[3,2]; --forward takes the float32 "
               "model") &&
          Contains("amp-rewrite --policy float32"));
}

TEST_CASE("of an archive the array that is asked for is unpacked, and no other") {
  const Runs runs;
  runs.folder().Write("half.npz", ArchiveWithADamagedArray("other", Points()));
  const std::vector<std::string> whole = {"@step.onnx", "--data", "x=@half.npz:x", "--data", "labels=@half.npz:labels"};
  CHECK(runs.Run(whole).exit_code == 0);
  CHECK_THAT(runs.Error({"@step.onnx", "--data", "x=@half.npz:other", "--data", "labels=@half.npz:labels"}),
             Contains("half.npz: array 'other': expected an array that can be read"));
}

TEST_CASE("data that do not fit are errors before the first step") {
  const Runs runs;
  const auto with_labels = [&](const Tensor& labels) {
    runs.folder().Write("labels.npy", *NpyBytes(labels));
    return runs.Error({"@step.onnx", "--data", "x=@data.npz:x", "--data", "labels=@labels.npy"});
  };
  CHECK_THAT(with_labels(Tensor::OfInts({0, 1})), Contains("labels.npy: expected 40 samples, as 'x' has; found 2"));
  CHECK_THAT(with_labels(Tensor::Of<int64_t>(DType::kInt64, {40}, std::vector<int64_t>(40, 2))),
             Contains("labels.npy: labels 'labels': row 0: expected a class from 0 to 1, found 2"));
  CHECK_THAT(runs.Error({"@step.onnx", "--data", "x=@data.npz:x"}),
             Contains("--data: expected labels=FILE, found 'x'"));
  CHECK_THAT(runs.TrainError({"--data", "y=@data.npz:x"}), Contains("--data: 'y' is no input; expected 'x', 'labels'"));
  CHECK_THAT(runs.Error({"@step.onnx", "--data", "x=@data.npz:z", "--data", "labels=@data.npz:labels"}),
             Contains("data.npz: expected an array 'z', found x, labels"));
  CHECK_THAT(runs.Error({"@step.onnx", "--data", "x=@step.onnx", "--data", "labels=@data.npz:labels"}),
             Contains("step.onnx: expected an IDX file, plain or in gzip, or .npy, .npz:KEY; found other bytes"));
  CHECK_THAT(runs.TrainError({"--batch", "50", "--drop-last"}),
             Contains("--drop-last: expected 50 samples for a batch, found 40"));
  CHECK_THAT(runs.TrainError({"--eval-data", "x=@data.npz:x"}), Contains("--eval-data: expected labels=FILE"));
}

TEST_CASE("wrong flags are one line") {
  const Runs runs;
  CHECK(runs.Error({}) == "expected STEP.onnx, a step graph; see --help");
  CHECK(runs.Error({"@step.onnx"}) == "expected --data NAME=FILE for each input, found none");
  CHECK(runs.TrainError({"--epoch", "3"}) == "unknown flag '--epoch'; write --epochs N");
  CHECK(runs.TrainError({"--batch", "0"}) == "--batch: expected at least 1, found 0");
  CHECK(runs.TrainError({"--data", "x=@data.npz"}) == "--data: 'x' is given twice");
  CHECK_THAT(runs.TrainError({"--device", "tpu"}), Contains("--device: expected auto, cpu or cuda[:N], found 'tpu'"));
  CHECK(runs.TrainError({"--checkpoint-every", "5"}) == "--checkpoint-every is for --checkpoint, which is not there");
  CHECK(runs.TrainError({"--learning-rate", "fast"}) == "--learning-rate: expected a number, found 'fast'");
  CHECK(runs.TrainError({"--resize", "cubic"}) ==
        "--resize: expected nearest or bilinear, found 'cubic'; write bilinear");
  CHECK_THAT(runs.Error({"@forward.onnx", "--data", "x=@data.npz:x"}, 3), Contains("forward.onnx: no step graph"));
}

TEST_CASE("an empty value is refused: no flag of amp-train counts as not given") {
  const Runs runs;
  for (const auto& [flag, type] : {std::pair("--save-weights", "OUT.onnx"),
                                   {"--save-best", "OUT.onnx"},
                                   {"--forward", "MODEL.onnx"},
                                   {"--checkpoint", "FILE"},
                                   {"--resume", "FILE"},
                                   {"--log", "FILE.csv|FILE.html"},
                                   {"--shuffle", "SEED"},
                                   {"--patience", "N"}}) {
    CHECK(runs.TrainError({flag, ""}) == absl::StrCat(flag, ": expected ", type, ", found ''"));
  }
  CHECK(runs.Error({"new", "cnn", "-o", ""}) == "--output: expected OUT.onnx, found ''");
}

TEST_CASE("new models are written, nonsense is not") {
  const Runs runs;
  CHECK(runs.Run({"new", "mlp", "3-4-2", "-o", "@m.onnx", "--seed", "1"}).exit_code == 0);
  CHECK(runs.folder().Has("m.onnx"));
  CHECK(runs.Run({"new", "cnn", "-o", "@cnn.onnx"}).exit_code == 0);
  CHECK(runs.Error({"new", "rnn", "-o", "@x.onnx"}) == "new: expected mlp SIZES or cnn, found 'rnn'");
  CHECK(runs.Error({"new", "mlp", "3-4-2"}) == "new: expected -o OUT.onnx, found none");
  CHECK_THAT(runs.Error({"new", "mlp", "3", "-o", "@x.onnx"}), Contains("expected sizes of layers as in 784-64-64-10"));
  CHECK_FALSE(runs.folder().Has("x.onnx"));
}

TEST_CASE("help says what there is") {
  const ToolOutput output = RunAmpTrain({"--help"});
  CHECK(output.exit_code == 0);
  for (const char* flag : {"--data", "--epochs", "--checkpoint", "--save-weights", "--max-nodes"})
    CHECK_THAT(output.out, Contains(flag));
  CHECK_THAT(RunAmpTrain({"new", "--help"}).out, Contains("mlp SIZES"));
}

}  // namespace
}  // namespace amp
