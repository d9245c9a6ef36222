#include "runtime/cuda/cudnn_plans.h"

#include <cudnn_frontend.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // the front end looks up cuDNN's functions in it
}

namespace amp::cuda {
namespace {

namespace fe = cudnn_frontend;
using device::LibraryAttention;
using device::LibraryConvolution;
using device::ResultStep;
using device::Storage;
using device::UnaryFunction;
using fe::graph::Graph;
using fe::graph::Pointwise_attributes;
using Dims = std::vector<int64_t>;
using TensorOf = std::shared_ptr<fe::graph::Tensor_attributes>;
using Note = fe::NumericalNote_t;

// The identifiers of the operands. The operand of step i has kFirstStep + i.
enum Operand : int64_t { kX = 1, kW, kBias, kY, kQ, kK, kV, kMask, kFirstStep };

// Engines that need larger workspaces are not used.
constexpr int64_t kMostWorkspaceBytes = int64_t{1} << 30;

fe::DataType_t TypeOf(Storage storage) {
  switch (storage) {
    case Storage::kFloat16:
      return fe::DataType_t::HALF;
    case Storage::kBfloat16:
      return fe::DataType_t::BFLOAT16;
    default:
      return fe::DataType_t::FLOAT;
  }
}

Dims RowSteps(const Dims& dims) {
  Dims steps(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) steps[i - 1] = steps[i] * dims[i];
  return steps;
}

// Returns the strides of [n, channels, ...] with the channels innermost.
Dims ChannelSteps(Dims dims) {
  std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  Dims steps = RowSteps(dims);
  std::rotate(steps.begin() + 1, steps.end() - 1, steps.end());
  return steps;
}

fe::graph::Tensor_attributes Described(Operand number, const Dims& dims, const Dims& steps, Storage storage) {
  return fe::graph::Tensor_attributes()
      .set_uid(number)
      .set_name("t" + std::to_string(number))
      .set_dim(dims)
      .set_stride(steps)
      .set_data_type(TypeOf(storage));
}

void MakeResult(fe::graph::Tensor_attributes& y, Operand number, const Dims& dims, const Dims& steps, Storage storage) {
  y.set_output(true).set_uid(number).set_dim(dims).set_stride(steps).set_data_type(TypeOf(storage));
}

// Returns the first line of an error, cut to a length that fits a report.
std::string OneLine(const std::string& text) {
  constexpr size_t kMost = 160;
  return text.substr(0, std::min(kMost, text.find('\n')));
}
// Makes a failure from an error's text. The front end mentions the name of cuDNN's status somewhere in its many lines.
CudnnFailure FailureOf(const std::string& text) {
  return {.text = OneLine(text),
          .is_out_of_memory =
              text.find("ALLOCATION_FAILED") != std::string::npos || text.find("ALLOC_FAILED") != std::string::npos};
}
CudnnFailure FailureOf(fe::error_t error) {
  return error.is_bad() ? FailureOf("cuDNN: " + error.get_message()) : CudnnFailure();
}

// ---- choosing an engine ---------------------------------------------------------------------------------------------

enum class TensorCores { kNeeded, kBarred, kLeft };

// An engine with its settings, as the graph has built it.
struct Candidate {
  int64_t index = 0;
  std::string engine = {};
  size_t workspace_bytes = 0;
};

class Plan : public CudnnPlan {
 public:
  // REQUIRES: `candidates` is not empty.
  Plan(Graph graph, std::vector<Candidate> candidates, bool uses_tensor_cores)
      : graph_(std::move(graph)), candidates_(std::move(candidates)), uses_tensor_cores_(uses_tensor_cores) {}

  size_t num_candidates() const override { return candidates_.size(); }
  void Take(size_t candidate) override { taken_ = candidate; }
  size_t workspace_bytes() const override { return candidates_[taken_].workspace_bytes; }
  const std::string& engine() const override { return candidates_[taken_].engine; }
  bool uses_tensor_cores() const override { return uses_tensor_cores_; }

  CudnnFailure Run(cudnnContext* handle, const CudnnPointers& pointers, void* workspace) const override try {
    std::unordered_map<int64_t, void*> by_number(pointers.begin(), pointers.end());
    return FailureOf(graph_.execute_plan_at_index(handle, by_number, workspace, candidates_[taken_].index));
  } catch (const std::exception& error) {
    return FailureOf(error.what());
  }

