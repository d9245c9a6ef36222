// Converts epilogues into post-ops of oneDNN.
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

// Returns why the library cannot compute a node with these inputs 0 and 1 and this epilogue; null if it may.
Refusal WhyNotForLibrary(const KernelContext& context);

// The steps of an epilogue as post-ops, and the inputs of the node that they read.
struct LibraryEpilogue {
  std::vector<onednn::PostOp> post_ops;
  // For each post-op that reads an operand, in order: the operand's input port, and its step, the number of its
  // elements between successive indices of the axis along which the result is cut. Step 0: all parts read the same
  // elements.
  std::vector<size_t> ports;
  std::vector<int64_t> steps;
  onednn::Operand bias;  // kUndefined: none
  size_t bias_port = 0;
};

// An operand, with dims and strides that fit the part of the result that the library computes.
struct FittedOperand {
  onednn::Operand operand;
  int64_t step = 0;
};
// Returns nothing if the operand does not fit.
using FitOperand = std::function<std::optional<FittedOperand>(const Tensor&)>;

// Converts the steps. The first one becomes a bias if its operand has one number for each index of `bias_axis`; without
// an axis there is no bias. Returns nothing if an operand does not fit.
std::optional<LibraryEpilogue> FitEpilogue(const KernelContext& context, const std::vector<EpilogueStep>& steps,
                                           std::optional<size_t> bias_axis, const FitOperand& fit);

// Returns input `port` in the layout that its operand was fitted for.
absl::StatusOr<Tensor> InLibraryLayout(const KernelContext& context, size_t port, Layout layout);

// Appends what a prepared operation depends on: shapes and types of all inputs, and which inputs are constant.
void AppendShapes(const KernelContext& context, std::vector<int64_t>& key);

// Returns the type of the node's result: that of its first input, unless the epilogue sets another one.
DType StoredType(const KernelContext& context);
// Returns the type in which the library stores its result: 16 bits if it computes in that type and the result is of it,
// else float32.
DType ResultTypeOf(DType compute, DType stored);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_LIBRARY_EPILOGUE_H_
