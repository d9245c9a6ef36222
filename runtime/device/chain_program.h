// Builds the arguments of the kernel that computes a chain of element-wise steps (runtime/device/raw/chain.h).
//
//   ChainProgram program;
//   const size_t x = program.AddOperand(a), s = program.AddMap({.function = UnaryFunction::kExp}, x, DType::kFloat32);
//   AMP_RETURN_IF_ERROR(program.Start(device, y));
#ifndef AMP_RUNTIME_DEVICE_CHAIN_PROGRAM_H_
#define AMP_RUNTIME_DEVICE_CHAIN_PROGRAM_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/accelerator.h"
#include "runtime/device/raw/chain.h"

namespace amp {

struct DeviceFunction {
  device::UnaryFunction function = device::UnaryFunction::kAbs;
  float a = 0, b = 0;
};

// Each Add function returns the number of its value, by which later steps read it. `dtype`: the float type or bool to
// which the value is rounded; kFloat32: it is not rounded.
class ChainProgram {
 public:
  // REQUIRES: the tensor has a type that kernels know.
  size_t AddOperand(const Tensor& tensor) { return AddOperand(tensor.data(), tensor.dtype(), tensor.dims()); }
  size_t AddOperand(const void* data, DType dtype, Dims dims);
  size_t AddMap(const DeviceFunction& function, size_t x, DType dtype);
  size_t AddZip(device::BinaryFunction function, size_t a, size_t b, DType dtype);
  size_t AddCompare(device::Comparison comparison, size_t a, size_t b);
  size_t AddChoice(size_t condition, size_t a, size_t b, DType dtype);
  size_t AddRounding(size_t x, DType dtype);

  // Returns the shape that all operands broadcast to. Errors: a refusal.
  absl::StatusOr<Dims> ResultDims() const;
  // Returns the kernel's arguments for a result of these dims, which is the last value; the caller sets the address of
  // the result. Errors: a refusal (too many operands, steps, axes or values at a time; an operand that does not
  // broadcast).
  absl::StatusOr<device::ChainArguments> Arguments(const Dims& dims) const;
  // Computes y, which may be an operand of the same shape. Errors: those of Arguments.
  absl::Status Start(Accelerator& device, Tensor& y) const;

 private:
  struct Operand {
    const void* data;
    DType dtype;
    Dims dims;
  };
  struct Step {
    device::ChainCodeKind kind;
    int function;
    std::vector<size_t> reads;
    DType dtype;
    float a = 0, b = 0;
  };

  size_t Add(Step step) {
    steps_.push_back(std::move(step));
    return steps_.size() - 1;
  }
  absl::Status PlaceOperands(const Dims& dims, device::ChainArguments& chain) const;
  absl::Status AssignSlots(device::ChainArguments& chain) const;
  bool IsLoadOf(size_t step, DType dtype) const;
  bool StartAsMap(Accelerator& device, const device::ChainArguments& chain, DType dtype) const;
  bool StartAsChoice(Accelerator& device, const device::ChainArguments& chain, DType dtype) const;

  std::vector<Operand> operands_;
  std::vector<Step> steps_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_CHAIN_PROGRAM_H_
