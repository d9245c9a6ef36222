// Work on tensors that are stored in another type than the library computes in, cut along an axis, so that only a part
// of them is ever held in that type.
//
//   x float16[1000,768] -> float32[384,768] -> library -> float32[384,3072] -> y float16[1000,3072]     three times
//
// Products are cut into rows, or batches of matrices; convolutions into images, or one image into bands of rows, which
// read what their windows reach beyond them. What needs no conversion is in one part, read and written where it is.
#ifndef AMP_RUNTIME_CPU_PARTS_H_
#define AMP_RUNTIME_CPU_PARTS_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cpu/library_epilogue.h"
#include "runtime/cpu/prepared.h"
#include "runtime/kernel/kernel.h"
#include "runtime/onednn/interface.h"

namespace amp {

// An axis of `total` indices in parts of `size`, the last of which may be smaller.
struct Parts {
  int64_t total = 1, size = 1;

  int64_t count() const { return (total + size - 1) / size; }
  int64_t last() const { return total - (count() - 1) * size; }
};

// Elements of what is held in float32 for one index, and of all operands and results.
struct PartElements {
  int64_t of_index = 0, of_all = 0;
};
// What parts may take where all in float32 would take so much: an eighth, within bounds.
int64_t PartBytes(int64_t all_bytes);
// Parts that take no more than that; a multiple of `granule` at least, unless that is all.
Parts CutAxis(int64_t total, const PartElements& elements, int64_t granule);

// Indices of an operand that index i of the result reads: [i * stride - lead, i * stride - lead + extent). What is
// outside is zero.
struct PartWindow {
  int64_t stride = 1, lead = 0, extent = 1;
};

// An operand of the node, in the layout that the library reads.
struct PartedOperand {
  const Tensor* tensor = nullptr;
  int64_t step = 0;    // elements from one index of the cut axis to the next; 0: all parts read all of it
  int64_t blocks = 1;  // of an operand that all parts read: it is converted in so many pieces, again for every part
  PartWindow window = {};
};

// An operation for a part, and for the last one where that is smaller.
struct PartedOperation : PreparedOperation {
  Parts parts;
  std::unique_ptr<onednn::Primitive> last;
  Tensor weights_of_last;
  LibraryEpilogue epilogue;
  DType computed_as = DType::kUndefined;  // what the library gives
  DType stored_as = DType::kUndefined;    // what the result is stored in
  int64_t y_step = 0;                     // elements of the result from one index of the cut axis to the next
  int64_t blocks = 1;                     // of input 1: each gives that part of every row of the result
};

// Makes both primitives by what makes one for so many indices, and packs weights that are constant. Errors:
// kUnimplemented, the library's.
using MakePart = std::function<absl::StatusOr<std::unique_ptr<onednn::Primitive>>(int64_t size)>;
absl::Status PrepareParts(KernelContext& context, DType compute, const MakePart& make, PartedOperation& operation);

// Input 1 as the primitives want it.
struct RunWeights {
  const Tensor *of_parts = nullptr, *of_last = nullptr;
  Tensor made, made_for_last;  // for this run, where the input is no constant
};
// REQUIRES: every part reads all of it.
absl::Status MakeWeights(KernelContext& context, const PartedOperation& operation, DType compute, RunWeights& weights);

struct PartedRun {
  const PartedOperation& operation;
  DType compute;
  Layout layout, y_layout;  // of the operands, and of the result
  PartedOperand a, b;
  const Tensor *weights = nullptr, *weights_of_last = nullptr;  // null: b
  const Tensor* bias_behind = nullptr;  // float32, to be added to every row of the result; null: none
};

// Makes output 0, in the elements of an input that nobody else needs where its parts are read before those of the result
// are stored. Errors: kInternal, the library's; memory.
absl::Status RunInParts(KernelContext& context, const PartedRun& run);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_PARTS_H_
