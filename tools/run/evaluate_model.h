// How good a forward model is on a data set: amp-run --evaluate.
//
//   labels uint8[10000], an output float32[n,10]      accuracy, and the loss of what a Softmax at the end reads
//   labels float32[10000,10], one 1 in each row       the same
//   targets float32[10000,3], an output float32[n,3]  mean squared and mean absolute error
#ifndef AMP_TOOLS_RUN_EVALUATE_MODEL_H_
#define AMP_TOOLS_RUN_EVALUATE_MODEL_H_

#include "absl/status/status.h"
#include "tools/program/tool_output.h"
#include "tools/run/run_arguments.h"

namespace amp {

// Prints a line for each column of data and one for what was found, or JSON. Errors: those of loading, DataSet::Read
// and runs; kInvalidArgument, a model of several outputs, no labels or more than one file of them, an output that does
// not fit them, a number of samples that a fixed batch does not divide.
absl::Status EvaluateModel(const RunArguments& arguments, const ToolStreams& streams, ToolOutput& output);

}  // namespace amp

#endif  // AMP_TOOLS_RUN_EVALUATE_MODEL_H_