 private:
  Graph graph_;
  const std::vector<Candidate> candidates_;
  const bool uses_tensor_cores_;
  size_t taken_ = 0;
};

// Makes the part of a graph that all graphs have in common: float32 inside, and no calls of CUDA's runtime, of which
// the front end would open another copy. Plans live as long as their device, so captured CUDA graphs need not keep them
// alive.
Graph NewGraph(const CudnnTarget& target, Storage storage) {
  Graph graph;
  graph.set_io_data_type(TypeOf(storage))
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT)
      .set_sm_version(target.sm_version)
      .set_cuda_graph_retention(fe::CudaGraphRetention_t::NONE);
  return graph;
}

fe::error_t Build(Graph& graph, const CudnnTarget& target) {
  if (fe::error_t error = graph.validate(); error.is_bad()) return error;
  if (target.handle != nullptr) return graph.build_operation_graph(target.handle);
  const auto properties = std::make_shared<fe::DeviceProperties>();
  std::vector<uint8_t> json(target.device.begin(), target.device.end());
  json.push_back(0);
  if (fe::error_t error = properties->deserialize(json); error.is_bad()) return error;
  graph.set_device_properties(properties);
  return graph.build_operation_graph();
}

// Asks for engines, and bars those that must not be used.
fe::error_t Propose(Graph& graph, TensorCores tensor_cores) {
  fe::error_t error = graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK});
  if (error.is_bad()) return error;
  graph.deselect_numeric_notes({Note::NONDETERMINISTIC, Note::REDUCED_PRECISION_REDUCTION});
  graph.deselect_workspace_greater_than(kMostWorkspaceBytes);
  if (tensor_cores == TensorCores::kNeeded) graph.select_numeric_notes({Note::TENSOR_CORE});
  if (tensor_cores == TensorCores::kBarred) {
    graph.deselect_numeric_notes({Note::TENSOR_CORE, Note::DOWN_CONVERT_INPUTS});
  }
  return graph.check_support();
}

// Builds the candidate at its index. Heuristics may propose engines that do not support the graph in the end.
fe::error_t BuildAt(Graph& graph, Candidate& candidate) {
  if (fe::error_t error = graph.build_plan_at_index(candidate.index); error.is_bad()) return error;
  int64_t workspace_bytes = 0;
  fe::error_t error = graph.get_workspace_size_plan_at_index(candidate.index, workspace_bytes);
  candidate.workspace_bytes = static_cast<size_t>(workspace_bytes);
  return error;
}

fe::error_t Choose(Graph& graph, const CudnnWish& wish, std::vector<Candidate>& candidates) {
  fe::error_t last = {fe::error_code_t::GRAPH_EXECUTION_PLAN_CREATION_FAILED,
                      wish.engine.empty() ? "nothing is proposed" : "'" + wish.engine + "' is not proposed"};
  const int64_t count = graph.get_execution_plan_count();
  for (int64_t i = 0; i < count && candidates.size() < wish.most_candidates; ++i) {
    Candidate candidate = {.index = i};
    if (graph.get_plan_name_at_index(i, candidate.engine).is_bad()) continue;
    const bool is_known = std::any_of(candidates.begin(), candidates.end(),
                                      [&](const Candidate& each) { return each.engine == candidate.engine; });
    if (is_known || (!wish.engine.empty() && wish.engine != candidate.engine)) continue;
    fe::error_t error = BuildAt(graph, candidate);
    if (error.is_good()) {
      candidates.push_back(std::move(candidate));
    } else {
      last = std::move(error);
    }
  }
  return candidates.empty() ? last : fe::error_t();
}

using Describe = std::function<fe::error_t(Graph&)>;

std::unique_ptr<CudnnPlan> PlanWith(const Describe& describe, Storage storage, TensorCores tensor_cores,
                                    const CudnnTarget& target, const CudnnWish& wish, CudnnFailure& failure) {
  Graph graph = NewGraph(target, storage);
  std::vector<Candidate> candidates;
  fe::error_t error = describe(graph);
  if (error.is_good()) error = Build(graph, target);
  if (error.is_good()) error = Propose(graph, tensor_cores);
  if (error.is_good()) error = Choose(graph, wish, candidates);
  failure = FailureOf(error);
  if (candidates.empty()) return nullptr;
  return std::make_unique<Plan>(std::move(graph), std::move(candidates), tensor_cores == TensorCores::kNeeded);
}

