#include "runtime/kernel/kernel.h"

#include <algorithm>
#include <utility>

#include "ir/schema/schema.h"
#include "runtime/kernel/no_kernel_error.h"

namespace amp {
namespace {

// Its elements are about to be others: the bound goes.
Tensor* ToBeWritten(Datum& datum) {
  Tensor* const tensor = datum.mutable_tensor();
  tensor->set_magnitude_bound(Tensor::kUnbounded);
  return tensor;
}

}  // namespace

int KernelContext::version() const {
  const OpSchema* schema = node().schema;
  if (schema != nullptr && !schema->is_signature()) return schema->since_version();
  return model_.opset(node().domain());
}

const Tensor& KernelContext::Input(size_t port) const {
  static const Tensor absent;
  const Tensor* tensor = InputDatum(port).tensor();
  return tensor == nullptr ? absent : *tensor;
}

const Datum& KernelContext::InputDatum(size_t port) const {
  static const Datum absent;
  return HasInput(port) ? *inputs_[port] : absent;
}

absl::StatusOr<std::vector<int64_t>> KernelContext::InputInts(size_t port) const {
  const Tensor& tensor = Input(port);
  std::vector<int64_t> result;
  const bool known = VisitIntegers(tensor.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto elements = tensor.elements<T>();
    result.assign(elements.begin(), elements.end());
  });
  if (!known) return ModelError("input ", port, ": expected integers, found ", InputDatum(port).TypeText());
  return result;
}

absl::StatusOr<int64_t> KernelContext::InputInt(size_t port) const {
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> elements, InputInts(port));
  if (elements.size() != 1) return ModelError("input ", port, ": expected one element, found ", elements.size());
  return elements[0];
}

absl::StatusOr<double> KernelContext::InputNumber(size_t port) const {
  const Tensor& tensor = Input(port);
  if (tensor.num_elements() != 1) {
    return ModelError("input ", port, ": expected one element, found ", InputDatum(port).TypeText());
  }
  double result = 0;
  const bool known = VisitNumbers(
      tensor.dtype(), [&]<typename T>(TypeTag<T>) { result = static_cast<double>(Load(tensor.elements<T>()[0])); });
  if (!known) return ModelError("input ", port, ": expected a number, found ", tensor.TypeText());
  return result;
}

absl::StatusOr<std::optional<std::vector<int64_t>>> KernelContext::IntsOfInputOrAttribute(
    size_t port, absl::string_view name) const {
  if (!HasInput(port)) return GetInts(node(), name);
  AMP_ASSIGN_OR_RETURN(std::vector<int64_t> elements, InputInts(port));
  return std::optional<std::vector<int64_t>>(std::move(elements));
}

absl::StatusOr<Tensor*> KernelContext::MakeOutput(size_t port, DType dtype, Dims dims) {
  AMP_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, std::move(dims), resources_.memory));
  if (port >= outputs_.size()) {
    unseen_ = std::move(tensor);
    return &unseen_;
  }
  outputs_[port] = Datum(std::move(tensor));
  return outputs_[port].mutable_tensor();
}

absl::StatusOr<Tensor*> KernelContext::MakeOutputLike(size_t port, size_t input) {
  const Tensor& x = Input(input);
  if (port < outputs_.size() && MayReuseInput(input)) {
    outputs_[port] = Datum(x);
    return ToBeWritten(outputs_[port]);
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, MakeOutput(port, x.dtype(), x.dims()));
  y->set_layout(x.layout());
  return y;
}

absl::StatusOr<Tensor*> KernelContext::MakeOutputInPlace(size_t port, size_t input) {
  const Tensor& x = Input(input);
  const Tensor* const place = port < places_.size() ? places_[port] : nullptr;
  if (place == nullptr || place->data() != x.data()) return MakeOutputLike(port, input);
  wrote_in_place_ = true;
  outputs_[port] = Datum(*place);
  return ToBeWritten(outputs_[port]);
}

absl::StatusOr<Tensor> KernelContext::MakeScratch(DType dtype, Dims dims) const {
  return Tensor::Create(dtype, std::move(dims), resources_.memory);
}

void KernelContext::SetMagnitudeBound(size_t port, double bound) {
  constexpr double kRoundings = 1.02;  // of all steps, in the coarsest type
  Tensor* const output = port < outputs_.size() ? outputs_[port].mutable_tensor() : nullptr;
  if (output == nullptr) return;
  constexpr double kLeast = 0x1p-14;  // a rounding of a subnormal number, of any type, may be as much as itself
  const double rounded = std::max(bound, kLeast) * kRoundings;
  if (rounded < LargestFinite(output->dtype())) output->set_magnitude_bound(static_cast<float>(rounded));
}

void KernelContext::Report(absl::string_view implementation, DType computed_in) {
  implementation_ = implementation;
  computed_in_ = computed_in;
}

void KernelContext::ReportOwn(std::string implementation, DType computed_in) {
  own_implementation_ = std::move(implementation);
  Report(own_implementation_, computed_in);
}

void KernelContext::Ran(const KernelRow& row, absl::string_view why_not_better, int num_copies) {
  const absl::MutexLock lock(&site_.mutex);
  site_.row = &row;
  if (site_.why_not_better != why_not_better) site_.why_not_better = std::string(why_not_better);
  if (site_.implementation != implementation_) site_.implementation = std::string(implementation_);
  site_.computed_in = computed_in_;
  site_.num_copies = num_copies;
}

void KernelContext::SetOutput(size_t port, Datum datum) {
  if (port < outputs_.size()) outputs_[port] = std::move(datum);
}

absl::Status KernelContext::TypeError(DType dtype) const { return NoKernelFor(dtype); }

}  // namespace amp
