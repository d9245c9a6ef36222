#include "runtime/plan/fold_constants.h"

#include <algorithm>
#include <utility>

#include "ir/base/status.h"
#include "runtime/kernel/layout.h"

namespace amp {
namespace {

constexpr size_t kAlwaysSmallEnough = size_t{1} << 20;  // bytes

class NoBodies : public BodyRunner {
 public:
  size_t NumInputs(GraphId) const override { return 0; }
  absl::StatusOr<std::vector<Datum>> Run(GraphId, std::vector<Datum>) override {
    return absl::InternalError("a constant has no body");
  }
};

size_t BytesOf(const Datum& datum) {
  const Tensor* tensor = datum.tensor();
  return tensor == nullptr ? 0 : tensor->size_bytes();
}

class ConstantFolder {
 public:
  ConstantFolder(const Model& model, Program& program) : model_(model), program_(program) {}

  // Computes the instruction if its inputs are constants; returns whether its results are constants now.
  bool Fold(const Instruction& instruction) {
    if (!MayFold(instruction)) return false;
    std::vector<const Datum*> inputs;
    size_t input_bytes = 0;
    for (const ValueId input : instruction.inputs) {
      inputs.push_back(input == kNone ? nullptr : &program_.constants[input]);
      if (input != kNone) input_bytes += BytesOf(program_.constants[input]);
    }
    std::vector<Datum> outputs(instruction.outputs.size());
    if (!Compute(instruction, inputs, outputs)) return false;
    size_t output_bytes = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (instruction.outputs[i] != kNone && outputs[i].tensor() == nullptr) return false;
      output_bytes += BytesOf(outputs[i]);
    }
    if (output_bytes > 4 * input_bytes + kAlwaysSmallEnough) return false;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (instruction.outputs[i] != kNone) program_.constants[instruction.outputs[i]] = std::move(outputs[i]);
    }
    return true;
  }

 private:
  bool MayFold(const Instruction& instruction) const {
    const Node& node = model_.node(instruction.node);
    if (instruction.inputs.empty() || node.Has(Role::kRandom) || !node.bodies.empty()) return false;
    return std::all_of(instruction.inputs.begin(), instruction.inputs.end(), [&](ValueId input) {
      if (input == kNone) return true;
      return program_.constants[input].tensor() != nullptr && !model_.value(input).is_graph_input;
    });
  }

  bool Compute(const Instruction& instruction, absl::Span<const Datum* const> inputs, std::vector<Datum>& outputs) {
    for (const KernelRow* row : instruction.kernels) {
      if (row->runs_on_device) continue;
      KernelSite site;
      site.constants.assign(inputs.size(), nullptr);
      site.last_uses.assign(inputs.size(), false);
      KernelContext context(model_, instruction.node, inputs, absl::MakeSpan(outputs), resources_, bodies_, site);
      if (row->refusal != nullptr && row->refusal(context)) continue;
      const absl::Status status = row->function(context);
      if (IsRefusal(status)) continue;
      return status.ok() && MakeRowMajor(outputs);
    }
    return false;
  }

  static bool MakeRowMajor(std::vector<Datum>& outputs) {
    for (Datum& output : outputs) {
      if (output.tensor() == nullptr) continue;
      absl::StatusOr<Tensor> tensor = InLayout(*output.tensor(), Layout::kRowMajor, nullptr);
      if (!tensor.ok()) return false;
      output = Datum(*std::move(tensor));
    }
    return true;
  }

  const Model& model_;
  Program& program_;
  RunResources resources_;
  NoBodies bodies_;
};

}  // namespace

void FoldConstants(const Model& model, Program& program) {
  ConstantFolder folder(model, program);
  for (std::vector<Instruction>& block : program.blocks) {
    std::erase_if(block, [&](const Instruction& instruction) { return folder.Fold(instruction); });
  }
}

}  // namespace amp
