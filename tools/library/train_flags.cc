#include "tools/library/train_flags.h"

namespace amp {
namespace {

FlagTable<TrainOptions> MakeTable() {
  using O = TrainOptions;
  const FlagTraits<O> of_step = {.needs = kTrainFlag}, of_dynamic_scale = {.needs = kDynamicScale};
  FlagTable<O> table = {
      {kTrainFlag, "",
       "make one training step of a forward model: loss, gradients, optimizer, loss scale. Weights and\n"
       "optimizer slots are float32 inputs with defaults and outputs NAME.next, listed in the metadata\n"
       "'amp.state'; amp-train runs it. --policy float32: the step in float32",
       Switch(&O::train)},
      {"--loss", "softmax-cross-entropy|mse|graph:NAME",
       "a Softmax at the end is merged into it; graph:NAME: a value of the model [softmax-cross-entropy].\n"
       "Without --train: the name of a training graph's loss",
       Text(&O::loss)},
      {"--logits", "NAME", "what the labels are for [the only output]", Text(&O::logits), of_step},
      {"--labels", "NAME[:sparse|onehot]", "the new input [labels:sparse; with mse the targets]", Text(&O::labels),
       of_step},
      {"--optimizer", "sgd|momentum|rmsprop|adam|adamw", "in the form that Keras gives it [rmsprop]",
       Choice(&O::optimizer), of_step},
      {"--learning-rate", "X", "the default of the input 'amp.learning_rate' [0.01 for sgd and momentum, else 0.001]",
       Number(&O::learning_rate), of_step},
      {"--momentum", "X", "of momentum [0.9]", Number(&O::momentum), of_step},
      {"--nesterov", "", "Nesterov's form of momentum", Switch(&O::nesterov), of_step},
      {"--rho", "X", "of rmsprop [0.9]", Number(&O::rho), of_step},
      {"--epsilon", "X", "of rmsprop (inside the root), adam and adamw (beside it) [1e-7]", Number(&O::epsilon),
       of_step},
      {"--beta1", "X", "of adam and adamw [0.9]", Number(&O::beta1), of_step},
      {"--beta2", "X", "of adam and adamw [0.999]", Number(&O::beta2), of_step},
      {"--weight-decay", "X", "of adamw, times the learning rate [0.004]", Number(&O::weight_decay), of_step},
      {"--clip-norm", "X", "bound on the L2 norm of all gradients together", Number(&O::clip_norm), of_step},
      {"--accumulate", "N", "average the gradients of so many steps for one update [1]", Number(&O::accumulate),
       of_step},
      {"--trainable", "GLOB", "train these weights alone (repeatable) [what is learnt as a rule]", Texts(&O::trainable),
       of_step},
      {"--freeze", "GLOB",
       "but not these (repeatable); what nothing trained depends on gets no\n"
       "backward nodes",
       Texts(&O::freeze), of_step},
      {"--head", "TENSOR:dense=N",
       "drop what is behind this tensor, [N, C] or [N, C, H, W], for a new Dense layer of N units, the only\n"
       "one that is trained unless --trainable names others",
       Text(&O::head), of_step},
      {"--seed", "N", "of the head's weights [0]", Number(&O::seed), of_step},
      {"--data-parallel", "",
       "average gradients over the processes of mpirun -n N amp-train; run by one it is the same step",
       Switch(&O::data_parallel), of_step},
      {"--loss-scale", "dynamic|X|none",
       "dynamic: grows while all gradients are finite, shrinks when one is not, which skips the step; X: by\n"
       "that number [dynamic for float16, else none]",
       Text(&O::loss_scale)},
      {"--loss-scale-initial", "X", "where it starts [32768]", Number(&O::loss_scale_initial)},
      {"--loss-scale-interval", "N", "good steps until it grows [2000]", Number(&O::loss_scale_interval),
       of_dynamic_scale},
      {"--loss-scale-growth", "X", "by this factor [2]", Number(&O::loss_scale_growth), of_dynamic_scale},
      {"--loss-scale-backoff", "X", "by which it shrinks [1 / growth]", Number(&O::loss_scale_backoff),
       of_dynamic_scale},
      {"--loss-scale-min", "X", "at least this [1]", Number(&O::loss_scale_min), of_dynamic_scale},
      {"--loss-scale-max", "X", "growth beyond this does not take place [16777216]", Number(&O::loss_scale_max),
       of_dynamic_scale},
      {"--finite-check", "", "skip steps with a gradient that is not finite: the default, also without a loss scale",
       SwitchTo(true, &O::finite_check)},
      {"--no-finite-check", "", "skip none, as Keras does: NaN goes into the weights",
       SwitchTo(false, &O::finite_check)},
      {"--count-skipped-steps", "", "the input 'amp.global_step' counts them too", Switch(&O::count_skipped_steps)},
      {"--gradient", "WEIGHT=GRAD",
       "without --train: which value of a training graph is which weight's gradient (repeatable)",
       Texts(&O::gradients)},
  };
  for (Flag<O>& row : table) row.group = "Training";
  return table;
}

}  // namespace

const FlagTable<TrainOptions>& TrainFlags() {
  static const FlagTable<TrainOptions>* const table = new FlagTable<TrainOptions>(MakeTable());
  return *table;
}

}  // namespace amp
