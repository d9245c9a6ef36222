// A model made ready to run: the instructions of every graph in order, and the constants.
//
//   main   MatMul w x -> h    Relu h -> y, frees h     If c -> z
//   then   ...
//
// Values of all graphs have one id space, so that one frame holds those of the main graph and of the bodies that run
// within it; a body runs to its end before it runs again.
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

// A node, or several that one kernel computes: the first of them with what the others do to its result as an epilogue,
// or a unit, whose node is the last of them.
struct Instruction {
  NodeId node;
  bool is_unit = false;
  std::vector<ValueId> inputs = {}, outputs = {};  // kNone where absent; the node's, then the epilogue's operands
  std::vector<const KernelRow*> kernels = {};      // best first
  std::shared_ptr<KernelSite> site = std::make_shared<KernelSite>();
  std::vector<ValueId> frees = {};       // what nobody reads after it
  std::vector<ValueId> last_reads = {};  // the same of constants, in whose places callers may have put others
  const char* why_on_host = nullptr;     // why no kernel for a device is to run it; null: one may
  std::vector<Instruction> parts = {};  // of a fused one: the nodes in order, for when no kernel takes them all at once
};

struct Program {
  IdVector<GraphId, std::vector<Instruction>> blocks;
  IdVector<ValueId, Datum> constants;  // nothing for values that are none
};

// Whether a kernel is needed that `find` does not have: constants need none.
bool LacksKernel(const Model& model, NodeId node, FindKernels find);

// What `find` has for the node.
std::vector<const KernelRow*> FindNodeKernels(const Model& model, NodeId node, FindKernels find);

// An instruction for each node that is no constant. Errors: kDataLoss "gate: no kernel for my.domain::Gate-1 of
// (float32[2,n], absent)", also where the main graph gives a node element types that its rows refuse; reading constants.
// `has_device`: otherwise rows for devices are left out.
absl::StatusOr<Program> MakeProgram(const Model& model, FindKernels find, bool has_device);
// By node, whether there is an instruction for it: there is none for constants.
IdVector<NodeId, bool> NodesThatRun(const Model& model, const Program& program);
// What the constants take that the model states, in initializers and nodes: not those that are computed of them.
int64_t StatedConstantBytes(const Model& model, const Program& program);
// Puts fused instructions in the places of several, and finds out what is free when: after this, a program can run.
void FinishProgram(const Model& model, std::vector<Fusion> fusions, Program& program);

// "my.domain::Gate-1", "MatMul-13": as escaped text.
std::string OperatorText(const Model& model, NodeId node);
// The same, and "LayerNorm of 7" for a unit that ran as one.
std::string InstructionText(const Model& model, const Instruction& instruction);
// "MatMul#0 (MatMul-13)": for messages.
std::string Describe(const Model& model, NodeId node);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_PROGRAM_H_
