// What the executor asks of oneDNN, in types of our own: the library is large, so that a shared object that holds it is
// opened when a session needs it, and nothing else links it.
//
//   const Library* library = OpenLibrary(&why_not);                      runtime/onednn/open_library.h
//   auto primitive = library->MakeMatMul({.a = ..., .b = ..., .y = ...}, &why_not);
//   primitive->Run({.a = a, .b = packed, .y = y, .scratch = scratch});
//
// Nothing here throws or allocates what the other side frees. Facts about the library: oneDNN's developer guide.
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

// An array: float32, bfloat16 or (where the processor computes in it) float16; uint8 and int8 to
// int32 as well.
struct Operand {
  DType dtype = DType::kUndefined;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;  // in elements
};

// A step of an epilogue, with what it reads.
struct PostOp {
  EpilogueKind kind = EpilogueKind::kRelu;
  float alpha = 0, beta = 0;
  Operand operand;  // kAdd, kMul
};

// y = post_ops(a b + bias), or post_ops(y + a b + bias): matrices in the last two dims, the others broadcast.
struct MatMulSpec {
  Operand a, b, y;
  Operand bias = {};  // kUndefined: none; else of y's rank, [1, ..., 1, n]
  bool packs_b = false;
  bool adds_to_y = false;       // to what y holds
  bool has_one_thread = false;  // works alone, so that its bits do not depend on how many threads there are
  std::vector<PostOp> post_ops = {};
};

// y = post_ops(convolution of x with w + bias). Dims: x and y [n, c, spatial...]; w [groups, c / groups of y,
// c / groups of x, spatial...], in any order of elements by its strides; bias [c of y].
struct ConvolutionSpec {
  Operand x, w, y;
  Operand bias = {};  // kUndefined: none
  std::vector<int64_t> strides, dilations, pads_begin, pads_end;
  bool is_transposed = false;
  bool has_x_zero = false;  // of x in uint8 or int8: products are of x - Arguments::a_zero, padding is that number
  std::vector<PostOp> post_ops = {};
};

// One operation, made for one set of shapes. Several threads may run it at once, with scratch of their own.
class Primitive {
 public:
  struct Arguments {
    const void* a = nullptr;  // x of a convolution
    const int32_t* a_zero = nullptr;
    const void* b = nullptr;  // packed, where packed_bytes() is not 0; w of a convolution, y where w is the result
    const void* bias = nullptr;
    void* y = nullptr;                            // w, where that is the result
    void* scratch = nullptr;                      // scratch_bytes()
    std::vector<const void*> post_operands = {};  // of kAdd and kMul, in order
  };

  virtual ~Primitive() = default;
  virtual size_t scratch_bytes() const = 0;
  // Of b in the order that the library wants it in; 0: as it is. packing() says which order and type that is, and those
  // that it is given in; empty: as it is. What one packs is as all want it whose packing() is the same.
  virtual size_t packed_bytes() const = 0;
  virtual const std::string& packing() const = 0;
  virtual bool Pack(const void* plain, void* packed) const = 0;
  virtual bool Run(const Arguments& arguments) const = 0;
  virtual const std::string& implementation() const = 0;  // "brgconv:avx512_core"
};

// How threads share work that they may share.
enum class Sharing {
  kByTimes,  // or not, by what is faster at the moment (runtime/onednn/shared_work.h)
  kAlways,
  kNever,
};

// The team of a thread is that of the library's own work: as large as SetThreads says.
class Library : public Team {
 public:
  // Whether the processor has arithmetic for the type that is worth its while; kInt8: exact dot products of 8 bits.
  virtual bool ComputesIn(DType dtype) const = 0;
  // Of the calling thread.
  virtual void SetThreads(int count) const = 0;
  // For tests, in the whole process: kByTimes until this is called. Not while anything runs.
  virtual void SetSharing(Sharing sharing) const = 0;
  // The team's threads compute in the calling thread's mode (runtime/kernel/float_mode.h) from here on.
  virtual void ShareFloatMode() const = 0;
  // Null and a reason where the library has none.
  virtual std::unique_ptr<Primitive> MakeMatMul(const MatMulSpec& spec, std::string* why_not) const = 0;
  virtual std::unique_ptr<Primitive> MakeConvolution(const ConvolutionSpec& spec, std::string* why_not) const = 0;
  // The gradient w of a convolution's weights by the gradient y of its result. `spec`: without bias and post-ops, not
  // transposed; w is float32, and in the order of its strides.
  virtual std::unique_ptr<Primitive> MakeConvolutionWeights(const ConvolutionSpec& spec,
                                                            std::string* why_not) const = 0;
  virtual std::string Version() const = 0;  // "3.2.0"
};

}  // namespace amp::onednn

// What the shared object exports. Null on a processor that it has nothing fast for.
extern "C" const amp::onednn::Library* AmpOneDnnLibrary();

#endif  // AMP_RUNTIME_ONEDNN_INTERFACE_H_
