// The flags of amp-rewrite --train: values, combinations, and those that would have no effect.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/catch2.h"
#include "tests/tool_run.h"

namespace amp {
namespace {

constexpr absl::string_view kDense = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[N,4] x) => (float[N,2] y) <float[4,2] w = {1, 2, 3, 4, 5, 6, 7, -8}, float[2] b = {0, 0}> {
    [dense] y = Gemm (x, w, b)
  })";

void CheckFails(std::vector<std::string> flags, absl::string_view what, bool trains = true) {
  if (trains) flags.insert(flags.begin(), "--train");
  const ToolRun run(flags, kDense);
  const std::string line = ErrorLine(run.output, 2);
  INFO(line);
  CHECK(absl::StrContains(line, what));
  CHECK_FALSE(run.folder.Has("out.onnx"));
}

void CheckRuns(std::vector<std::string> flags) {
  flags.insert(flags.begin(), "--train");
  const ToolRun run(flags, kDense);
  INFO(run.output.err);
  CHECK(run.output.exit_code == 0);
}

TEST_CASE("flags of training need --train") {
  for (const char* const flag :
       {"--logits=y", "--labels=l", "--optimizer=sgd", "--nesterov", "--learning-rate=1", "--momentum=0.5", "--rho=0.5",
        "--epsilon=1", "--beta1=0.5", "--beta2=0.5", "--weight-decay=1", "--clip-norm=1", "--accumulate=2",
        "--data-parallel", "--trainable=*", "--freeze=b", "--head=x:dense=2", "--seed=1"}) {
    const std::string name = std::string(flag).substr(0, std::string(flag).find('='));
    CheckFails({flag}, absl::StrCat(name, " is about --train, which is not asked for"), false);
  }
}

TEST_CASE("a constant of another optimizer has no effect, and is refused") {
  CheckFails({"--optimizer", "sgd", "--beta1", "0.9"}, "--beta1 is about --optimizer adam, adamw; found sgd");
  CheckFails({"--beta2", "0.9"}, "--beta2 is about --optimizer adam, adamw; found rmsprop");
  CheckFails({"--optimizer", "adam", "--rho", "0.9"}, "--rho is about --optimizer rmsprop; found adam");
  CheckFails({"--optimizer", "sgd", "--momentum", "0.9"}, "--momentum is about --optimizer momentum; found sgd");
  CheckFails({"--optimizer", "sgd", "--nesterov"}, "--nesterov is about --optimizer momentum");
  CheckFails({"--optimizer", "momentum", "--epsilon", "1e-3"}, "--epsilon is about --optimizer rmsprop, adam, adamw");
  CheckFails({"--optimizer", "adam", "--weight-decay", "0.1"}, "--weight-decay is about --optimizer adamw");
  CheckRuns({"--optimizer", "adamw", "--beta1", "0.5", "--beta2", "0.5", "--epsilon", "1", "--weight-decay", "1"});
}

TEST_CASE("constants are in the ranges in which they mean something, in float32") {
  CheckFails({"--learning-rate", "-1"}, "--learning-rate: expected a number of at least 0");
  CheckFails({"--learning-rate", "1e39"}, "--learning-rate: expected a number");
  CheckFails({"--learning-rate", "nan"}, "--learning-rate: expected a number");
  CheckFails({"--learning-rate", "fast"}, "--learning-rate: expected a number, found 'fast'");
  CheckFails({"--rho", "1"}, "--rho: expected a number of at least 0 and below 1");
  CheckFails({"--optimizer", "adam", "--beta2", "0.999999999"}, "--beta2: expected a number of at least 0 and below 1");
  CheckFails({"--epsilon", "0"}, "--epsilon: expected a number above 0");
  CheckFails({"--clip-norm", "0"}, "--clip-norm: expected a number above 0");
  CheckFails({"--accumulate", "0"}, "--accumulate: expected a whole number from 1");
  CheckFails({"--accumulate", "1.5"}, "--accumulate: expected a whole number, found '1.5'");
  CheckFails({"--optimizer", "rmsprob"}, "did you mean 'rmsprop'?");
}

