// The exponents of a constant's elements.
#ifndef AMP_IR_GRAPH_COUNT_EXPONENTS_H_
#define AMP_IR_GRAPH_COUNT_EXPONENTS_H_

#include "absl/status/statusor.h"
#include "ir/base/exponent_counts.h"
#include "ir/graph/graph.h"

namespace amp {

// REQUIRES: model.IsConstant(value), float32. Reads it once. Errors: reading external data. Tested, with models, by
// tests/passes/report/report_test.cc.
absl::StatusOr<ExponentCounts> CountExponents(const Model& model, ValueId value);

}  // namespace amp

#endif  // AMP_IR_GRAPH_COUNT_EXPONENTS_H_
