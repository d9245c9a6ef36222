// Primitives of oneDNN. Errors of all: a refusal, with oneDNN's reason, where it has none for the specification.
#ifndef AMP_RUNTIME_CPU_MAKE_PRIMITIVE_H_
#define AMP_RUNTIME_CPU_MAKE_PRIMITIVE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/onednn/interface.h"

namespace amp {

using MadePrimitive = absl::StatusOr<std::unique_ptr<onednn::Primitive>>;

MadePrimitive MakeMatMul(const onednn::MatMulSpec& spec);
MadePrimitive MakeConvolution(const onednn::ConvolutionSpec& spec);
// See onednn::Library::MakeConvolutionWeights.
MadePrimitive MakeConvolutionWeights(const onednn::ConvolutionSpec& spec);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_MAKE_PRIMITIVE_H_