TEST_CASE("the loss scale: its rule is about a dynamic one") {
  for (const char* const flag : {"--loss-scale-initial=2", "--loss-scale-interval=2", "--loss-scale-growth=2",
                                 "--loss-scale-backoff=0.5", "--loss-scale-min=1", "--loss-scale-max=65536"}) {
    const std::string name = std::string(flag).substr(0, std::string(flag).find('='));
    CheckFails({"--loss-scale", "none", flag}, absl::StrCat(name, " is about --loss-scale dynamic; found none"));
    CheckFails({"--loss-scale", "1024", flag}, absl::StrCat(name, " is about --loss-scale dynamic; found a fixed"));
    CheckFails({"--dtype", "bfloat16", flag}, absl::StrCat(name, " is about --loss-scale dynamic; found none"));
  }
  CheckFails({"--loss-scale", "dynamc"}, "did you mean 'dynamic'?");
  CheckFails({"--loss-scale", "0"}, "--loss-scale: expected dynamic, none or a positive number, found '0'");
  CheckFails({"--loss-scale", "inf"}, "--loss-scale: expected dynamic, none or a positive number");
  CheckFails({"--loss-scale-growth", "1"}, "--loss-scale-growth: expected a number above 1");
  CheckFails({"--loss-scale-backoff", "1"}, "--loss-scale-backoff: expected a number above 0 and below 1");
  CheckFails({"--loss-scale-interval", "0"}, "--loss-scale-interval: expected a whole number from 1");
  CheckFails({"--loss-scale-initial", "0.5"}, "--loss-scale-initial: expected a number from 1 (--loss-scale-min) to");
  CheckFails({"--loss-scale-max", "1024"}, "to 1024 (--loss-scale-max), found 32768");
  CheckFails({"--finite-check"}, "--finite-check has no effect");
  CheckFails({"--no-finite-check"}, "--no-finite-check has no effect: --loss-scale dynamic checks all gradients");
  CheckFails({"--loss-scale", "none", "--no-finite-check", "--count-skipped-steps"},
             "--count-skipped-steps has no effect: with --no-finite-check");
  CheckFails({"--count-skipped-steps", "--accumulate", "2"}, "exclude each other");
  CheckRuns({"--loss-scale", "none", "--finite-check", "--count-skipped-steps"});
  CheckRuns({"--loss-scale", "none", "--count-skipped-steps"});
  CheckRuns({"--loss-scale", "1024", "--no-finite-check"});
  CheckRuns({"--loss-scale-min", "0.5", "--loss-scale-initial", "0.5", "--loss-scale-backoff", "0.25"});
}

TEST_CASE("the loss, its labels and what they are for") {
  CheckFails({"--loss", "softmax"}, "--loss: expected softmax-cross-entropy, mse or graph:NAME, found 'softmax'");
  CheckFails({"--loss", "graph:"}, "--loss: expected softmax-cross-entropy, mse or graph:NAME");
  CheckFails({"--loss", "graph:y", "--labels", "l"}, "--labels has no effect with --loss graph:NAME");
  CheckFails({"--loss", "graph:y", "--logits", "y"}, "--logits has no effect with --loss graph:NAME");
  CheckFails({"--loss", "mse", "--labels", "l:onehot"}, "--labels: sparse and onehot are about");
  CheckFails({"--logits", "z"}, "'z'");
  CheckFails({"--labels", "x"}, "'x'");
  CheckFails({"--trainable", "z*"}, "'z*'");
  CheckFails({"--gradient", "w=dw"}, "--gradient has no effect: --train makes the gradients itself");
  CheckRuns({"--loss", "mse", "--labels", "target"});
  CheckRuns({"--labels", "l:onehot", "--logits", "y"});
}

TEST_CASE("what is not about a training step excludes it") {
  CheckFails({"--policy", "float16"}, "--policy float16 and --train exclude each other");
  CheckFails({"--policy", "bfloat16"}, "--policy bfloat16 and --train exclude each other");
  CheckFails({"--keep-io", "none"}, "--keep-io and --train exclude each other");
  CheckFails({"--freeze-initializers"}, "--freeze-initializers and --train exclude each other");
  CheckFails({"--functions", "keep"}, "--functions and --train exclude each other");
  CheckFails({"--verify"}, "--verify and --train exclude each other");
}

TEST_CASE("the head's flags") {
  CheckFails({"--seed", "3"}, "--seed is about the weights of --head");
  CheckFails({"--head", "x"}, "--head: expected TENSOR:dense=N");
  CheckFails({"--head", "x:dense=0"}, "--head: expected TENSOR:dense=N");
  CheckFails({"--head", ":dense=3"}, "--head: expected TENSOR:dense=N");
  CheckFails({"--head", "z:dense=3"},
             "--head 'z': expected the name of a tensor float32[N, C] or float32[N, C, H, W] with C known, found none "
             "called that; there are 'y', 'x'");
  CheckFails({"--head", "w:dense=3", "--freeze", "w"}, "--freeze has no effect: with --head");
  CheckFails({"--head", "x:dense=3", "--seed", "-1"}, "--seed: expected a whole number of at least 0");
  CheckRuns({"--head", "x:dense=3", "--seed", "7"});
}

TEST_CASE("flags of a loss scale for a training graph") {
  CheckFails({"--loss", "l"}, "--loss is about --train or --loss-scale, which are not asked for", false);
  CheckFails({"--gradient", "w=g"}, "--gradient is about --train or --loss-scale", false);
  CheckFails({"--finite-check"}, "--finite-check is about --train or --loss-scale", false);
  CheckFails({"--loss-scale-growth", "2"}, "--loss-scale-growth is about --train or --loss-scale", false);
  CheckFails({"--loss-scale", "none"}, "--loss-scale none has no effect without --train", false);
  CheckFails({"--loss-scale", "dynamic", "--count-skipped-steps"}, "--count-skipped-steps is about --train", false);
  CheckFails({"--loss-scale", "dynamic", "--policy", "float32"}, "--policy float32 takes a rewrite back", false);
}

}  // namespace
}  // namespace amp
