// Values of the C interface, from and to the executor's.
#ifndef AMP_TOOLS_C_VALUES_H_
#define AMP_TOOLS_C_VALUES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel/tensor.h"
#include "runtime/run/run_options.h"
#include "tools/c/amp_c.h"

struct AmpValue {
  explicit AmpValue(amp::Datum content);

  const amp::Datum datum;
  std::vector<AmpBytes> strings;  // views of a tensor of strings, else empty
  int depth = 0;                  // of sequences in sequences that a caller has made
};

namespace amp {

AmpKind KindOf(const Datum& datum);
// REQUIRES: a tensor.
AmpTensor ViewOf(const AmpValue& value);

// kLend: the elements stay where they are, if they lie in C order and are aligned.
enum class Elements { kCopy, kLend };
// Errors: kInvalidArgument, a type, rank, shape or address that no tensor has; kResourceExhausted.
absl::StatusOr<Tensor> TensorOf(const AmpTensor& tensor, Elements elements);

// Lent tensors must not outlive the caller's memory. Errors: those of TensorOf, with the input's name.
absl::StatusOr<NamedDatums> InputsOf(const AmpInput* inputs, size_t count, Elements elements);

// A value for the caller, with elements of its own: none that an input, a constant or another output has too.
absl::StatusOr<AmpValue*> NewValue(Datum datum);
// Sets all outputs from `datums`, or none; places of theirs may be written to in any case. REQUIRES: as many.
absl::Status SetOutputs(absl::Span<Datum> datums, absl::Span<AmpOutput> outputs);

}  // namespace amp

#endif  // AMP_TOOLS_C_VALUES_H_
