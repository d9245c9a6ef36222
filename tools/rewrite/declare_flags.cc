#include "tools/rewrite/declare_flags.h"

#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/file/external_data.h"
#include "ir/opset/opset_adapters.h"
#include "passes/report/stages.h"
#include "tools/library/amp.h"
#include "tools/library/option_names.h"
#include "tools/library/version.h"
#include "tools/program/flag_values.h"
#include "tools/rewrite/train_flags.h"

namespace amp {
namespace {

constexpr char kPurpose[] =
    "Rewrites a float32 ONNX model to mixed precision: operators that are safe and fast in 16 bits run in float16 or\n"
    "bfloat16, the rest stays float32, inputs and outputs keep their types, and a report says why for every node.\n";
constexpr char kFooter[] = R"(Examples:
  amp-rewrite model.onnx -o mixed.onnx --explain           float16, with the reason for every node
  amp-rewrite model.onnx -o mixed.onnx --dtype bfloat16 --deny-node '/head/*' --report why.json
  amp-rewrite mixed.onnx -o back.onnx --policy float32     the other way round

Exit codes: 0 ok, 2 usage or list file, 3 malformed or unsupported model, 4 refused by a safety rule,
  5 a limit (--max-...), 6 input or output, 7 --verify: the models differ, 70 internal error. A failure is one line
  and changes no file.

Going on: --explain --dry-run shows what would happen. A node is float32 against your will: its reason is in that
table; --allow OP, --allow-node GLOB. Results are off: --deny-node GLOB bisects. --print-lists shows the rules that
decide, ready to be edited and given to --lists. passes/README.md has the report's fields, tools/README.md the library.)";

constexpr char kWhatBecomesLow[] = "What becomes low";
constexpr char kWhatStays[] = "What stays";

const EnumNames<std::string> kShells = {{"bash", "bash"}};

}  // namespace

void DeclareFlags(CLI::App& app, Arguments& a) {
  RewriteOptions& o = a.options;
  app.description(kPurpose);
  app.footer(kFooter);
  app.set_version_flag("--version", VersionText(), "print the versions of this and of what it was built with, and stop")
      ->group("Help");
  app.get_formatter()->column_width(30);
  app.get_help_ptr()->group("Help")->description("print this and stop");
  app.add_option("MODEL", a.input, "ONNX model to rewrite")->type_name("");
  app.add_option("-o,--output", a.output, "where the result goes")->type_name("OUT.onnx")->group("Files");
  app.add_flag("--in-place", o.in_place, "replace MODEL by the result")->group("Files");
  app.add_flag("--force", o.force, kForceHelp)->group("Files");
  AddChoice(app, "Files", "--external-data", o.external_data, NamesOf(RewriteOptions::ExternalData()),
            "auto|always|never",
            absl::StrCat("weights of ", kSmallTensorBytes, " bytes and more in a file beside the model, smaller ones\n",
                         "in the model; auto: as in MODEL, and always above 1.5 GiB. The file is OUT.onnx.HASH.data\n"
                         "beside OUT.onnx; that of an earlier OUT.onnx is removed [auto]"));

  const std::string what = kWhatBecomesLow;
  AddChoice(app, what, "--dtype", o.dtype, NamesOf(RewriteOptions::Dtype()), "float16|bfloat16|auto",
            "the low type (also fp16, half, bf16); auto: what --target is fast with; without one float16,\n"
            "which every runtime loads, and what this machine is fast with is said [float16]");
  AddChoice(app, what, "--policy", o.policy, NamesOf(RewriteOptions::Policy()),
            "mixed_float16|mixed_bfloat16|float32|float16|bfloat16",
            "the types in one word, as in Keras. mixed_*: low compute; inputs, outputs, the last Softmax\n"
            "and the weights in the file stay float32 (weights are cast where they are used; without\n"
            "--policy they are stored low, in half the size). float16, bfloat16: weights, inputs and\n"
            "outputs become low too, where the operators beside them do. float32: take an earlier\n"
            "rewrite of this tool back (with --train: nothing is low)");
  app.add_option("--target", o.target,
                 WithDefault("convert only if this hardware is fast with the low type; auto: this machine", o.target))
      ->type_name("any|auto|cuda:CC|cpu:avx2|cpu:avx512|cpu:avx512_bf16|cpu:amx|xpu|tpu")
      ->group(what);
  app.add_option("--profile", o.profile, WithDefault("base operator lists, see --list-profiles", o.profile))
      ->type_name(absl::StrJoin(ListProfiles(), "|"))
      ->group(what);
  const auto add_strings = [&](const std::string& group, const std::string& flag, std::vector<std::string>& values,
                               const std::string& type, const std::string& help) {
    // With allow_extra_args CLI11 would take "[ab]" for a list and its brackets away.
    app.add_option(flag, values, help)->type_name(type)->group(group)->expected(1)->take_all()->allow_extra_args(false);
  };
  add_strings(what, "--lists", o.lists, "FILE", "overlay list file (repeatable; later ones win)");
  const std::string items = "OP[,OP...]";
  add_strings(what, "--allow", o.allow, items,
              "run these operators, or all of these functions, low; -OP takes one off all lists (repeatable)");
  add_strings(what, "--infer", o.infer, items, "low where it saves casts between allowed operators (repeatable)");
  add_strings(what, "--deny", o.deny, items, "keep these, and what follows from them, float32 (repeatable)");
  add_strings(what, "--clear", o.clear, items, "follow the neighbours' type (repeatable)");
  add_strings(what, "--deny-node", o.deny_node, "GLOB",
              "keep nodes float32 by name, or path as reports print it; * ? [...] match, except in a GLOB that is\n"
              "a name or path as it stands; that of a call means all nodes inlined from it (repeatable)");
  add_strings(what, "--allow-node", o.allow_node, "GLOB",
              "run nodes low by name, whatever lists and guards say (repeatable)");
  add_strings(what, "--deny-tensor", o.deny_tensor, "GLOB", "keep the producers of these tensors float32 (repeatable)");
  add_strings(what, "--op-signature", o.op_signatures, "SIGNATURE",
              "types of an operator that ONNX does not define, so that --allow and others work on it (repeatable):\n"
              "[DOMAIN::]OP(PORT, ...) -> PORT|(PORT, ...) [where T in {float, float16}, ...]\n"
              "PORT: [NAME:] TYPE[?|...], ? for one that may be absent, ... for any number from there on;\n"
              "TYPE: float, int64 and so on, or a variable such as T: one type wherever it stands");
  AddChoice(app, what, "--level", o.level, NamesOf(RewriteOptions::Level()),
            "default|treat-infer-as-deny|tensor-cores-only|unsafe-force-all",
            "treat-infer-as-deny: operators of class infer stay float32, clear ones may follow.\n"
            "tensor-cores-only: those of class allow alone become low. unsafe-force-all: all that can,\n"
            "deny lists and guards are ignored [default]");
  AddChoice(
      app, what, "--placement", o.placement, NamesOf(RewriteOptions::Placement()), "paint|cut|fewest-casts",
      "who decides on operators of class infer and clear. paint: TensorFlow's rules. cut: the type in which\n"
      "the fewest bytes are moved, casts included. fewest-casts: what is said [as the profile says; cut in default]");
  AddChoice(
      app, what, "--functions", o.functions, NamesOf(RewriteOptions::Functions()), "inline|inline-all|keep|specialise",
      "calls of model-local functions: inlined (-all: domain ai.amp too), kept float32, or copies per type [inline]");
  app.add_option("--follow", a.follow,
                 "infer operators follow an allowed producer; implies --placement paint [as the profile says]")
      ->type_name("on|off")
      ->group(what);

  const std::string safety = kWhatStays;
  AddChoice(app, safety, "--guards", o.guards, NamesOf(RewriteOptions::Guards()), "all|constants|none",
            "keep high what goes wrong in 16 bits; constants: only for constants that these cannot hold [all]");
  AddNumber(app, safety, "--max-weight-error", o.max_weight_error, 1e30,
            "largest relative L2 rounding error of a weight");
  app.add_option_function<std::string>(
         "--keep-io", [&a](const std::string& text) { a.keep_io = text; },
         "graph inputs and outputs that keep float32; the others become low where an operator\n"
         "that is low reads or gives them (advice names those that do not). Before IR version 4,\n"
         "initializers are listed among the inputs, and count as weights [all]")
      ->type_name("all|none|NAME[,NAME...]")
      ->group(safety);
  AddChoice(app, safety, "--preserve", o.preserve, NamesOf(RewriteOptions::Preserve()), "tensor|node",
            "tensor: an output's producer may become low; node: it may not [tensor]");
  AddChoice(app, safety, "--weights", o.weights, NamesOf(RewriteOptions::Weights()), "convert|cast",
            "convert weights now, or keep them float32 and cast at run time [convert]");
  app.add_flag("--freeze-initializers", o.freeze_initializers,
               "make constants of initializers that callers may override (before IR version 4 none may be:\n"
               "initializers are listed among the inputs, and count as weights)")
      ->group(safety);
  app.add_flag("--keep-batch-norm", o.keep_batch_norm,
               "leave BatchNormalizations what they are. Else one that would become low is folded into the\n"
               "Conv, ConvTranspose, Gemm or MatMul ahead, or becomes a Mul and an Add, or stays float32\n"
               "(--guards none, --weights cast and --functions specialise imply this flag)")
      ->group(safety);
  app.add_flag("--keep-decomposed", o.keep_decomposed,
               "leave norms that are written out in small operators as they are; otherwise those beside low\n"
               "operators become LayerNormalization and the like, float32 inside")
      ->group(safety);
  app.add_flag("--scale-weights", a.scale_weights,
               "--scale-weights=low-data|always|never: multiply weights of matrix work that are tiny or huge as a\n"
               "whole by a power of two, which is taken off behind the operator; otherwise that stays float32.\n"
               "low-data: tiny ones, where the data are computed in 16 bits anyway or known to fit; always (the flag\n"
               "alone): whatever the data, which do not fit where weights are tiny because data are huge, or the\n"
               "other way round [low-data; never with --guards none, --weights cast, --functions specialise]")
      ->group(safety);
  add_strings(safety, "--calibration", o.calibration, "FILE.npz",
              "run the float32 model on this sample, arrays named after the inputs, and keep float32 what leaves\n"
              "the low type's range on it (repeatable)");
  app.add_option("--ranges", o.ranges, "write what --calibration showed / without that flag: read it from there")
      ->type_name("FILE.json")
      ->group(safety);
  app.add_flag("--verify", a.verify,
               "--verify=FILE.npz|fix|off|auto: run both models with every rounding applied, on this sample, else on\n"
               "inputs that are made up by declared type and shape. FILE, or the flag alone: write nothing if an\n"
               "output differs by more than --tolerance (exit 7), and name the first value that does, and the\n"
               "--deny-node that mends it. fix: apply that. auto: run them where it takes 2 s or less, or twice the\n"
               "time of the rewrite; what differs is a warning, with --strict exit 7 [auto]")
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
      ->group(safety);
  add_strings(
      safety, "--dim", a.dims, "INPUT:AXIS=NAME|NAME=N",
      "x:0=batch: make a fixed dimension of an input symbolic; refused, with the node, where an operator does\n"
      "not compute each sample along it by itself. Without --verify=FILE, NAME=N: the size of a dimension of the\n"
      "inputs that are made up, by its name, or input and axis: x:1=8 (repeatable)");
  app.add_flag(
         "--sensitivity", a.sensitivity,
         "--sensitivity=FILE.csv: print which parts of the model lose the most in the low type on the samples\n"
         "of --calibration, with their weights, work and casts; FILE, if there is one, gets the same. Without -o\n"
         "or --in-place no model is written")
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
      ->group(safety);
  constexpr int64_t kMostParts = int64_t{1} << 31;
  AddNumber(app, safety, "--measure", o.measure, kMostParts,
            "with --sensitivity: run the first N parts with each of them alone in the low type, too");
  app.add_flag("--search", o.search,
               "keep float32 what has to be, so that the outputs on the samples of --calibration are within\n"
               "--max-error, at the largest saving; exit 7 where nothing is. Two samples of eight are for a last run")
      ->group(safety);
  AddNumberAs(app, safety, "--max-error", o.max_error, 1e30,
              "with --search: relative L2 error of an output [0.02 for float16, 0.1 for bfloat16]");
  AddNumber(app, safety, "--holdout", o.holdout, 1.0,
            "with --search: the share of the samples that are kept for the last run; of fewer than 4 samples none");
  AddNumber(app, safety, "--budget-runs", o.budget_runs, kMostParts, "with --search: how many choices are run at most");
  app.add_option("--search-list", o.search_list,
                 "with --search: a list file (--lists) of these nodes and of those that guards keep;\n"
                 "rewrites with it need no samples, but around these nodes others may become low: verify the result")
      ->type_name("FILE.list")
      ->group(safety);
  app.add_option("--pareto", o.pareto, "with --search: every choice that was run, its error and what it saves")
      ->type_name("FILE.csv")
      ->group(safety);
  AddNumberAs(app, safety, "--tolerance", o.tolerance, 1e30,
              "relative L2 error of an output [0.02 for float16, 0.1 for bfloat16]");
  app.add_option("--opset", a.opset,
                 WithDefault(absl::StrCat("auto: raise the opset where the low type needs it; N: lift to it, at most ",
                                          NewestAdaptedOpset()),
                             a.opset))
      ->type_name("auto|keep|N")
      ->group(safety);

  const std::string output = "What is printed";
  app.add_option("--report", a.report,
                 "write what was decided and why: as JSON, or, to FILE.html, as a page for a browser; - for stdout")
      ->type_name("FILE.json")
      ->group(output);
  app.add_option("--node-data", o.node_data_file, "write each node's type and reason as an overlay for Model Explorer")
      ->type_name("FILE.json")
      ->group(output);
  app.add_flag("--annotate", o.annotate,
               "write them into the model, where Netron shows them: metadata_props amp.type and amp.why of each node;\n"
               "raises the IR version to 10")
      ->group(output);
  app.add_flag("--explain", a.explain,
               "print it as a table; --explain=float32: of nodes those alone that stay float32, no casts and weights")
      ->group(output);
  app.add_flag("--diff", o.diff, "print the nodes and weights that change")->group(output);
  app.add_option("--print-after", o.print_after, "print the model, or what was decided, after this stage (repeatable)")
      ->type_name(absl::StrCat("all|", absl::StrJoin(StageNames(), "|")))
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->group(output);
  app.add_option("--stop-after", o.stop_after,
                 "write the model as it is after this stage (casts: with --dry-run alone)")
      ->type_name(absl::StrJoin(StageNames(), "|"))
      ->group(output);
  app.add_flag("--dry-run", o.dry_run, "decide and print, write no model")->group(output);
  app.add_flag("--print-lists", a.print_lists, "print the effective lists for --dtype and stop")->group(output);
  app.add_flag("--list-profiles", a.list_profiles, "print the profiles, a line each, and stop")->group(output);
  AddChoice(app, output, "--completion", a.completion, kShells, "bash", "print a completion script and stop");
  app.add_flag(
         "--strict", o.strict,
         "a GLOB or an operator that matches nothing is an error, and so is what a check by itself finds to differ")
      ->group(output);
  app.add_flag("-q,--quiet", a.quiet, "print errors, and what is asked for (--explain, --diff, --print-after), alone")
      ->group(output);
  app.add_flag("-v,--verbose", a.verbose, "print every warning")->group(output);

  DeclareTrainFlags(app, o.train);
  AddLimits(app, o.limits);
}

}  // namespace amp
