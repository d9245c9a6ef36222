// Mistakes of newcomers, and the line that each gets: flags, values and habits of other tools. A row per mistake.
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/catch2.h"
#include "tests/tool_run.h"
#include "tests/tools/train/step_graphs.h"
#include "tools/library/foreign_words.h"
#include "tools/run/amp_run.h"
#include "tools/train/amp_train.h"

namespace amp {
namespace {

ToolOutput RunProgram(const std::string& program, const std::vector<std::string>& arguments) {
  if (program == "amp-rewrite") return RunAmpRewrite(arguments);
  return program == "amp-run" ? RunAmpRun(arguments) : RunAmpTrain(arguments);
}

// A folder with m.onnx, step.onnx and in.onnx; "@" in a command is the folder.
struct Desk : ToolFolder {
  Desk() : ToolFolder(kThreeNodes) {
    folder.Write("m.onnx", folder.Read("in.onnx"));
    folder.Write("step.onnx", StepGraph());
  }

  // The only line of a command that fails, without the program's name, with "@" for the folder.
  std::string Error(const std::string& command, int exit_code = 2) const {
    std::vector<std::string> words = absl::StrSplit(command, ' ');
    // A quoted word has blanks.
    std::vector<std::string> arguments;
    bool is_open = false;
    for (std::string word : words) {
      const bool begins = absl::StartsWith(word, "'"), ends = absl::EndsWith(word, "'");
      word = absl::StrReplaceAll(word, {{"'", ""}, {"@", folder.File("")}});
      if (is_open) {
        absl::StrAppend(&arguments.back(), " ", word);
      } else {
        arguments.push_back(word);
      }
      is_open = (is_open || begins) && !ends;
    }
    const std::string program = arguments.front();
    const ToolOutput output = RunProgram(program, {arguments.begin() + 1, arguments.end()});
    INFO(command << "\n" << output.err);
    CHECK(output.exit_code == exit_code);
    const std::string begin = absl::StrCat(program, ": error: ");
    REQUIRE(absl::StartsWith(output.err, begin));
    REQUIRE(output.err.find('\n') + 1 == output.err.size());
    return absl::StrReplaceAll(output.err.substr(begin.size(), output.err.size() - begin.size() - 1),
                               {{folder.File(""), "@"}});
  }
};

struct Mistake {
  const char* command;
  const char* line;
};

void CheckLines(const std::vector<Mistake>& mistakes, int exit_code = 2) {
  const Desk desk;
  for (const Mistake& mistake : mistakes) {
    INFO(mistake.command);
    CHECK(desk.Error(mistake.command, exit_code) == mistake.line);
  }
}

TEST_CASE("flags of other tools get their name here: amp-rewrite") {
  CheckLines({
      {"amp-rewrite @m.onnx -o @o.onnx --fp16", "unknown flag '--fp16'; write --dtype float16, the default"},
      {"amp-rewrite @m.onnx -o @o.onnx --half", "unknown flag '--half'; write --dtype float16, the default"},
      {"amp-rewrite @m.onnx -o @o.onnx --float16", "unknown flag '--float16'; write --dtype float16, the default"},
      {"amp-rewrite @m.onnx -o @o.onnx --bf16", "unknown flag '--bf16'; write --dtype bfloat16"},
      {"amp-rewrite @m.onnx -o @o.onnx --int8", "unknown flag '--int8'; quantisation is no part of this program"},
      {"amp-rewrite @m.onnx -o @o.onnx --keep_io_types",
       "unknown flag '--keep_io_types'; write --keep-io all (the default), none or NAME[,NAME...]"},
      {"amp-rewrite @m.onnx -o @o.onnx --keep-io-types=False",
       "unknown flag '--keep-io-types'; write --keep-io all (the default), none or NAME[,NAME...]"},
      {"amp-rewrite @m.onnx -o @o.onnx --op_block_list Softmax Add",
       "unknown flag '--op_block_list'; write --deny OP[,OP...], which adds to the lists"},
      {"amp-rewrite @m.onnx -ope Softmax", "unknown flag '-ope'; write --deny OP[,OP...], which adds to the lists"},
      {"amp-rewrite @m.onnx -o @o.onnx --node_block_list mm",
       "unknown flag '--node_block_list'; write --deny-node GLOB, once for each"},
      {"amp-rewrite @m.onnx -o @o.onnx --nodes_to_exclude mm",
       "unknown flag '--nodes_to_exclude'; write --deny-node GLOB, once for each"},
      {"amp-rewrite @m.onnx -o @o.onnx --low_precision_type bf16",
       "unknown flag '--low_precision_type'; write --dtype float16|bfloat16"},
      {"amp-rewrite @m.onnx -o @o.onnx -t fp16", "unknown flag '-t'; write --dtype float16|bfloat16"},
      {"amp-rewrite --onnx_path @m.onnx --output_path @o.onnx",
       "unknown flag '--onnx_path'; write MODEL without a flag"},
      {"amp-rewrite @m.onnx --output_path @o.onnx", "unknown flag '--output_path'; write -o OUT.onnx"},
      {"amp-rewrite --input @m.onnx -o @o.onnx", "unknown flag '--input'; write MODEL without a flag"},
      {"amp-rewrite @m.onnx -o @o.onnx --calibration_data s.npz",
       "unknown flag '--calibration_data'; write --calibration FILE.npz"},
      {"amp-rewrite @m.onnx -o @o.onnx --metric snr",
       "--metric: expected rel-l2|max-abs|cosine|sqnr|kl|top1, found 'snr'; write --metric sqnr --max-error N, the "
       "least ratio in dB"},
      {"amp-rewrite @m.onnx -o @o.onnx --metric accuracy",
       "--metric: expected rel-l2|max-abs|cosine|sqnr|kl|top1, found 'accuracy'; write --metric-command COMMAND "
       "--max-drop "
       "X"},
      {"amp-rewrite @m.onnx -o @o.onnx --provider cuda",
       "unknown flag '--provider'; write --target, as in --target cuda:8.0, for what the model shall be fast on"},
      {"amp-rewrite @m.onnx -o @o.onnx --device cuda",
       "unknown flag '--device'; write --target, as in --target cuda:8.0, for what the model shall be fast on"},
      {"amp-rewrite @m.onnx -o @o.onnx --use_gpu",
       "unknown flag '--use_gpu'; write --target cuda:CC, as in --target cuda:8.0"},
      {"amp-rewrite @m.onnx -o @o.onnx --rtol 0.1", "unknown flag '--rtol'; write --tolerance X with --verify"},
      {"amp-rewrite @m.onnx -o @o.onnx --check_fp16_ready",
       "unknown flag '--check_fp16_ready'; write --verify, or --verify=FILE.npz"},
      {"amp-rewrite @m.onnx -o @o.onnx --use_external_data_format",
       "unknown flag '--use_external_data_format'; write --external-data always"},
      {"amp-rewrite @m.onnx -o @o.onnx --skip-fuse-bn", "unknown flag '--skip-fuse-bn'; write --keep-batch-norm"},
      {"amp-rewrite @m.onnx -o @o.onnx --saveEngine=x", "unknown flag '--saveEngine'; write -o OUT.onnx"},
      {"amp-rewrite @m.onnx -o @o.onnx --lr 0.1", "unknown flag '--lr'; write --learning-rate X"},
      {"amp-rewrite @m.onnx -o @o.onnx --epochs 3", "unknown flag '--epochs'; write amp-train STEP --epochs N"},
      {"amp-rewrite @m.onnx -o @o.onnx --batch-size 3",
       "unknown flag '--batch-size'; the batch stays symbolic; with --verify, write --dim NAME=N"},
      {"amp-rewrite @m.onnx -o @o.onnx --random-inputs", "unknown flag '--random-inputs'; it is a flag of amp-run"},
      {"amp-rewrite @m.onnx -o @o.onnx --checkpoint c.npz", "unknown flag '--checkpoint'; it is a flag of amp-train"},
      {"amp-rewrite @m.onnx -o @o.onnx --exclude Softmax",
       "unknown flag '--exclude'; write --deny OP[,OP...], which adds to the lists"},
      {"amp-rewrite @m.onnx -o @o.onnx --deny-op Softmax",
       "unknown flag '--deny-op'; write --deny OP[,OP...], which adds to the lists"},
      {"amp-rewrite @m.onnx -o @o.onnx --fp32-nodes mm",
       "unknown flag '--fp32-nodes'; write --deny-node GLOB, once for each"},
      {"amp-rewrite @m.onnx -o @o.onnx --grad-clip 1", "unknown flag '--grad-clip'; write --clip-norm X"},
      {"amp-rewrite @m.onnx -o @o.onnx --overwrite",
       "unknown flag '--overwrite'; an earlier OUT.onnx is replaced without a flag; write --force to replace files of "
       "another kind, --in-place to replace MODEL"},
      {"amp-rewrite @m.onnx -o @o.onnx -y",
       "unknown flag '-y'; an earlier OUT.onnx is replaced without a flag; write --force to replace files of another "
       "kind, --in-place to replace MODEL"},
      {"amp-rewrite @m.onnx -o @o.onnx -f",
       "unknown flag '-f'; an earlier OUT.onnx is replaced without a flag; write --force to replace files of another "
       "kind, --in-place to replace MODEL"},
      {"amp-rewrite @m.onnx -o @o.onnx --dry-run=x", "--dry-run: expected no value, found 'x'"},
      {"amp-rewrite @m.onnx -o @o.onnx --in-place=5", "--in-place: expected no value, found '5'"},
      {"amp-rewrite @m.onnx -o @o.onnx --quiet=@o.txt", "--quiet: expected no value, found '@o.txt'"},
      {"amp-rewrite @m.onnx -o @o.onnx --dtpye float16", "unknown flag '--dtpye'; did you mean '--dtype'?"},
      {"amp-rewrite @m.onnx -o @o.onnx --xyzzy", "unknown flag '--xyzzy'"},
  });
}

TEST_CASE("flags of other tools get their name here: amp-run") {
  CheckLines({
      {"amp-run @m.onnx --fp16",
       "unknown flag '--fp16'; a model runs in the types that it has; amp-rewrite MODEL -o OUT.onnx --dtype "
       "float16|bfloat16 changes them"},
      {"amp-run @m.onnx --half",
       "unknown flag '--half'; a model runs in the types that it has; amp-rewrite MODEL -o OUT.onnx --dtype "
       "float16|bfloat16 changes them"},
      {"amp-run @m.onnx --provider cuda", "unknown flag '--provider'; write --device cpu|cuda|auto"},
      {"amp-run @m.onnx --providers CUDAExecutionProvider", "unknown flag '--providers'; write --device cpu|cuda|auto"},
      {"amp-run @m.onnx --gpu", "unknown flag '--gpu'; write --device cuda"},
      {"amp-run @m.onnx --batch-size 8",
       "unknown flag '--batch-size'; write --dim NAME=N, or --dim INPUT:AXIS=N, with --random-inputs"},
      {"amp-run @m.onnx --shapes=x:1x3",
       "unknown flag '--shapes'; write --dim NAME=N, or --dim INPUT:AXIS=N, with --random-inputs"},
      {"amp-run @m.onnx --loadInputs=x.bin",
       "unknown flag '--loadInputs'; write --inputs FILE.npz, or --input NAME=FILE"},
      {"amp-run @m.onnx --save-outputs y.npz", "unknown flag '--save-outputs'; write --outputs FILE.npz"},
      {"amp-run @m.onnx --output y.npz", "unknown flag '--output'; write --outputs FILE.npz"},
      {"amp-run @m.onnx -o y.npz", "unknown flag '-o'; write --outputs FILE.npz"},
      {"amp-run @m.onnx --repeat 10", "unknown flag '--repeat'; write --bench --iterations N"},
      {"amp-run @m.onnx --bench 3", "unexpected argument '3'; expected one MODEL; write --bench --iterations 3"},
      {"amp-run --bench 3 @m.onnx", "unexpected argument '@m.onnx'; expected one MODEL; write --bench --iterations 3"},
      {"amp-run @m.onnx --bench=3", "--bench: expected loop or stdin, found '3'; write --bench --iterations 3"},
      {"amp-run @m.onnx --labels y.npy",
       "unknown flag '--labels'; write --evaluate NAME=FILE with the name of the labels, as labels=y.npy"},
      {"amp-run @m.onnx --explain=float32", "--explain: expected no value, found 'float32'"},
      {"amp-run @m.onnx --overwrite",
       "unknown flag '--overwrite'; an earlier result is replaced without a flag; write --force to replace files of "
       "another kind"},
      {"amp-run @m.onnx --seed 3", "unknown flag '--seed'; write --random-inputs=SEED"},
      {"amp-run @m.onnx --verify", "unknown flag '--verify'; it is a flag of amp-rewrite"},
      {"amp-run @m.onnx --dtype float16", "unknown flag '--dtype'; it is a flag of amp-rewrite"},
      {"amp-run @m.onnx --optimizer adam",
       "unknown flag '--optimizer'; amp-train trains, with the optimizer of the step"},
      {"amp-run @m.onnx --num_threads 2", "unknown flag '--num_threads'; write --threads N"},
  });
}

TEST_CASE("flags of other tools get their name here: amp-train") {
  CheckLines({
      {"amp-train @step.onnx --lr 0.1", "unknown flag '--lr'; write --learning-rate X"},
      {"amp-train @step.onnx --batch-size 8", "unknown flag '--batch-size'; write --batch N"},
      {"amp-train @step.onnx --batch_size 8", "unknown flag '--batch_size'; write --batch N"},
      {"amp-train @step.onnx --num_epochs 8", "unknown flag '--num_epochs'; write --epochs N"},
      {"amp-train @step.onnx --optimizer adam",
       "unknown flag '--optimizer'; amp-rewrite --train makes the step with it: it is a flag there"},
      {"amp-train @step.onnx --loss mse",
       "unknown flag '--loss'; amp-rewrite --train makes the step with it: it is a flag there"},
      {"amp-train @step.onnx --momentum 0.9", "unknown flag '--momentum'; it is a flag of amp-rewrite --train"},
      {"amp-train @step.onnx --weight-decay 0.9", "unknown flag '--weight-decay'; it is a flag of amp-rewrite --train"},
      {"amp-train @step.onnx --fp16",
       "unknown flag '--fp16'; a step has the types that amp-rewrite --train --policy mixed_float16|mixed_bfloat16 "
       "gave it"},
      {"amp-train @step.onnx --validation_data x=x.npy",
       "unknown flag '--validation_data'; write --eval-data NAME=FILE, once for each"},
      {"amp-train @step.onnx --train-data x.npy", "unknown flag '--train-data'; write --data NAME=FILE, once for each"},
      {"amp-train @step.onnx -o w.onnx", "unknown flag '-o'; write --save-weights OUT.onnx"},
      {"amp-train @step.onnx --output w.onnx", "unknown flag '--output'; write --save-weights OUT.onnx"},
      {"amp-train @step.onnx --gpu", "unknown flag '--gpu'; write --device cuda"},
      {"amp-train @step.onnx --log-dir logs", "unknown flag '--log-dir'; write --log FILE.csv"},
      {"amp-train @step.onnx --clipnorm 1",
       "unknown flag '--clipnorm'; amp-rewrite --train --clip-norm X makes such a step"},
      {"amp-train @step.onnx --grad-clip 1",
       "unknown flag '--grad-clip'; amp-rewrite --train --clip-norm X makes such a step"},
      {"amp-train @step.onnx --early-stopping 3",
       "unknown flag '--early-stopping'; write --patience N, with --validation-split X or --eval-data NAME=FILE"},
      {"amp-train @step.onnx --save-best-only",
       "unknown flag '--save-best-only'; write --save-best OUT.onnx, which keeps the model with the least test loss"},
      {"amp-train @step.onnx --restore-best-weights",
       "unknown flag '--restore-best-weights'; write --save-best OUT.onnx, which keeps the model with the least test "
       "loss"},
      {"amp-train @step.onnx --monitor val_loss",
       "unknown flag '--monitor'; no flag is needed: --patience and --save-best go by the test loss"},
      {"amp-train new mlp 4-2 -o m.onnx --epochs 3", "unknown flag '--epochs'; it is a flag of amp-train"},
  });
}

TEST_CASE("values of other tools get their name here") {
  CheckLines({
      {"amp-rewrite @m.onnx -o @o.onnx --target gpu",
       "--target: expected any, auto, cuda:CC, cpu:avx2, cpu:avx512, cpu:avx512_bf16, cpu:amx, xpu, tpu, with a "
       "compute "
       "capability as in cuda:8.0; found 'gpu'; write cuda:CC with the GPU's compute capability, as cuda:8.0 of an "
       "A100, or auto"},
      {"amp-rewrite @m.onnx -o @o.onnx --dtype float32",
       "--dtype: expected float16|bfloat16|auto, found 'float32'; write --policy float32, which takes a rewrite back"},
      {"amp-rewrite @m.onnx -o @o.onnx --dtype int8",
       "--dtype: expected float16|bfloat16|auto, found 'int8'; quantisation is no part of this program"},
      {"amp-rewrite @m.onnx -o @o.onnx --dtype mixed_float16",
       "--dtype: expected float16|bfloat16|auto, found 'mixed_float16'; write --policy mixed_float16"},
      {"amp-rewrite @m.onnx -o @o.onnx --train --loss mae",
       "--loss: expected softmax-cross-entropy, mse or graph:NAME, found 'mae'; there is no such loss; write it into "
       "the model, and --loss graph:NAME"},
      {"amp-rewrite @m.onnx -o @o.onnx --train --loss sparse_categorical_crossentropy",
       "--loss: expected softmax-cross-entropy, mse or graph:NAME, found 'sparse_categorical_crossentropy'; write "
       "softmax-cross-entropy"},
      {"amp-rewrite @m.onnx -o @o.onnx --train --optimizer lion",
       "--optimizer: expected sgd|momentum|rmsprop|adam|adamw, found 'lion'; there is no such optimizer; adam and "
       "adamw "
       "come closest"},
      {"amp-rewrite @m.onnx -o @o.onnx --follow true", "--follow: expected on or off, found 'true'; write on"},
      {"amp-rewrite @m.onnx -o @o.onnx --guards off", "--guards: expected all|constants|none, found 'off'; write none"},
      {"amp-rewrite @m.onnx -o @o.onnx --train --labels onehot",
       "--labels: expected NAME[:sparse|onehot], found 'onehot'; write NAME:onehot, as labels:onehot"},
      {"amp-rewrite @m.onnx -o @o.onnx --train --labels y:one-hot",
       "--labels: expected NAME[:sparse|onehot], found 'y:one-hot'; write NAME:onehot, as labels:onehot"},
      {"amp-rewrite @m.onnx -o @o.onnx --keep-io false",
       "@m.onnx: --keep-io: 'false' is no input or output of the graph; write --keep-io none"},
      {"amp-rewrite @m.onnx -o @o.onnx --keep-io True",
       "@m.onnx: --keep-io: 'True' is no input or output of the graph; write --keep-io all, the default"},
      {"amp-rewrite @m.onnx -o @o.onnx --deny 'Softmax LayerNormalization'",
       "--deny: 'Softmax LayerNormalization': expected one operator, found blanks; write Softmax,LayerNormalization"},
      {"amp-rewrite @m.onnx -o @o.onnx --deny Resize[mode=banana]",
       "--deny: 'Resize[mode=banana]': expected nearest, linear, cubic for 'mode', found 'banana'"},
      {"amp-rewrite @m.onnx -o @o.onnx --strict --deny-node /head/.*",
       "@m.onnx: --deny-node: pattern '/head/.*' matches no node; * stands for any text, and this is no regular "
       "expression: did you mean '/head/*'?"},
      {"amp-train @step.onnx --data x=x.npy --shuffle true",
       "--shuffle: expected a whole number, found 'true'; write a seed, as --shuffle 1"},
      {"amp-train @step.onnx --data x=x.npy --scale 1/255",
       "--scale: expected a number, found '1/255'; write 0.00392157; without the flag, uint8 is multiplied by it"},
      {"amp-train mlp 4-2", "expected STEP.onnx, a step graph; did you mean 'amp-train new mlp'?"},
      {"amp-run @m.onnx",
       "@m.onnx: expected --random-inputs, --inputs FILE.npz or --input NAME=FILE for x float32[2,4]"},
      {"amp-run @m.onnx --inputs @x.npy",
       "@x.npy: expected an archive of arrays (.npz), found one array (.npy); in NumPy, numpy.savez('sample.npz', "
       "NAME=array) makes an archive"},
      {"amp-run @m.onnx --random-inputs --device gpu",
       "--device: expected auto, cpu or cuda[:N], found 'gpu'; write cuda"},
      {"amp-train @step.onnx --data x=x.npy --device cuda0",
       "--device: expected auto, cpu or cuda[:N], found 'cuda0'; write cuda:0"},
  });
}

TEST_CASE("near misses of what is told to be written otherwise") {
  const Desk desk;
  const auto exit_code = [&](const std::vector<std::string>& flags) {
    return desk.RunTool("m.onnx", "o.onnx", flags).exit_code;
  };
  CHECK(exit_code({"--deny", "Softmax, LayerNormalization"}) == 0);
  CHECK(exit_code({"--deny", "Resize[mode=cubic]"}) == 0);
  CHECK(exit_code({"--keep-io", "none"}) == 0);
  CHECK(exit_code({"--train", "--labels", "one_hot_labels"}) == 0);
  CHECK(exit_code({"--train", "--labels", "t:onehot"}) == 0);
  CHECK(exit_code({"--dtype", "half"}) == 0);
}

TEST_CASE("an argument too many is told how to be given") {
  CheckLines({
      {"amp-rewrite @m.onnx @o.onnx", "unexpected argument '@o.onnx'; expected one MODEL; did you mean '-o @o.onnx'?"},
      {"amp-rewrite @m.onnx -o @o.onnx @p.onnx", "unexpected argument '@p.onnx'; expected one MODEL"},
      {"amp-rewrite @m.onnx -o @o.onnx --deny Softmax LayerNormalization",
       "unexpected argument 'LayerNormalization'; expected one MODEL; each value has its own flag: did you mean "
       "'--deny "
       "LayerNormalization'?"},
      {"amp-rewrite --deny Softmax LayerNormalization @m.onnx -o @o.onnx",
       "unexpected argument '@m.onnx'; expected one MODEL; each value has its own flag: did you mean '--deny "
       "LayerNormalization'?"},
      {"amp-run @m.onnx @x.npz", "unexpected argument '@x.npz'; expected one MODEL; did you mean '--inputs @x.npz'?"},
      {"amp-run @m.onnx x.npy", "unexpected argument 'x.npy'; expected one MODEL; did you mean '--input NAME=x.npy'?"},
      {"amp-run @m.onnx @o.onnx",
       "unexpected argument '@o.onnx'; expected one MODEL; did you mean '--compare @o.onnx'?"},
      {"amp-run @m.onnx --input a=a.npy b=b.npy",
       "unexpected argument 'b=b.npy'; expected one MODEL; each value has its own flag: did you mean '--input "
       "b=b.npy'?"},
      {"amp-train @step.onnx --data x=x.npy labels=y.npy",
       "unexpected argument 'labels=y.npy'; expected one STEP; each value has its own flag: did you mean '--data "
       "labels=y.npy'?"},
      {"amp-train --data=x=x.npy labels=y.npy @step.onnx",
       "unexpected argument '@step.onnx'; expected one STEP; each value has its own flag: did you mean '--data "
       "labels=y.npy'?"},
      {"amp-train @step.onnx x.npy",
       "unexpected argument 'x.npy'; expected one STEP; did you mean '--data NAME=x.npy'?"},
      {"amp-train new mlp 4-2 m.onnx", "unexpected argument 'm.onnx'; expected KIND SIZES; did you mean '-o m.onnx'?"},
  });
}

std::set<std::string> FlagsOf(const std::string& program) {
  std::set<std::string> flags;
  const std::string help = RunProgram(program, {"--help"}).out;
  for (absl::string_view line : absl::StrSplit(help, '\n')) {
    if (!absl::StartsWith(line, "  -")) continue;
    const absl::string_view names = line.substr(2, line.find(' ', 2) - 2);
    for (absl::string_view name : absl::StrSplit(names, absl::ByAnyChar(",="))) {
      if (absl::StartsWith(name, "--")) flags.insert(std::string(name));
    }
  }
  return flags;
}

TEST_CASE("a flag of one program is known to the others") {
  const std::vector<std::string> programs = {"amp-rewrite", "amp-run", "amp-train"};
  for (const std::string& owner : programs) {
    const std::set<std::string> flags = FlagsOf(owner);
    CHECK(flags.size() > 20);
    for (const std::string& other : programs) {
      const std::set<std::string> of_other = FlagsOf(other);
      for (const std::string& flag : flags) {
        if (of_other.contains(flag)) continue;
        INFO(flag << " of " << owner << " in " << other);
        CHECK(HintForFlag(other, flag) != "");
      }
    }
  }
}

}  // namespace
}  // namespace amp
