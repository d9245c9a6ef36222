// Element-wise operators in a row, in one pass: what is between them stays in the nearest cache.
//
//   s = Mul (x, a)   t = Exp (s)   y = Sub (t, x)
//     =>   for each part of 512 elements   s = x * a   t = exp (s)   y = t - x, stored
//
// Every step is the loop that the operator's own kernel runs, and every 16-bit value is rounded to its type, so that
// the result is that of the operators one by one, bit for bit. Inputs broadcast to the result, and values in between
// have its shape; for other shapes the operators run one by one.
#ifndef AMP_RUNTIME_LOOPS_CHAIN_H_
#define AMP_RUNTIME_LOOPS_CHAIN_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "runtime/kernel/kernel.h"
#include "runtime/loops/raw/loops.h"

namespace amp {

struct ChainStep {
  enum class Kind {
    kMap,
    kZip,
    kSlope,
    kCompare,
    kChoose,
    kCast
  };  // kSlope: a kZip whose first operand is not repeated
  Kind kind = Kind::kMap;
  UnaryLoop UnaryLoops::*map = nullptr;
  UnaryParameters parameters = {};
  BinaryLoop BinaryLoops::*zip = nullptr;
  CompareLoop BinaryLoops::*compare = nullptr;
  DType dtype = DType::kFloat32;      // of what it gives: float32, float16, bfloat16 or bool
  bool is_exact = false;              // of what its type holds it makes what its type holds: nothing is rounded
  std::vector<size_t> operands = {};  // an input of the chain, or behind those the step that gives it
  size_t buffer = 0;                  // where its parts are, unless it is the last
};

inline constexpr size_t kMostChainSteps = 48, kMostChainInputs = 24;

// The shapes that the inputs' shapes lead to; found once for each set of them.
struct ChainShapes;

struct Chain : KernelState {
  std::vector<DType> inputs;  // float32, float16, bfloat16 or bool
  std::vector<ChainStep> steps;
  size_t num_buffers = 0;

  absl::Mutex mutex;
  std::shared_ptr<const ChainShapes> shapes ABSL_GUARDED_BY(mutex);  // of the last run
};

// Gives every step a buffer that nobody needs any more.
void AssignBuffers(Chain& chain);

// The rows that compute chains: for inputs in any layout that fit together, and for row-major ones.
std::vector<const KernelRow*> ChainRows();

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_CHAIN_H_
