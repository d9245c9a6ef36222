// The interface between the executor and oneDNN, in types of this project. oneDNN is large, so it lives in a shared
// object that is opened when a session needs it, and nothing links it.
//
//   const Library* library = OpenLibrary(&why_not);                      runtime/onednn/open_library.h
//   auto primitive = library->MakeMatMul({.a = ..., .b = ..., .y = ...}, &why_not);
//   primitive->Run({.a = a, .b = packed, .y = y, .scratch = scratch});
//
// Nothing here throws, or allocates memory that the other side frees. Source: oneDNN's developer guide.
#ifndef AMP_RUNTIME_ONEDNN_INTERFACE_H_
#define AMP_RUNTIME_ONEDNN_INTERFACE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/base/dtype.h"
#include "runtime/kernel/epilogue.h"
#include "runtime/kernel/parallel_for.h"

namespace amp::onednn {

// An array of float32, bfloat16, or float16 where the processor computes in it; for integer products, of uint8, int8 or
// int32.
struct Operand {
  DType dtype = DType::kUndefined;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;  // in elements
};

// A step of an epilogue, with the operand that it reads.
struct PostOp {
  EpilogueKind kind = EpilogueKind::kRelu;
  float alpha = 0, beta = 0;
  Operand operand;  // read by kAdd and kMul
};

// y = post_ops(a b + bias), or post_ops(y + a b + bias). The last two dims are matrices; the others broadcast.
struct MatMulSpec {
  Operand a, b, y;
  Operand bias = {};  // kUndefined: none; else of y's rank, [1, ..., 1, n]
  bool packs_b = false;
  bool adds_to_y = false;       // to the present content of y
  bool has_one_thread = false;  // uses one thread, so that its bits do not depend on the number of threads
  std::vector<PostOp> post_ops = {};
};

// y = post_ops(convolution of x with w + bias). Dims: x and y [n, c, spatial...]; w [groups, c / groups of y, c /
// groups of x, spatial...], in any layout, by its strides; bias [c of y].
struct ConvolutionSpec {
  Operand x, w, y;
  Operand bias = {};  // kUndefined: none
  std::vector<int64_t> strides, dilations, pads_begin, pads_end;
  bool is_transposed = false;
  // For x in uint8 or int8: Arguments::a_zero is subtracted from x, and is the value of the padding.
  bool has_x_zero = false;
  std::vector<PostOp> post_ops = {};
};

// Undoes the packing of a primitive.
class Unpacker {
 public:
  virtual ~Unpacker() = default;
  virtual bool Unpack(const void* packed, void* plain) const = 0;
};

// One operation for one set of shapes. Several threads may run it at once, each with its own scratch memory.
class Primitive {
 public:
  struct Arguments {
    const void* a = nullptr;  // x of a convolution
    const int32_t* a_zero = nullptr;
    const void* b = nullptr;  // packed, unless packed_bytes() is 0; w of a convolution, y for a gradient of weights
    const void* bias = nullptr;
    void* y = nullptr;                            // w for a gradient of weights
    void* scratch = nullptr;                      // of scratch_bytes() bytes
    std::vector<const void*> post_operands = {};  // operands of kAdd and kMul, in order
  };

  virtual ~Primitive() = default;
  virtual size_t scratch_bytes() const = 0;
  // Size in bytes of operand b once it is packed into the layout that the library prefers; 0 if b is read unpacked.
  // packing() names the layouts and types before and after packing; empty if b is read unpacked. A packed b can be used
  // by every primitive with the same packing().
  virtual size_t packed_bytes() const = 0;
  virtual const std::string& packing() const = 0;
  virtual bool Pack(const void* plain, void* packed) const = 0;
  // Null if the library cannot unpack. It may outlive the primitive.
  virtual std::unique_ptr<Unpacker> MakeUnpacker() const = 0;
  virtual bool Run(const Arguments& arguments) const = 0;
  virtual const std::string& implementation() const = 0;  // "brgconv:avx512_core"
};

// How work that threads may share is done.
enum class Sharing {
  kByTimes,  // shared or by one thread, whichever is faster at present (runtime/onednn/shared_work.h)
  kAlways,
  kNever,
};

// The library. As a Team, it runs work on the threads that the library itself uses, as many as SetThreads says.
class Library : public Team {
 public:
  // A run of a model on the calling thread begins, is between two nodes, and ends. Signals that a product holds back
  // (runtime/onednn/held_signals.h) then wait for some milliseconds of such a run at most, rather than be let through
  // behind each product.
  virtual void BeginRun() const = 0;
  virtual void BetweenNodes() const = 0;
  virtual void EndRun() const = 0;
  // Whether the processor computes in the type fast enough to be worth it. kInt8: whether dot products of 8 bits are
  // exact.
  virtual bool ComputesIn(DType dtype) const = 0;
  // Sets the number of threads that the calling thread uses.
  virtual void SetThreads(int count) const = 0;
  // Sets how all work of the process is shared; initially kByTimes. For tests. Must not be called while anything runs.
  virtual void SetSharing(Sharing sharing) const = 0;
  // From now on, the team's threads compute in the calling thread's float mode (runtime/kernel/float_mode.h).
  virtual void ShareFloatMode() const = 0;
  // The functions below return null and a reason if the library cannot compute the operation.
  virtual std::unique_ptr<Primitive> MakeMatMul(const MatMulSpec& spec, std::string* why_not) const = 0;
  virtual std::unique_ptr<Primitive> MakeConvolution(const ConvolutionSpec& spec, std::string* why_not) const = 0;
  // Computes the gradient w of a convolution's weights from the gradient y of its result. `spec`: without bias and
  // post-ops, not transposed; w is float32, in the layout of its strides.
  virtual std::unique_ptr<Primitive> MakeConvolutionWeights(const ConvolutionSpec& spec,
                                                            std::string* why_not) const = 0;
  virtual std::string Version() const = 0;  // "3.2.0"
};

}  // namespace amp::onednn

// The function that the shared object exports. Returns null if the library has nothing fast for the processor.
extern "C" const amp::onednn::Library* AmpOneDnnLibrary();

#endif  // AMP_RUNTIME_ONEDNN_INTERFACE_H_
