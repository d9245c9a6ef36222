// All loops of one instruction set.
#include "runtime/loops/raw/loops.h"

namespace amp::AMP_LOOPS_ISA {

extern const ConvertLoops kConvert;
extern const UnaryLoops kUnary;
extern const BinaryLoops kBinary, kRoundedFloat16, kRoundedBfloat16;
extern const NarrowBinaryLoops kNarrowFloat16, kNarrowBfloat16;
extern const ChooseLoops kChoose;
extern const RowLoops kRows;
extern const QuantizedLoops kQuantized;
extern const TrainLoops kTrain;
extern const VectorLoops kVector;
extern const ProductLoops kProducts;

extern const Loops kLoops;
const Loops kLoops = {.name = AMP_LOOPS_NAME,
                      .convert = kConvert,
                      .unary = kUnary,
                      .binary = kBinary,
                      .rounded_float16 = kRoundedFloat16,
                      .rounded_bfloat16 = kRoundedBfloat16,
                      .narrow_float16 = kNarrowFloat16,
                      .narrow_bfloat16 = kNarrowBfloat16,
                      .choose = kChoose,
                      .rows = kRows,
                      .quantized = kQuantized,
                      .train = kTrain,
                      .vector = kVector,
                      .products = kProducts};

}  // namespace amp::AMP_LOOPS_ISA
