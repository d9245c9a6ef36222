// What a product of matrices on a device does to its result: as much as the library does itself, the rest by one chain.
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
  std::optional<size_t> bias_port, addend_port;  // inputs of the node with its epilogue; nothing: the library adds none
  device::ProductActivation activation = device::ProductActivation::kNone;
  size_t num_steps = 0;  // of the epilogue, that these are
};

// `dims`: of the result, of products with that many `columns`; `has_bias`: of the node's own, so that the epilogue cannot
// have one.
ProductEpilogue FitProductEpilogue(const KernelContext& context, const Dims& dims, int64_t columns, bool has_bias);

// Whether there is more to do, to a result of the type of the operands.
bool NeedsChain(const KernelContext& context, const ProductEpilogue& done);
// Why no chain does the rest to a result of these dims; null where one does.
Refusal WhyNotChain(const KernelContext& context, const ProductEpilogue& done, const Dims& dims);
// The rest: y, of the epilogue's type, from the product, which it may be. REQUIRES: WhyNotChain is null.
absl::Status FinishProduct(KernelContext& context, const ProductEpilogue& done, const Tensor& product, Tensor& y);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_PRODUCT_EPILOGUE_H_
