// Epilogues as oneDNN takes them.
#ifndef AMP_RUNTIME_CPU_LIBRARY_EPILOGUE_H_
#define AMP_RUNTIME_CPU_LIBRARY_EPILOGUE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"
#include "runtime/onednn/interface.h"

namespace amp {

// Why the library takes no node with these inputs 0 and 1 and this epilogue; null where it may.
Refusal WhyNotForLibrary(const KernelContext& context);

// An epilogue's steps with what they read as the library reads it, and which inputs of the node those are.
struct LibraryEpilogue {
  std::vector<onednn::PostOp> post_ops;
  // Of the post-ops that read something, in order: which inputs, and their elements from one index of the axis that the
  // result is cut along to the next; 0: all parts read the same.
  std::vector<size_t> ports;
  std::vector<int64_t> steps;
  onednn::Operand bias;  // kUndefined: none
  size_t bias_port = 0;
};

// Dims and strides in the shape of the part of the result that the library sees.
struct FittedOperand {
  onednn::Operand operand;
  int64_t step = 0;
};
// Nothing where the operand does not fit.
using FitOperand = std::function<std::optional<FittedOperand>(const Tensor&)>;

// The first step becomes a bias where that has one number for each index of `bias_axis`; none does without an axis.
// Nothing where an operand does not fit.
std::optional<LibraryEpilogue> FitEpilogue(const KernelContext& context, const std::vector<EpilogueStep>& steps,
                                           std::optional<size_t> bias_axis, const FitOperand& fit);

// Input `port` in the layout that the operand was fitted in.
absl::StatusOr<Tensor> InLibraryLayout(const KernelContext& context, size_t port, Layout layout);

// Shapes and types of all inputs, and which are constant: what a prepared operation depends on.
void AppendShapes(const KernelContext& context, std::vector<int64_t>& key);

// The type of the node's result: that of its first input, unless the epilogue says otherwise.
DType StoredType(const KernelContext& context);
// What the library is asked to give: 16 bits where it computes in them and they are wanted.
DType ResultTypeOf(DType compute, DType stored);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_LIBRARY_EPILOGUE_H_
