#include "tools/rewrite/train_flags.h"

#include "CLI/CLI.hpp"
#include "tools/library/option_names.h"
#include "tools/program/flag_values.h"

namespace amp {
namespace {

class Declarer {
 public:
  Declarer(CLI::App& app, const char* group) : app_(app), group_(group) {}

  void Text(const char* flag, std::string& value, const char* type, const char* help) {
    app_.add_option(flag, value, help)->type_name(type)->group(group_);
  }
  void Texts(const char* flag, std::vector<std::string>& values, const char* type, const char* help) {
    app_.add_option(flag, values, help)
        ->type_name(type)
        ->group(group_)
        ->expected(1)
        ->take_all()
        ->allow_extra_args(false);
  }
  template <typename Number>
  void Maybe(const char* flag, std::optional<Number>& value, const char* help) {
    app_.add_option_function<std::string>(
            flag,
            [&value, flag](const std::string& text) {
              Number number = 0;
              if (!ParseNumber(text, number)) {
                const char* const kind = std::is_integral_v<Number> ? "whole number" : "number";
                throw CLI::ValidationError(flag, absl::StrCat("expected a ", kind, ", found '", Escaped(text), "'"));
              }
              value = number;
            },
            help)
        ->type_name(std::is_integral_v<Number> ? "N" : "X")
        ->group(group_);
  }
  void Set(const char* flag, std::optional<bool>& value, bool to, const char* help) {
    app_.add_flag_callback(
            flag, [&value, to] { value = to; }, help)
        ->group(group_);
  }
  void Switch(const char* flag, bool& value, const char* help) { app_.add_flag(flag, value, help)->group(group_); }

 private:
  CLI::App& app_;
  const char* group_;
};

}  // namespace

void DeclareTrainFlags(CLI::App& app, TrainOptions& o) {
  const char* const group = "Training";
  Declarer flags(app, group);
  flags.Switch("--train", o.train,
               "make one training step of a forward model: loss, gradients, optimizer, loss scale. Weights and\n"
               "optimizer slots are float32 inputs with defaults and outputs NAME.next, listed in the metadata\n"
               "'amp.state'; amp-train runs it. --policy float32: the step in float32");
  flags.Text("--loss", o.loss, "softmax-cross-entropy|mse|graph:NAME",
             "a Softmax at the end is merged into it; graph:NAME: a value of the model [softmax-cross-entropy].\n"
             "Without --train: the name of a training graph's loss");
  flags.Text("--logits", o.logits, "NAME", "what the labels are for [the only output]");
  flags.Text("--labels", o.labels, "NAME[:sparse|onehot]", "the new input [labels:sparse; with mse the targets]");
  AddChoice(app, group, "--optimizer", o.optimizer, NamesOf(Optimizer()), "sgd|momentum|rmsprop|adam|adamw",
            "in the form that Keras gives it [rmsprop]");
  flags.Maybe("--learning-rate", o.learning_rate,
              "the default of the input 'amp.learning_rate' [0.01 for sgd and momentum, else 0.001]");
  flags.Maybe("--momentum", o.momentum, "of momentum [0.9]");
  flags.Switch("--nesterov", o.nesterov, "Nesterov's form of momentum");
  flags.Maybe("--rho", o.rho, "of rmsprop [0.9]");
  flags.Maybe("--epsilon", o.epsilon, "of rmsprop (inside the root), adam and adamw (beside it) [1e-7]");
  flags.Maybe("--beta1", o.beta1, "of adam and adamw [0.9]");
  flags.Maybe("--beta2", o.beta2, "of adam and adamw [0.999]");
  flags.Maybe("--weight-decay", o.weight_decay, "of adamw, times the learning rate [0.004]");
  flags.Maybe("--clip-norm", o.clip_norm, "bound on the L2 norm of all gradients together");
  flags.Maybe("--accumulate", o.accumulate, "average the gradients of so many steps for one update [1]");
  flags.Texts("--trainable", o.trainable, "GLOB", "train these weights alone (repeatable) [what is learnt as a rule]");
  flags.Texts("--freeze", o.freeze, "GLOB",
              "but not these (repeatable); what nothing trained depends on gets no\n"
              "backward nodes");
  flags.Text("--head", o.head, "TENSOR:dense=N",
             "drop what is behind this tensor, [N, C] or [N, C, H, W], for a new Dense layer of N units, the only\n"
             "one that is trained unless --trainable names others");
  flags.Maybe("--seed", o.seed, "of the head's weights [0]");
  flags.Switch("--data-parallel", o.data_parallel,
               "average gradients over the processes of mpirun -n N amp-train; run by one it is the same step");
  flags.Text("--loss-scale", o.loss_scale, "dynamic|X|none",
             "dynamic: grows while all gradients are finite, shrinks when one is not, which skips the step; X: by\n"
             "that number [dynamic for float16, else none]");
  flags.Maybe("--loss-scale-initial", o.loss_scale_initial, "where it starts [32768]");
  flags.Maybe("--loss-scale-interval", o.loss_scale_interval, "good steps until it grows [2000]");
  flags.Maybe("--loss-scale-growth", o.loss_scale_growth, "by this factor [2]");
  flags.Maybe("--loss-scale-backoff", o.loss_scale_backoff, "by which it shrinks [1 / growth]");
  flags.Maybe("--loss-scale-min", o.loss_scale_min, "at least this [1]");
  flags.Maybe("--loss-scale-max", o.loss_scale_max, "growth beyond this does not take place [16777216]");
  flags.Set("--finite-check", o.finite_check, true,
            "skip steps with a gradient that is not finite: the default, also without a loss scale");
  flags.Set("--no-finite-check", o.finite_check, false, "skip none, as Keras does: NaN goes into the weights");
  flags.Switch("--count-skipped-steps", o.count_skipped_steps, "the input 'amp.global_step' counts them too");
  flags.Texts("--gradient", o.gradients, "WEIGHT=GRAD",
              "without --train: which value of a training graph is which weight's gradient (repeatable)");
}

}  // namespace amp
