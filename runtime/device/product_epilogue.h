// Splits the epilogue of a matrix product on a device: the library computes as much as it can, one chain the rest.
//
//   h = MatMul (x, W)   b = Add (h, bias)   g = Gelu (b)   y = Mul (g, s)      =>   product with bias, chain gelu, * s
//   h = MatMul (x, W)   b = Add (h, bias)   y = Add (b, residual)              =>   product with bias and residual
#ifndef AMP_RUNTIME_DEVICE_PRODUCT_EPILOGUE_H_
#define AMP_RUNTIME_DEVICE_PRODUCT_EPILOGUE_H_

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "runtime/device/raw/product.h"
#include "runtime/kernel/kernel.h"

namespace amp {

struct ProductEpilogue {
  // Input ports, epilogue operands included; nothing: the library adds none.
  std::optional<size_t> bias_port, addend_port;
  device::ProductActivation activation = device::ProductActivation::kNone;
  size_t num_steps = 0;  // number of the epilogue's steps that the library computes
};

// Returns the part of the epilogue that the library can compute. `dims`: of the result, whose products have `columns`
// columns. `has_bias`: the node itself has a bias, so that the epilogue cannot have one.
ProductEpilogue FitProductEpilogue(const KernelContext& context, const Dims& dims, int64_t columns, bool has_bias);

// Whether steps, or a conversion to another type than the operands', remain.
bool NeedsChain(const KernelContext& context, const ProductEpilogue& done);
// Returns why no chain can compute the remaining steps for a result of these dims; null if one can.
Refusal WhyNotChain(const KernelContext& context, const ProductEpilogue& done, const Dims& dims);
// Computes the remaining steps from `product` to y, which has the epilogue's type and may be the product. REQUIRES:
// WhyNotChain is null.
absl::Status FinishProduct(KernelContext& context, const ProductEpilogue& done, const Tensor& product, Tensor& y);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_PRODUCT_EPILOGUE_H_