// Requirements of a plan besides the operation itself.
struct Wishes {
  Storage storage = Storage::kFloat32;
  bool allows_tf32 = false;
  bool takes_any = false;  // 16 bits may be computed without Tensor Cores
};

// Plans with Tensor Cores for 16 bits, or if TF32 is allowed; otherwise, or if 16 bits may do without, without them.
std::unique_ptr<CudnnPlan> PlanBest(const Describe& describe, const Wishes& wishes, const CudnnTarget& target,
                                    const CudnnWish& wish, CudnnFailure& failure) try {
  fe::cudnn_dlhandle = OpenCudnn().handle;
  const Storage storage = wishes.storage;
  const bool is_float32 = storage == Storage::kFloat32;
  if (!is_float32 || wishes.allows_tf32) {
    auto plan = PlanWith(describe, storage, TensorCores::kNeeded, target, wish, failure);
    if (plan != nullptr || failure.is_out_of_memory || !(is_float32 || wishes.takes_any)) return plan;
  }
  return PlanWith(describe, storage, is_float32 ? TensorCores::kBarred : TensorCores::kLeft, target, wish, failure);
} catch (const std::exception& error) {
  failure = FailureOf(error.what());
  return nullptr;
}

// ---- convolutions ---------------------------------------------------------------------------------------------------

Dims StepsIn(const LibraryConvolution& c, const Dims& dims) {
  return c.channels_last ? ChannelSteps(dims) : RowSteps(dims);
}

// cuDNN's images have at least two axes; missing ones have length 1.
constexpr int32_t kLeastAxes = 2;

template <typename Of>
Dims OfAxes(const LibraryConvolution& convolution, Of of) {
  Dims numbers;
  const int32_t count = std::max(convolution.num_axes, kLeastAxes);
  for (int32_t i = device::kMaxPoolAxes - count; i < device::kMaxPoolAxes; ++i) {
    numbers.push_back(of(convolution.axes[i]));
  }
  return numbers;
}

Dims With(int64_t first, int64_t second, Dims rest) {
  rest.insert(rest.begin(), {first, second});
  return rest;
}

Dims DimsOfX(const LibraryConvolution& c) {
  return With(c.batch, c.channels,
              OfAxes(c, [&](const auto& axis) { return c.is_transposed ? axis.output : axis.input; }));
}
Dims DimsOfY(const LibraryConvolution& c) {
  return With(c.batch, c.filters,
              OfAxes(c, [&](const auto& axis) { return c.is_transposed ? axis.input : axis.output; }));
}
Dims DimsOfW(const LibraryConvolution& c) {
  const int64_t first = c.is_transposed ? c.channels : c.filters, second = c.is_transposed ? c.filters : c.channels;
  return With(first, second / c.groups, OfAxes(c, [](const auto& axis) { return axis.kernel; }));
}

// A transposed convolution slides its window over the result, which may be larger than the windows reach.
int64_t PadEnd(const device::PoolAxis& axis, bool is_transposed) {
  if (!is_transposed) return axis.pad_end;
  const int64_t reach = int64_t{axis.output - 1} * axis.stride + int64_t{axis.kernel - 1} * axis.dilation + 1;
  return std::max<int64_t>(reach - axis.pad_begin - axis.input, 0);
}

template <typename Attributes>
Attributes WindowOf(const LibraryConvolution& c) {
  return Attributes()
      .set_pre_padding(OfAxes(c, [](const auto& axis) { return axis.pad_begin; }))
      .set_post_padding(OfAxes(c, [&](const auto& axis) { return PadEnd(axis, c.is_transposed); }))
      .set_stride(OfAxes(c, [](const auto& axis) { return axis.stride; }))
      .set_dilation(OfAxes(c, [](const auto& axis) { return axis.dilation; }));
}

