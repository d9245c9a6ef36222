#include "runtime/cpu/make_primitive.h"

#include <string>

#include "runtime/kernel/refusal.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

template <typename Spec>
MadePrimitive Make(std::unique_ptr<onednn::Primitive> (onednn::Library::*make)(const Spec&, std::string*) const,
                   const Spec& spec) {
  std::string reason;
  std::unique_ptr<onednn::Primitive> primitive = (onednn::OpenLibrary().library->*make)(spec, &reason);
  if (primitive == nullptr) return Refused(reason);
  return primitive;
}

}  // namespace

MadePrimitive MakeMatMul(const onednn::MatMulSpec& spec) { return Make(&onednn::Library::MakeMatMul, spec); }
MadePrimitive MakeConvolution(const onednn::ConvolutionSpec& spec) {
  return Make(&onednn::Library::MakeConvolution, spec);
}
MadePrimitive MakeConvolutionWeights(const onednn::ConvolutionSpec& spec) {
  return Make(&onednn::Library::MakeConvolutionWeights, spec);
}

}  // namespace amp
