// Choices between a few words: the values of amp-rewrite's flags, of RewriteOptions (tools/library/amp.h), and of the
// passes' settings.
#ifndef AMP_IR_BASE_CHOICES_H_
#define AMP_IR_BASE_CHOICES_H_

namespace amp {

// How far painting goes. kTreatInferAsDeny: operators of class infer stay float32, clear ones may follow.
// kTensorCoresOnly: those of class allow alone become low. kUnsafeForceAll: all that can, deny lists and guards are
// ignored.
enum class Level { kDefault, kTreatInferAsDeny, kTensorCoresOnly, kUnsafeForceAll };

// Which guards keep high what goes wrong in 16 bits. kConstants: only for constants that these cannot hold.
enum class Guards { kAll, kConstants, kNone };

// kConvert: weights are stored low. kCast: they stay float32 in the file, and are cast at run time.
enum class WeightMode { kConvert, kCast };

// Who decides on operators of class infer and clear. kPaint: TensorFlow's rules. kCut: the bytes that are moved.
// kFewestCasts: the number of casts, whatever they and the operators move.
enum class PlacementMode { kPaint, kCut, kFewestCasts };

// The treatment of BatchNormalizations that do not train and would run low. kReplace: they are folded into the operator
// ahead, else become a Mul and an Add, else stay float32. kKeep: they stay what they are.
enum class BatchNormMode { kReplace, kKeep };

// Whether weights that 16 bits cannot hold only because they are tiny or huge as a whole are multiplied by a power of
// two. kLowData: where the operator's data are 16-bit anyway, or known to fit into 16 bits. kAlways: whatever the data;
// where weights are tiny because data are huge, these do not fit.
enum class WeightScaling { kNever, kLowData, kAlways };

// The part of a graph output that stays float32: its type alone, or also the node that produces it.
enum class Preserve { kTensor, kNode };

// The treatment of calls of model-local functions. kInline: they become nodes, except functions of domain ai.amp.
// kKeep: they stay, in float32. kSpecialise: they become calls of copies of the functions, one per colouring.
enum class FunctionMode { kInline, kInlineAll, kKeep, kSpecialise };

// How a step of training changes weights; momentum, rmsprop, adam and adamw in the form that Keras gives them.
enum class Optimizer { kSgd, kMomentum, kRmsprop, kAdam, kAdamw };

// kNone: the loss is not scaled. kFixed: by one number, and no step is ever skipped. kDynamic: by a number that grows
// while all gradients are finite, and shrinks when one is not, which skips the step.
enum class LossScaling { kNone, kFixed, kDynamic };

// kAuto: tensors that were external stay so; from 1.5 GiB on, all initializers. kAlways: all initializers. kNever:
// none. Tensors below 1 KiB are embedded in any case.
enum class ExternalDataPolicy { kAuto, kAlways, kNever };

}  // namespace amp

#endif  // AMP_IR_BASE_CHOICES_H_
