// Epilogues as oneDNN takes them.
#ifndef AMP_RUNTIME_CPU_LIBRARY_EPILOGUE_H_
#define AMP_RUNTIME_CPU_LIBRARY_EPILOGUE_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cpu/prepared.h"
#include "runtime/kernel/kernel.h"
#include "runtime/onednn/interface.h"

namespace amp {

// Why the library takes no node with these inputs 0 and 1 and this epilogue; null where it may.
const char* WhyNotForLibrary(const KernelContext& context);

// An epilogue's steps with what they read as the library reads it, and which inputs of the node those are.
struct LibraryEpilogue {
  std::vector<onednn::PostOp> post_ops;
  std::vector<size_t> ports;  // of the post-ops that read something, in order
  onednn::Operand bias;       // kUndefined: none
  size_t bias_port = 0;
};

// An operand's dims and strides in the shape of the result that the library sees; nothing where it does not fit that.
using FitOperand = std::function<std::optional<onednn::Operand>(const Tensor&)>;

// The first step becomes a bias where that has one number for each index of `bias_axis`; none does without an axis.
// Nothing where an operand does not fit.
std::optional<LibraryEpilogue> FitEpilogue(const KernelContext& context, const std::vector<EpilogueStep>& steps,
                                           std::optional<size_t> bias_axis, const FitOperand& fit);

// Input `port` as it is read by the library: of the compute type, in the layout that the operand was fitted in.
absl::StatusOr<Tensor> OperandTensor(const KernelContext& context, size_t port, DType compute, Layout layout);

// Shapes and types of all inputs, and which are constant: what a prepared operation depends on.
void AppendShapes(const KernelContext& context, std::vector<int64_t>& key);

// The result in the type that the library gives it in: the output itself, where the types agree.
struct LibraryResult {
  Tensor* output = nullptr;  // of the node
  Tensor computed;           // another type's; undefined where there is none

  void* data() { return computed.dtype() == DType::kUndefined ? Data(*output) : Data(computed); }
  // Rounds what was computed into the output.
  void Store();

 private:
  static void* Data(Tensor& tensor) { return tensor.mutable_bytes().data(); }
};
absl::StatusOr<LibraryResult> MakeResult(KernelContext& context, DType computed_as, Dims dims, Layout layout);

// The type of the node's result: that of its first input, unless the epilogue says otherwise.
DType StoredType(const KernelContext& context);
// What the library is asked to give: 16 bits where it computes in them and they are wanted.
DType ResultTypeOf(DType compute, DType stored);

// Runs it with operands and scratch of their own. Errors: kInternal, the library's; memory.
absl::Status RunPrepared(KernelContext& context, const PreparedOperation& operation, const LibraryEpilogue& epilogue,
                         onednn::Primitive::Arguments arguments, DType compute, Layout layout);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_LIBRARY_EPILOGUE_H_
