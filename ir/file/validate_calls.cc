#include "ir/file/validate_calls.h"

#include <algorithm>

#include "ir/base/saturated.h"
#include "ir/base/status.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

int64_t AddSaturated(int64_t total, int64_t count, int64_t each) {
  return SaturatedSum(total, SaturatedProduct(count, each));
}

// Depth first with an explicit stack: chains can be as long as there are functions.
class CallWalk {
 public:
  CallWalk(const onnx::ModelProto& model, const CallGraph& calls, const Limits& limits)
      : model_(model), calls_(calls), limits_(limits), facts_(calls.functions.size()) {}

  absl::Status Run() {
    for (size_t root = 0; root < facts_.size(); ++root) {
      if (facts_[root].state == State::kNew) Open(root);
      while (!stack_.empty()) AMP_RETURN_IF_ERROR(Step());
    }
    int64_t total = calls_.main.nodes;
    for (const auto& [callee, count] : calls_.main.callees) {
      total = AddSaturated(total, count, facts_[static_cast<size_t>(callee)].inlined_nodes);
    }
    if (calls_.main.callees.empty() || total <= limits_.inlined_nodes) return absl::OkStatus();
    return LimitError("the model: expected at most ", limits_.inlined_nodes,
                      " nodes after inlining functions, found more; --max-inlined-nodes raises that");
  }

 private:
  enum class State : uint8_t { kNew, kOpen, kDone };
  struct Facts {
    State state = State::kNew;
    int height = 1;  // functions on the longest chain of calls from here
    int64_t inlined_nodes = 0;
  };
  struct Frame {
    size_t function;
    std::map<int, int64_t>::const_iterator next;
  };

  void Open(size_t function) {
    facts_[function] = {State::kOpen, 1, calls_.functions[function].nodes};
    stack_.push_back({function, calls_.functions[function].callees.begin()});
  }

  std::string Name(size_t function) const {
    return absl::StrCat("function '", Escaped(model_.functions(static_cast<int>(function)).name()), "'");
  }

  absl::Status Step() {
    Frame& frame = stack_.back();
    Facts& caller = facts_[frame.function];
    if (frame.next == calls_.functions[frame.function].callees.end()) {
      caller.state = State::kDone;
      stack_.pop_back();
      return absl::OkStatus();
    }
    const size_t callee = static_cast<size_t>(frame.next->first);
    switch (facts_[callee].state) {
      case State::kOpen:
        return ModelError(Name(callee), ": expected no recursion, found a call of itself");
      case State::kNew:
        Open(callee);
        return absl::OkStatus();
      case State::kDone:
        break;
    }
    caller.height = std::max(caller.height, facts_[callee].height + 1);
    if (caller.height > limits_.call_depth) {
      return LimitError(Name(frame.function), ": expected at most ", limits_.call_depth,
                        " functions calling each other, found more");
    }
    caller.inlined_nodes = AddSaturated(caller.inlined_nodes, frame.next->second, facts_[callee].inlined_nodes);
    ++frame.next;
    return absl::OkStatus();
  }

  const onnx::ModelProto& model_;
  const CallGraph& calls_;
  const Limits& limits_;
  std::vector<Facts> facts_;
  std::vector<Frame> stack_;
};

}  // namespace

absl::Status ValidateCallGraph(const onnx::ModelProto& model, const CallGraph& calls, const Limits& limits) {
  return CallWalk(model, calls, limits).Run();
}

}  // namespace amp
