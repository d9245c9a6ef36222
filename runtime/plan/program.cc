#include "runtime/plan/program.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/graph/shape.h"
#include "ir/graph/tensor_content.h"
#include "ir/operators/operator_facts.h"
#include "ir/operators/private_layout.h"
#include "ir/schema/schema.h"
#include "runtime/kernel/host_memory.h"
#include "runtime/kernel/make_datum.h"

namespace amp {
namespace {

int VersionOf(const Model& model, const Node& node) {
  return node.schema != nullptr && !node.schema->is_signature() ? node.schema->since_version()
                                                                : model.opset(node.domain());
}

// Errors name no value.
absl::StatusOr<Datum> LoadConstant(const Model& model, ValueId id) {
  AMP_ASSIGN_OR_RETURN(const std::optional<TensorView> view, ViewConstant(model, id));
  if (view.has_value()) return MakeTensor(*view);
  AMP_ASSIGN_OR_RETURN(const std::optional<TensorContent> content, ReadConstant(model, id));
  if (!content.has_value()) return Datum();
  return MakeTensor(*content);
}

// The model does not keep large constants besides.
absl::Status LoadConstants(Model& model, Program& program) {
  constexpr size_t kLargeBytes = 64 << 10;
  program.constants.resize(model.num_values());
  for (const ValueId id : model.AllValues()) {
    absl::StatusOr<Datum> loaded = LoadConstant(model, id);
    if (!loaded.ok()) {
      const absl::Status& error = loaded.status();
      return absl::Status(error.code(), absl::StrCat("'", Escaped(model.value(id).name), "': ", error.message()));
    }
    const Tensor* const tensor = loaded->tensor();
    if (tensor != nullptr && tensor->size_bytes() > kLargeBytes) ReleaseInitializer(model, id);
    program.constants[id] = *std::move(loaded);
  }
  return absl::OkStatus();
}

bool IsConstant(const Program& program, ValueId id) { return id != kNone && !program.constants[id].IsEmpty(); }

// Returns the node of `graph` that is `node` or owns the body in which `node` lies, however deep.
NodeId OwnerWithin(const Model& model, NodeId node, GraphId graph) {
  while (model.node(node).graph != graph) node = model.graph(model.node(node).graph).owner;
  return node;
}

// Returns the position in its graph of the last node that reads the value, directly or from within a body, or of the
// value's producer if nobody reads it. Returns nothing if the graph itself outputs the value to its caller, or if there
// is neither a reader nor a producer.
std::optional<size_t> LastReader(const Model& model, ValueId id, const IdVector<NodeId, size_t>& position) {
  const Value& value = model.value(id);
  std::optional<size_t> last;
  for (const Use& use : value.uses) {
    NodeId reader = use.node;
    if (use.IsGraphOutput()) {
      if (use.graph == value.graph) return std::nullopt;
      reader = model.graph(use.graph).owner;
    }
    const size_t at = position[OwnerWithin(model, reader, value.graph)];
    last = std::max(last.value_or(0), at);
  }
  if (last.has_value() || value.producer == kNone) return last;
  return position[value.producer];
}

bool GivesToRunner(const Model& model, ValueId id) {
  for (const Use& use : model.value(id).uses) {
    if (use.IsGraphOutput() && use.graph == model.value(id).graph) return true;
  }
  return false;
}

void FindFrees(const Model& model, Program& program) {
  IdVector<NodeId, size_t> position(model.num_nodes(), 0);
  for (const auto& block : program.blocks) {
    for (size_t i = 0; i < block.size(); ++i) {
      position[block[i].node] = i;
      for (const Instruction& part : block[i].unfused) position[part.node] = i;
    }
  }
  for (const ValueId id : model.AllValues()) {
    if (GivesToRunner(model, id)) continue;
    const std::optional<size_t> last = LastReader(model, id, position);
    std::vector<Instruction>& block = program.blocks[model.value(id).graph];
    if (!last.has_value() || *last >= block.size()) continue;
    (IsConstant(program, id) ? block[*last].last_reads : block[*last].frees).push_back(id);
  }
}

// Sorted values, for searching in logarithmic time.
class SortedValues {
 public:
  explicit SortedValues(const std::vector<ValueId>& values) : values_(values.begin(), values.end()) {
    std::sort(values_.begin(), values_.end());
  }
  bool Has(ValueId value) const { return std::binary_search(values_.begin(), values_.end(), value); }
  bool HasOnce(ValueId value) const {
    const auto [first, end] = std::equal_range(values_.begin(), values_.end(), value);
    return end - first == 1;
  }

