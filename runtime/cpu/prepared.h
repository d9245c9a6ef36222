// What the rows of oneDNN keep for a node: an operation for every set of shapes that it met, and packed weights.
#ifndef AMP_RUNTIME_CPU_PREPARED_H_
#define AMP_RUNTIME_CPU_PREPARED_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/kernel/kernel.h"
#include "runtime/onednn/interface.h"

namespace amp {

// For one set of shapes; not changed once it is made.
struct PreparedOperation {
  std::unique_ptr<onednn::Primitive> primitive;
  Dims y_dims;
  Tensor weights;  // packed; undefined where they are packed, or read as they are, at every run
  virtual ~PreparedOperation() = default;
};

class PreparedOperations : public KernelState {
 public:
  using Made = absl::StatusOr<std::shared_ptr<PreparedOperation>>;

  // The operation for a key, made and kept if there is none. Errors: what `make` gives; that there is no such operation
  // (kUnimplemented) is kept too, as finding out takes long.
  Made Get(const std::vector<int64_t>& key, const std::function<Made()>& make);

 private:
  struct Entry {
    std::vector<int64_t> key;
    Made operation;
  };

  absl::Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // the last used first
};

// The constant at the port in the packing that the primitive wants, for all nodes and sizes that want the same of it.
// `plain`: gives it in `compute`, the type that the primitive reads. Errors: what `plain` gives; kUnimplemented, the library does not
// pack it; kResourceExhausted.
absl::StatusOr<Tensor> PackedConstant(const KernelContext& context, size_t port, const onednn::Primitive& primitive,
                                      DType compute, absl::FunctionRef<absl::StatusOr<Tensor>()> plain);

// The type to compute in for tensors stored in `stored`: itself where the processor has arithmetic for it.
DType ComputeTypeFor(const KernelContext& context, DType stored);
// float32, float16 or bfloat16.
bool IsFloatOfLibrary(DType dtype);

// The same elements in another of these types; itself where it has that. `memory`: null for the heap.
absl::StatusOr<Tensor> Converted(const Tensor& tensor, DType dtype, TensorMemory* memory);
// Elements of `from` into `to`, which has as many and the same layout.
void ConvertInto(const Tensor& from, Tensor& to);
// Elements at `from` to `to`, both of these types, by one thread.
void ConvertLine(const void* from, DType from_type, void* to, DType to_type, size_t count);
// The same, many of them, by the threads of the run.
void ConvertElements(const void* from, DType from_type, void* to, DType to_type, size_t count);

onednn::Operand RowMajorOperand(DType dtype, Dims dims);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_PREPARED_H_
