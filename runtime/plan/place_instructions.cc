#include "runtime/plan/place_instructions.h"

#include <algorithm>
#include <optional>

#include "ir/graph/shape.h"

namespace amp {
namespace {

constexpr char kMadeOfShapes[] = "made of shapes";

bool MayBeData(DType type) { return type == DType::kFloat32 || type == DType::kFloat64 || IsLowFloat(type); }

class ShapeArithmetic {
 public:
  ShapeArithmetic(const Model& model, const Program& program)
      : model_(model), program_(program), is_of_shapes_(model.num_values(), false) {}

  // Whether the instruction is shape arithmetic. REQUIRES: the instructions before it have been asked about.
  bool Includes(const Instruction& instruction) {
    const Node& node = model_.node(instruction.node);
    const bool includes = node.Has(Role::kReadsShape) || (ReadsShapes(instruction) && GivesLittle(instruction));
    for (const ValueId output : instruction.outputs) {
      if (output != kNone) is_of_shapes_[output] = includes;
    }
    return includes;
  }

 private:
  // Whether the instruction reads at least one result of shape arithmetic, and otherwise only constants.
  bool ReadsShapes(const Instruction& instruction) const {
    bool reads = false;
    for (const ValueId input : instruction.inputs) {
      if (input == kNone || !program_.constants[input].IsEmpty()) continue;
      if (!is_of_shapes_[input]) return false;
      reads = true;
    }
    return reads && model_.node(instruction.node).bodies.empty();
  }

  // Whether each result is of integers or has at most one axis. Floats of a higher rank are data.
  bool GivesLittle(const Instruction& instruction) const {
    return std::all_of(instruction.outputs.begin(), instruction.outputs.end(), [&](ValueId output) {
      if (output == kNone || !MayBeData(model_.value(output).dtype)) return true;
      const std::optional<std::vector<int64_t>> dims = ShapeOf(model_, output);
      return dims.has_value() && dims->size() <= 1;
    });
  }

  const Model& model_;
  const Program& program_;
  IdVector<ValueId, bool> is_of_shapes_;
};

// Marks the instruction if it runs on the processor. A fused instruction does if all its parts do.
void Place(ShapeArithmetic& arithmetic, Instruction& instruction) {
  bool is_included = instruction.unfused.empty() ? arithmetic.Includes(instruction) : true;
  for (Instruction& part : instruction.unfused) {
    Place(arithmetic, part);
    is_included = is_included && part.why_on_host != nullptr;
  }
  if (is_included) instruction.why_on_host = kMadeOfShapes;
}

}  // namespace

void PlaceInstructions(const Model& model, Program& program) {
  ShapeArithmetic arithmetic(model, program);
  for (std::vector<Instruction>& block : program.blocks) {
    for (Instruction& instruction : block) Place(arithmetic, instruction);
  }
}

}  // namespace amp