// Returns nothing for functions that cuDNN does not have.
std::optional<Pointwise_attributes> PointwiseOf(const ResultStep& step) {
  using Mode = fe::PointwiseMode_t;
  Pointwise_attributes pointwise;
  if (step.operand != ResultStep::Operand::kNone) {
    const bool adds = step.combine == device::BinaryFunction::kAdd;
    if (!adds && step.combine != device::BinaryFunction::kMultiply) return std::nullopt;
    return pointwise.set_mode(adds ? Mode::ADD : Mode::MUL);
  }
  switch (step.function) {
    case UnaryFunction::kRelu:
      return pointwise.set_mode(Mode::RELU_FWD);
    case UnaryFunction::kLeakyRelu:
      return pointwise.set_mode(Mode::RELU_FWD).set_relu_lower_clip_slope(step.a);
    case UnaryFunction::kClip:
      return pointwise.set_mode(Mode::RELU_FWD).set_relu_lower_clip(step.a).set_relu_upper_clip(step.b);
    case UnaryFunction::kSigmoid:
      return pointwise.set_mode(Mode::SIGMOID_FWD);
    case UnaryFunction::kTanh:
      return pointwise.set_mode(Mode::TANH_FWD);
    case UnaryFunction::kGelu:
      return pointwise.set_mode(Mode::GELU_FWD);
    case UnaryFunction::kGeluTanh:
      return pointwise.set_mode(Mode::GELU_APPROX_TANH_FWD);
    case UnaryFunction::kSwish:
      return pointwise.set_mode(Mode::SWISH_FWD).set_swish_beta(step.a);
    case UnaryFunction::kElu:
      return pointwise.set_mode(Mode::ELU_FWD).set_elu_alpha(step.a);
    default:
      return std::nullopt;
  }
}

Dims DimsOfOperand(const ResultStep& step, const Dims& y) {
  if (step.operand == ResultStep::Operand::kWhole) return y;
  Dims dims(y.size(), 1);
  if (step.operand == ResultStep::Operand::kChannels) dims[1] = y[1];
  return dims;
}

fe::error_t AddStep(const LibraryConvolution& c, int32_t index, Graph& graph, TensorOf& y) {
  const ResultStep& step = c.steps[index];
  const std::optional<Pointwise_attributes> pointwise = PointwiseOf(step);
  if (!pointwise.has_value()) return {fe::error_code_t::GRAPH_NOT_SUPPORTED, "an activation that cuDNN does not have"};
  if (step.operand == ResultStep::Operand::kNone) {
    y = graph.pointwise(y, *pointwise);
    return {};
  }
  const Dims dims = DimsOfOperand(step, DimsOfY(c));
  const auto number = static_cast<Operand>(kFirstStep + index);
  y = graph.pointwise(y, graph.tensor(Described(number, dims, StepsIn(c, dims), c.storage)), *pointwise);
  return {};
}

fe::error_t AddSteps(const LibraryConvolution& c, int32_t first, int32_t end, Graph& graph, TensorOf& y) {
  for (int32_t i = first; i < end; ++i) {
    if (fe::error_t error = AddStep(c, i, graph, y); error.is_bad()) return error;
  }
  return {};
}

// Whether the first step adds a residual of the result's shape. Engines for channels-last images want it ahead of the
// bias.
bool AddsResidual(const LibraryConvolution& c) {
  return c.num_steps > 0 && c.steps[0].operand == ResultStep::Operand::kWhole &&
         c.steps[0].combine == device::BinaryFunction::kAdd;
}

fe::error_t DescribeConvolution(const LibraryConvolution& c, Graph& graph) {
  const Dims x_dims = DimsOfX(c), w_dims = DimsOfW(c), y_dims = DimsOfY(c);
  const TensorOf x = graph.tensor(Described(kX, x_dims, StepsIn(c, x_dims), c.storage));
  const TensorOf w = graph.tensor(Described(kW, w_dims, StepsIn(c, w_dims), c.storage));
  TensorOf y = c.is_transposed ? graph.conv_dgrad(x, w, WindowOf<fe::graph::Conv_dgrad_attributes>(c))
                               : graph.conv_fprop(x, w, WindowOf<fe::graph::Conv_fprop_attributes>(c));
  y->set_dim(y_dims).set_stride(StepsIn(c, y_dims));
  const int32_t ahead = AddsResidual(c) ? 1 : 0;
  if (fe::error_t error = AddSteps(c, 0, ahead, graph, y); error.is_bad()) return error;
  if (c.bias != nullptr) {
    Dims dims(y_dims.size(), 1);
    dims[1] = c.filters;
    const TensorOf bias = graph.tensor(Described(kBias, dims, StepsIn(c, dims), c.storage));
    y = graph.pointwise(y, bias, Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD));
  }
  if (fe::error_t error = AddSteps(c, ahead, c.num_steps, graph, y); error.is_bad()) return error;
  MakeResult(*y, kY, y_dims, StepsIn(c, y_dims), c.stored_as);
  return {};
}

