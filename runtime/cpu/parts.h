// Computes on tensors that are stored in another type than the library computes in. They are cut along an axis, so that
// only one part of them at a time is held in that type.
//
//   x float16[1000,768] -> float32[384,768] -> library -> float32[384,3072] -> y float16[1000,3072]     three parts
//
// Products are cut into rows, or into batches of matrices. Convolutions are cut into images, or one image into bands of
// rows that also read the rows that their windows reach beyond the band. Operations that need no conversion have a
// single part, which is read and written in place.
#ifndef AMP_RUNTIME_CPU_PARTS_H_
#define AMP_RUNTIME_CPU_PARTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cpu/library_epilogue.h"
#include "runtime/cpu/prepared.h"
#include "runtime/kernel/kernel.h"
#include "runtime/onednn/interface.h"

namespace amp {

// An axis of `total` indices cut into parts of `size`; the last part may be smaller.
struct Parts {
  int64_t total = 1, size = 1;

  int64_t count() const { return (total + size - 1) / size; }
  int64_t last() const { return total - (count() - 1) * size; }
};

// Number of elements held in float32 for one index of the cut axis, and number of elements of all operands and results.
struct PartElements {
  int64_t of_index = 0, of_all = 0;
};
// Returns the bytes that a part may take if all operands and results take `all_bytes` in float32: an eighth, within
// bounds.
int64_t PartBytes(int64_t all_bytes);
// Cuts an axis into parts that take no more bytes than that. The size of a part is a multiple of `granule`, or the
// whole axis.
Parts CutAxis(int64_t total, const PartElements& elements, int64_t granule);

// The indices of an operand that index i of the result reads: [i * stride - lead, i * stride - lead + extent). Elements
// outside the operand are zero.
struct PartWindow {
  int64_t stride = 1, lead = 0, extent = 1;
};

// An operand of the node, in the layout that the library reads.
struct PartedOperand {
  const Tensor* tensor = nullptr;
  int64_t step = 0;    // elements between successive indices of the cut axis; 0: all parts read the whole operand
  int64_t blocks = 1;  // number of pieces in which an operand with step 0 is converted, again for every part
  PartWindow window = {};
};

// An operation for a part, and `last` for the last part if it is smaller.
struct PartedOperation : PreparedOperation {
  Parts parts;
  std::unique_ptr<onednn::Primitive> last;
  Tensor weights_of_last;
  LibraryEpilogue epilogue;
  DType computed_as = DType::kUndefined;  // the type in which the library stores its result
  DType stored_as = DType::kUndefined;    // the type of the output
  int64_t y_step = 0;                     // elements of the result between successive indices of the cut axis
  std::vector<EpilogueStep> steps = {};   // behind the sums (runtime/cpu/hidden_numbers.h)
  int64_t blocks = 1;                     // blocks of input 1: each computes its columns of every row of the result
};

// Makes both primitives with `make`, and packs weights that are constant. `kept_as`: the type in which they are kept
// where it holds them exactly: `compute`, or another one for MakeWeights. Errors: the library's refusal.
using MakePart = std::function<absl::StatusOr<std::unique_ptr<onednn::Primitive>>(int64_t size)>;
absl::Status PrepareParts(KernelContext& context, DType compute, DType kept_as, const MakePart& make,
                          PartedOperation& operation);
// Holds input 1 where a run of the operation reads it as it is stored.
absl::StatusOr<ConstantHold> HoldPlainWeights(const KernelContext& context, const PartedOperation& operation);

// Input 1 in the layouts that the primitives read.
struct RunWeights {
  const Tensor *of_parts = nullptr, *of_last = nullptr;
  Tensor made, made_for_last;  // for this run: widened, or packed as the input is not constant
};
// REQUIRES: every part reads all of input 1.
absl::Status MakeWeights(KernelContext& context, const PartedOperation& operation, DType compute, RunWeights& weights);

struct PartedRun {
  const PartedOperation& operation;
  DType compute;
  Layout layout, y_layout;  // of the operands, and of the result
  PartedOperand a, b;
  const Tensor *weights = nullptr, *weights_of_last = nullptr;  // null: operand b is used
  const Tensor* bias_behind = nullptr;  // float32, added to every row of the result after the library; null: none
};

// Computes output 0. It reuses the memory of an input that is not needed any more, if each part reads that input before
// the result's elements there are stored. Errors: kInternal from the library; no memory.
absl::Status RunInParts(KernelContext& context, const PartedRun& run);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_PARTS_H_
