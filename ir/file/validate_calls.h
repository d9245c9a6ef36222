// The part of ValidateModel that judges how model-local functions call each other: none may reach itself, no chain may
// be too long, and inlining them all may not explode (30 functions that each call the next one twice are 2^30 nodes).
#ifndef AMP_IR_FILE_VALIDATE_CALLS_H_
#define AMP_IR_FILE_VALIDATE_CALLS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "ir/base/limits.h"

namespace onnx {
class ModelProto;
}

namespace amp {

struct CallGraph {
  struct Body {
    int64_t nodes = 0;               // those of inner graphs included
    std::map<int, int64_t> callees;  // index of the function -> number of calls
  };
  Body main;
  std::vector<Body> functions;  // by index in the model
};

absl::Status ValidateCallGraph(const onnx::ModelProto& model, const CallGraph& calls, const Limits& limits);

}  // namespace amp

#endif  // AMP_IR_FILE_VALIDATE_CALLS_H_