fe::error_t DescribeWeightGradient(const LibraryConvolution& c, Graph& graph) {
  const Dims x_dims = DimsOfX(c), g_dims = DimsOfY(c), w_dims = DimsOfW(c);
  const TensorOf x = graph.tensor(Described(kX, x_dims, RowSteps(x_dims), c.storage));
  const TensorOf g = graph.tensor(Described(kW, g_dims, RowSteps(g_dims), c.storage));
  const TensorOf dw = graph.conv_wgrad(g, x, WindowOf<fe::graph::Conv_wgrad_attributes>(c));
  MakeResult(*dw, kY, w_dims, RowSteps(w_dims), c.stored_as);
  return {};
}

// ---- attention ------------------------------------------------------------------------------------------------------

Dims DimsOf(const device::HeadSteps& heads) { return {std::begin(heads.steps), std::end(heads.steps)}; }

fe::error_t DescribeAttention(const LibraryAttention& a, Graph& graph) {
  const Dims q_dims = {a.batch, a.heads, a.queries, a.size}, k_dims = {a.batch, a.key_heads, a.keys, a.size},
             v_dims = {a.batch, a.key_heads, a.keys, a.value_size},
             y_dims = {a.batch, a.heads, a.queries, a.value_size};
  const TensorOf q = graph.tensor(Described(kQ, q_dims, DimsOf(a.q_steps), a.storage));
  const TensorOf k = graph.tensor(Described(kK, k_dims, DimsOf(a.k_steps), a.storage));
  const TensorOf v = graph.tensor(Described(kV, v_dims, DimsOf(a.v_steps), a.storage));
  auto attributes = fe::graph::SDPA_attributes().set_generate_stats(false).set_attn_scale(a.scale);
  attributes.set_name("attention");
  if (a.mask != nullptr) {
    const Dims dims = {std::begin(a.mask_dims), std::end(a.mask_dims)};
    attributes.set_bias(graph.tensor(Described(kMask, dims, RowSteps(dims), a.storage)));
  }
  const auto [y, unused] = graph.sdpa(q, k, v, attributes);
  MakeResult(*y, kY, y_dims, DimsOf(a.y_steps), a.storage);
  return {};
}

void* Writable(const void* pointer) { return const_cast<void*>(pointer); }  // cuDNN takes no pointers to const

}  // namespace

CudnnPointers PointersOf(const LibraryConvolution& convolution) {
  CudnnPointers pointers = {{kX, Writable(convolution.x)}, {kW, Writable(convolution.w)}, {kY, convolution.y}};
  if (convolution.bias != nullptr) pointers.emplace_back(kBias, Writable(convolution.bias));
  for (int32_t i = 0; i < convolution.num_steps; ++i) {
    const ResultStep& step = convolution.steps[i];
    if (step.operand != ResultStep::Operand::kNone) pointers.emplace_back(kFirstStep + i, Writable(step.elements));
  }
  return pointers;
}

CudnnPointers PointersOf(const LibraryAttention& attention) {
  CudnnPointers pointers = {
      {kQ, Writable(attention.q)}, {kK, Writable(attention.k)}, {kV, Writable(attention.v)}, {kY, attention.y}};
  if (attention.mask != nullptr) pointers.emplace_back(kMask, Writable(attention.mask));
  return pointers;
}

std::unique_ptr<CudnnPlan> PlanConvolution(const LibraryConvolution& convolution, const CudnnTarget& target,
                                           const CudnnWish& wish, CudnnFailure& failure) {
  failure = {.text = WhyTooOld(convolution, OpenCudnn().version)};
  if (!failure.text.empty()) return nullptr;
  const Describe describe = [&](Graph& graph) {
    return convolution.gives_weights ? DescribeWeightGradient(convolution, graph)
                                     : DescribeConvolution(convolution, graph);
  };
  const bool is_bare = convolution.bias == nullptr && convolution.num_steps == 0;
  return PlanBest(describe,
                  {.storage = convolution.storage, .allows_tf32 = convolution.allows_tf32, .takes_any = is_bare},
                  target, wish, failure);
}

std::unique_ptr<CudnnPlan> PlanAttention(const LibraryAttention& attention, const CudnnTarget& target,
                                         const CudnnWish& wish, CudnnFailure& failure) {
  failure = {.text = WhyTooOld(attention, OpenCudnn().version)};
  if (!failure.text.empty()) return nullptr;
  const Describe describe = [&](Graph& graph) { return DescribeAttention(attention, graph); };
  return PlanBest(describe, {.storage = attention.storage}, target, wish, failure);
}

}  // namespace amp::cuda
