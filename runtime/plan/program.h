// A model prepared to run: the instructions of every graph in order, and the constants.
//
//   main   MatMul w x -> h    Relu h -> y, frees h     If c -> z
//   then   ...
//
// The values of all graphs share one id space, so one frame holds the values of the main graph and of the bodies that
// run within it. A body must finish before it runs again.
#ifndef AMP_RUNTIME_PLAN_PROGRAM_H_
#define AMP_RUNTIME_PLAN_PROGRAM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"
#include "runtime/plan/fusion.h"
#include "runtime/plan/session_options.h"

namespace amp {

// A node, or several nodes that one kernel computes: either a node with the nodes behind it as an epilogue, or a fused
// pattern, whose `node` is its last one.
struct Instruction {
  NodeId node;
  bool is_fused_pattern = false;
  // Values, kNone where absent. `inputs` holds the inputs of the node, then the operands of the epilogue.
  std::vector<ValueId> inputs = {}, outputs = {};
  std::vector<const KernelRow*> kernels = {};  // best first
  std::shared_ptr<KernelSite> site = std::make_shared<KernelSite>();
  std::vector<ValueId> frees = {};       // values that nobody reads after this instruction
  std::vector<ValueId> last_reads = {};  // constants that nobody reads after it; callers may have overridden them
  const char* why_on_host = nullptr;     // why no device kernel may run it; null: one may
  // For a fused instruction: its nodes in order, which run one by one if no kernel takes them together.
  std::vector<Instruction> unfused = {};
};

struct Program {
  IdVector<GraphId, std::vector<Instruction>> blocks;
  IdVector<ValueId, Datum> constants;  // empty for values that are no constants
};

// Whether `find` lacks a kernel that the node needs. Constants need none.
bool LacksKernel(const Model& model, NodeId node, FindKernels find);

// Returns the kernels that `find` has for the node.
std::vector<const KernelRow*> FindNodeKernels(const Model& model, NodeId node, FindKernels find);

// Makes an instruction for each node that is no constant. Without `has_device`, rows for devices are left out. Errors:
// kDataLoss "gate: no kernel for my.domain::Gate-1 of (float32[2,n], absent)", also if a node of the main graph has
// element types that its rows refuse; errors of reading constants.
absl::StatusOr<Program> MakeProgram(Model& model, FindKernels find, bool has_device);
// Whether each node has an instruction; constants have none.
IdVector<NodeId, bool> NodesThatRun(const Model& model, const Program& program);
// Returns the bytes of the constants that the model states, in initializers and Constant nodes. Constants that were
// computed from these do not count.
int64_t StatedConstantBytes(const Model& model, const Program& program);
// Replaces nodes by fused instructions, and finds when each value can be freed. After this, the program can run.
void FinishProgram(const Model& model, std::vector<Fusion> fusions, Program& program);
// Drops the elements of large constants that nothing reads, and tells the kernels which may go once they are packed:
// those that nothing reads but as the weights of rows that pack these. REQUIRES: the program is finished, and is run by
// the processor alone.
void DropConstants(const Model& model, Program& program);

// Returns "my.domain::Gate-1", "MatMul-13", as escaped text.
std::string OperatorText(const Model& model, NodeId node);
// Returns OperatorText, or "LayerNorm of 7" for a fused pattern of 7 nodes that has run as one.
std::string InstructionText(const Model& model, const Instruction& instruction);
// Returns "MatMul#0 (MatMul-13)", for messages.
std::string Describe(const Model& model, NodeId node);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_PROGRAM_H_
