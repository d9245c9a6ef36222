// The state that oneDNN's kernels keep for a node: a prepared operation for each set of shapes, and packed weights.
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

// An operation for one set of shapes, immutable once it is made.
struct PreparedOperation {
  std::unique_ptr<onednn::Primitive> primitive;
  Dims y_dims;
  // Packed; undefined if the weights are packed, or read unpacked, at every run. Of 16 bits where the primitive reads
  // float32: each run widens them.
  Tensor weights;
  virtual ~PreparedOperation() = default;
};

class PreparedOperations : public KernelState {
 public:
  using Made = absl::StatusOr<std::shared_ptr<PreparedOperation>>;

  // Returns the operation for a key; makes and keeps it if there is none. Errors: those of `make`. A
  // refusal is kept too, as finding out that there is no such operation takes long.
  Made Get(const std::vector<int64_t>& key, const std::function<Made()>& make);

 private:
  struct Entry {
    std::vector<int64_t> key;
    Made operation;
  };

  absl::Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // the most recently used first
};

// Returns the constant at the port, packed for the primitive. All nodes and sizes that need the same packing share it.
// `plain`: returns the constant in `compute`, the type that the primitive reads. `kept_as`: that type, or the one in
// which packed elements are kept, if it holds them exactly. Errors: those of `plain`; a refusal if the library cannot
// pack it; kResourceExhausted.
absl::StatusOr<Tensor> PackedConstant(const KernelContext& context, size_t port, const onednn::Primitive& primitive,
                                      DType compute, DType kept_as, absl::FunctionRef<absl::StatusOr<Tensor>()> plain);

// Drops the constant at the port, which is kept as `packed`. Does nothing where others read it, where the library
// cannot unpack it, or where that gives other bits.
void DropPackedConstant(const KernelContext& context, size_t port, const onednn::Primitive& primitive, DType compute,
                        const Tensor& packed);

// Returns the type in which tensors of type `stored` are computed: `stored` itself if the processor is fast with it,
// else bfloat16 for float16 if the options allow that and it is fast, else float32.
DType ComputeTypeFor(const KernelContext& context, DType stored);
// Whether the type is float32, float16 or bfloat16.
bool IsFloatOfLibrary(DType dtype);

// Returns the tensor converted to another of these types, or itself if it has the type. `memory`: null for the heap.
absl::StatusOr<Tensor> Converted(const Tensor& tensor, DType dtype, TensorMemory* memory);
// Converts the elements of `from` into `to`, which has as many of them and the same layout.
void ConvertInto(const Tensor& from, Tensor& to);
// Converts elements at `from` to elements at `to`, both of these types, with one thread.
void ConvertLine(const void* from, DType from_type, void* to, DType to_type, size_t count);
// Does the same for many elements, with the threads of the run.
void ConvertElements(const void* from, DType from_type, void* to, DType to_type, size_t count);

onednn::Operand RowMajorOperand(DType dtype, Dims dims);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_PREPARED_H_
