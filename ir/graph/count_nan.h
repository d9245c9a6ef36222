// NaN among the elements of a constant: who rewrites or judges a model says so, as no rounding is to blame for them.
#ifndef AMP_IR_GRAPH_COUNT_NAN_H_
#define AMP_IR_GRAPH_COUNT_NAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"

namespace amp {

// REQUIRES: model.IsConstant(value), float32. Reads it once. Errors: reading external data. Tested by
// tests/passes/report/report_test.cc.
absl::StatusOr<int64_t> CountNan(const Model& model, ValueId value);

}  // namespace amp

#endif  // AMP_IR_GRAPH_COUNT_NAN_H_
