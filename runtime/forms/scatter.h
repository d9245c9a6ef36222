// The elements that Scatter, ScatterElements and ScatterND write: see runtime/kernel/index_places.h.
#ifndef AMP_RUNTIME_FORMS_SCATTER_H_
#define AMP_RUNTIME_FORMS_SCATTER_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/kernel/index_places.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// Inputs: data, indices, updates. Errors: those of ElementPlaces and TuplePlaces.
absl::StatusOr<Places> ReadScatterPlaces(const KernelContext& context);

// The shape that the updates must have. Errors: ScatterND with indices that are no tuples of the data's axes.
absl::StatusOr<Dims> ReadScatterUpdateDims(const KernelContext& context);

// How an update meets what is there: none, add, mul, max or min; not checked.
std::string ReadScatterReduction(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_SCATTER_H_