 private:
  absl::InlinedVector<ValueId, 8> values_;
};

// Tells the instruction's kernels, through its site, which inputs are constants and which are read for the last time.
void DescribeInputs(const Program& program, Instruction& instruction) {
  const SortedValues inputs(instruction.inputs), frees(instruction.frees), last_reads(instruction.last_reads);
  for (const ValueId input : instruction.inputs) {
    const Tensor* constant = input == kNone ? nullptr : program.constants[input].tensor();
    const bool comes_once = inputs.HasOnce(input);
    const bool dies = comes_once && frees.Has(input);
    instruction.site->constants.push_back(constant == nullptr ? nullptr : constant->data());
    instruction.site->last_uses.push_back(dies);
    instruction.site->last_reads.push_back(dies || (comes_once && last_reads.Has(input)));
  }
  for (Instruction& part : instruction.unfused) DescribeInputs(program, part);
}

// ---- constants that may go

constexpr size_t kWeightsPort = 1, kLeastDroppedBytes = 256 << 10;

bool PacksWeights(const Instruction& instruction) {
  return std::any_of(instruction.kernels.begin(), instruction.kernels.end(),
                     [](const KernelRow* row) { return row->packs_weights; });
}

template <typename Act>
void ForEachWithParts(std::vector<Instruction>& block, const Act& act) {  // NOLINT(misc-no-recursion)
  for (Instruction& instruction : block) {
    act(instruction);
    ForEachWithParts(instruction.unfused, act);
  }
}

bool PartsRead(const Instruction& instruction, ValueId value) {
  return absl::c_any_of(instruction.unfused,
                        [&](const Instruction& part) { return absl::c_linear_search(part.inputs, value); });
}

// Whether nobody but the program has the constant, which is none that a caller may override.
bool IsOfProgramAlone(const Model& model, const Program& program, ValueId id) {
  const Tensor* const tensor = program.constants[id].tensor();
  const auto is_output = [](const Use& use) { return use.IsGraphOutput(); };
  return tensor != nullptr && tensor->dtype() != DType::kString && tensor->size_bytes() >= kLeastDroppedBytes &&
         tensor->IsOnHost() && tensor->IsOnlyOwner() && !model.value(id).is_graph_input &&
         absl::c_none_of(model.value(id).uses, is_output);
}

// Returns "(float32[2,n], absent, unknown)", as far as inference knows the types.
std::string InputTypesText(const Model& model, const Node& node) {
  constexpr size_t kShown = 8;
  std::vector<std::string> types;
  for (const ValueId input : node.inputs) types.push_back(input == kNone ? "absent" : TypeText(model, input));
  const size_t more = types.size() > kShown ? types.size() - kShown : 0;
  types.resize(types.size() - more);
  if (more > 0) types.push_back(absl::StrCat(more, " more"));
  return absl::StrCat("(", absl::StrJoin(types, ", "), ")");
}

std::string AdviceText(const Model& model, const Node& node) {
  return IsPrivateLayout(node.domain()) ? absl::StrCat("; ", DescribePrivateLayout(model)) : "";
}

// Returns "no kernel for Gate-3 of (float32[2,n], absent)" as an error.
absl::Status NoKernel(const Model& model, NodeId id, absl::string_view results = "") {
  return ModelError(Escaped(model.NodeLabel(id)), ": no kernel for ", OperatorText(model, id), " of ",
                    InputTypesText(model, model.node(id)), results, AdviceText(model, model.node(id)));
}

bool HoldsAny(const Model& model, const std::vector<ValueId>& values, PortSet ports, TypeSet types) {
  for (size_t port = 0; port < values.size(); ++port) {
    const ValueId value = values[port];
    if (value != kNone && ports.Has(port) && model.value(value).is_tensor && types.Has(model.value(value).dtype)) {
      return true;
    }
  }
  return false;
}

// Fails if a row refuses the node's element types; all rows of an operator agree on these. Nodes in bodies are not
// checked, as a body of an If, a Loop or a Scan may never run: there, the run fails.
absl::Status CheckTypes(const Model& model, const Instruction& instruction) {
  const Node& node = model.node(instruction.node);
  if (node.graph != kMainGraph || CopiesElements(model, instruction.node)) return absl::OkStatus();
  for (const KernelRow* row : instruction.kernels) {
    const RefusedTypes& refuses = row->refuses;
    if (HoldsAny(model, instruction.inputs, refuses.inputs, refuses.types)) return NoKernel(model, instruction.node);
    if (!HoldsAny(model, instruction.outputs, refuses.outputs, refuses.types)) continue;
    return NoKernel(model, instruction.node, absl::StrCat(" that gives ", TypeText(model, node.Output(0))));
  }
  return absl::OkStatus();
}

absl::StatusOr<Instruction> MakeInstruction(const Model& model, NodeId id, FindKernels find) {
  const Node& node = model.node(id);
  Instruction instruction{.node = id};
  instruction.inputs.assign(node.inputs.begin(), node.inputs.end());
  instruction.outputs.assign(node.outputs.begin(), node.outputs.end());
  instruction.kernels = FindNodeKernels(model, id, find);
  if (instruction.kernels.empty()) return NoKernel(model, id);
  AMP_RETURN_IF_ERROR(CheckTypes(model, instruction));
  return instruction;
}

Instruction MakeFusedPattern(Fusion& fusion, std::vector<Instruction> unfused) {
  Instruction fused{.node = fusion.nodes.back(),
                    .is_fused_pattern = true,
                    .inputs = fusion.operands,
                    .outputs = fusion.results.empty() ? std::vector{fusion.result} : fusion.results,
                    .kernels = fusion.rows,
                    .unfused = std::move(unfused)};
  const absl::MutexLock lock(&fused.site->mutex);
  fused.site->states.push_back(std::move(fusion.form));
  return fused;
}

Instruction MakeFused(Fusion& fusion, std::vector<Instruction> unfused) {
  if (fusion.IsFusedPattern()) return MakeFusedPattern(fusion, std::move(unfused));
  const Instruction& first = *std::find_if(unfused.begin(), unfused.end(),
                                           [&](const Instruction& part) { return part.node == fusion.nodes[0]; });
  Instruction fused{.node = first.node, .inputs = first.inputs, .outputs = {fusion.result}};
  fused.inputs.insert(fused.inputs.end(), fusion.operands.begin(), fusion.operands.end());
  // A product or convolution for which a device has kernels stays on the device: if none of them takes the epilogue,
  // its nodes run there one by one.
  const auto runs_on_device = [](const KernelRow* row) { return row->runs_on_device; };
  const bool is_of_device = std::any_of(first.kernels.begin(), first.kernels.end(), runs_on_device);
  std::copy_if(first.kernels.begin(), first.kernels.end(), std::back_inserter(fused.kernels),
               [=](const KernelRow* row) { return row->takes_epilogue && row->runs_on_device == is_of_device; });
  fused.site->epilogue = fusion.epilogue;
  fused.unfused = std::move(unfused);
  return fused;
}

// Puts each fusion at the position of its last node, where all its inputs exist.
void Fuse(const Model& model, std::vector<Fusion>& fusions, std::vector<Instruction>& block) {
  IdVector<NodeId, bool> is_there(model.num_nodes(), false);
  for (const Instruction& instruction : block) is_there[instruction.node] = true;
  IdVector<NodeId, Fusion*> fusion_of(model.num_nodes(), nullptr);
  for (Fusion& fusion : fusions) {
    const NodeId wanted = fusion.IsFusedPattern() ? fusion.nodes.back() : fusion.nodes.front();
    if (!is_there[wanted]) continue;  // the node is in another graph, or its result is a constant
    for (const NodeId node : fusion.nodes) fusion_of[node] = &fusion;
  }
  // Number of a fusion's nodes in this block; constants do not count.
  absl::flat_hash_map<const Fusion*, size_t> num_parts;
  for (const Instruction& instruction : block) ++num_parts[fusion_of[instruction.node]];
  absl::flat_hash_map<const Fusion*, std::vector<Instruction>> parts;
  std::vector<Instruction> fused;
  for (Instruction& instruction : block) {
    Fusion* const fusion = fusion_of[instruction.node];
    if (fusion == nullptr) {
      fused.push_back(std::move(instruction));
      continue;
    }
    std::vector<Instruction>& collected = parts[fusion];
    collected.push_back(std::move(instruction));
    if (collected.size() == num_parts[fusion]) fused.push_back(MakeFused(*fusion, std::move(collected)));
  }
  block = std::move(fused);
}

}  // namespace

std::string OperatorText(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  const std::string domain = node.domain().empty() ? "" : absl::StrCat(node.domain(), "::");
  return Escaped(absl::StrCat(domain, node.op_type(), "-", VersionOf(model, node)));
}

std::string InstructionText(const Model& model, const Instruction& instruction) {
  const absl::MutexLock lock(&instruction.site->mutex);
  const KernelRow* const row = instruction.site->row;
  if (!instruction.is_fused_pattern || row == nullptr) return OperatorText(model, instruction.node);
  return absl::StrCat(row->op_type, " of ", instruction.unfused.size());
}

std::string Describe(const Model& model, NodeId node) {
  return absl::StrCat(Escaped(model.NodeLabel(node)), " (", OperatorText(model, node), ")");
}

bool LacksKernel(const Model& model, NodeId id, FindKernels find) {
  const Node& node = model.node(id);
  const bool is_constant = node.Has(Role::kConstant) && !model.IsCallOfFunction(id);
  return !is_constant && FindNodeKernels(model, id, find).empty();
}

std::vector<const KernelRow*> FindNodeKernels(const Model& model, NodeId id, FindKernels find) {
  const Node& node = model.node(id);
  return find(node.domain(), node.op_type(), VersionOf(model, node));
}

absl::StatusOr<Program> MakeProgram(Model& model, FindKernels find, bool has_device) {
  Program program;
  AMP_RETURN_IF_ERROR(LoadConstants(model, program));
  program.blocks.resize(model.num_graphs());
  for (const GraphId graph : model.AllGraphs()) {
    for (const NodeId id : model.NodesInOrder(graph)) {
      if (IsConstant(program, model.node(id).Output(0))) continue;
      AMP_ASSIGN_OR_RETURN(Instruction instruction, MakeInstruction(model, id, find));
      if (!has_device) std::erase_if(instruction.kernels, [](const KernelRow* row) { return row->runs_on_device; });
      program.blocks[graph].push_back(std::move(instruction));
    }
  }
  return program;
}

IdVector<NodeId, bool> NodesThatRun(const Model& model, const Program& program) {
  IdVector<NodeId, bool> run(model.num_nodes(), false);
  for (const auto& block : program.blocks) {
    for (const Instruction& instruction : block) run[instruction.node] = true;
  }
  return run;
}

int64_t StatedConstantBytes(const Model& model, const Program& program) {
  size_t size_bytes = 0;
  for (const ValueId id : model.AllValues()) {
    const Tensor* const constant = program.constants[id].tensor();
    const NodeId producer = model.value(id).producer;
    const bool is_stated = producer == kNone || model.node(producer).Has(Role::kConstant);
    if (constant != nullptr && is_stated) size_bytes += constant->size_bytes();
  }
  return static_cast<int64_t>(size_bytes);
}

void FinishProgram(const Model& model, std::vector<Fusion> fusions, Program& program) {
  for (auto& block : program.blocks) Fuse(model, fusions, block);
  FindFrees(model, program);
  for (auto& block : program.blocks) {
    for (Instruction& instruction : block) DescribeInputs(program, instruction);
  }
}

void DropConstants(const Model& model, Program& program) {
  enum class Reader : uint8_t { kNone, kPacking, kOther };
  IdVector<ValueId, Reader> readers(model.num_values(), Reader::kNone);
  for (auto& block : program.blocks) {
    ForEachWithParts(block, [&](const Instruction& instruction) {
      const bool packs = PacksWeights(instruction);
      for (size_t port = 0; port < instruction.inputs.size(); ++port) {
        const ValueId input = instruction.inputs[port];
        if (input == kNone || PartsRead(instruction, input)) continue;  // they say how
        const Reader reader = packs && port == kWeightsPort ? Reader::kPacking : Reader::kOther;
        readers[input] = std::max(readers[input], reader);
      }
    });
  }
  IdVector<ValueId, std::shared_ptr<DroppableConstant>> droppable(model.num_values());
  for (const ValueId id : model.AllValues()) {
    if (readers[id] == Reader::kOther || !IsOfProgramAlone(model, program, id)) continue;
    const absl::Span<std::byte> elements = program.constants[id].mutable_tensor()->mutable_bytes();
    if (readers[id] == Reader::kNone) {
      DropHostPages(elements);
    } else {
      droppable[id] = std::make_shared<DroppableConstant>(elements);
    }
  }
  for (auto& block : program.blocks) {
    ForEachWithParts(block, [&](Instruction& instruction) {
      for (size_t port = 0; port < instruction.inputs.size(); ++port) {
        const ValueId input = instruction.inputs[port];
        if (input == kNone || droppable[input] == nullptr) continue;
        instruction.site->droppable.resize(instruction.inputs.size());
        instruction.site->droppable[port] = droppable[input];
      }
    });
  }
}

}  // namespace amp
