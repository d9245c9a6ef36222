#include "runtime/loops/chain.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "ir/base/status.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/chain_operand.h"
#include "runtime/loops/memory_broadcast.h"

namespace amp {

using ShapeKey = absl::InlinedVector<int64_t, 32>;

struct ChainShapes {
  ShapeKey key;
  MemoryBroadcast memory;
  std::vector<std::optional<OperandWalk>> walks;  // by input; nothing for those that are as large as the result
};

namespace {

// ---- shapes ---------------------------------------------------------------------------------------------------------

ShapeKey KeyOf(const KernelContext& context, size_t num_inputs) {
  ShapeKey key;
  for (size_t i = 0; i < num_inputs; ++i) {
    const Tensor& x = context.Input(i);
    key.push_back(static_cast<int64_t>(x.layout()));
    key.push_back(static_cast<int64_t>(x.rank()));
    key.insert(key.end(), x.dims().begin(), x.dims().end());
  }
  return key;
}

// Whether all that is between has the shape of the result.
bool HaveOneShape(const KernelContext& context, const Chain& chain, const Dims& result) {
  const auto dims_of = [&](size_t operand) -> const Dims& {
    return operand < chain.inputs.size() ? context.Input(operand).dims() : result;
  };
  return std::all_of(chain.steps.begin(), chain.steps.end(), [&](const ChainStep& step) {
    if (step.kind == ChainStep::Kind::kSlope && dims_of(step.operands[0]) != result) return false;
    Dims dims;
    for (const size_t operand : step.operands) {
      absl::StatusOr<Dims> joined = BroadcastDims(dims, dims_of(operand));
      if (!joined.ok()) return false;
      dims = *std::move(joined);
    }
    return dims == result;
  });
}

absl::StatusOr<std::shared_ptr<const ChainShapes>> FindShapes(const KernelContext& context, const Chain& chain,
                                                              ShapeKey key) {
  const size_t num_inputs = chain.inputs.size();
  auto shapes = std::make_shared<ChainShapes>();
  absl::StatusOr<MemoryBroadcast> memory = BroadcastInMemory(context, num_inputs, BroadcastRule::kNumPy);
  if (!memory.ok()) return Refusal("shapes that do not fit");
  shapes->memory = *std::move(memory);
  if (!HaveOneShape(context, chain, shapes->memory.dims)) return Refusal("values of several shapes");
  const Broadcast& broadcast = shapes->memory.broadcast;
  const int64_t num_elements = ElementsBetween(broadcast.dims, 0, broadcast.dims.size());
  for (size_t i = 0; i < num_inputs; ++i) {
    auto& walk = shapes->walks.emplace_back();
    if (context.Input(i).num_elements() == num_elements) continue;
    walk = OperandWalk::Over(broadcast.dims, broadcast.strides[i]);
    if (!walk.has_value()) return Refusal("an operand that broadcasts along many axes");
  }
  shapes->key = std::move(key);
  return shapes;
}

absl::StatusOr<std::shared_ptr<const ChainShapes>> ShapesOf(const KernelContext& context, Chain& chain) {
  ShapeKey key = KeyOf(context, chain.inputs.size());
  {
    const absl::MutexLock lock(&chain.mutex);
    if (chain.shapes != nullptr && chain.shapes->key == key) return chain.shapes;
  }
  AMP_ASSIGN_OR_RETURN(std::shared_ptr<const ChainShapes> found, FindShapes(context, chain, std::move(key)));
  const absl::MutexLock lock(&chain.mutex);
  chain.shapes = found;
  return found;
}

// ---- steps ----------------------------------------------------------------------------------------------------------

template <typename Result>
void Zip(const BinaryForms<Result>& of, const ChainPart& a, const ChainPart& b, Result* y, size_t count) {
  const bool one_a = a.is_one && count > 1, one_b = b.is_one && count > 1;
  (one_a ? of.of_one_a : one_b ? of.of_one_b : of.of_both)(a.floats(), b.floats(), y, count);
}

// Runs the steps over some parts, one behind the other.
class ChainRun {
 public:
  // `buffers`: kChainPart float32 for every input and every buffer of the chain.
  ChainRun(const KernelContext& context, const Chain& chain, const ChainShapes& shapes, float* buffers)
      : loops_(BestLoops()), chain_(chain), buffers_(buffers), parts_(chain.inputs.size() + chain.steps.size()) {
    operands_.reserve(chain.inputs.size());
    for (size_t i = 0; i < chain.inputs.size(); ++i) operands_.emplace_back(loops_, context.Input(i), shapes.walks[i]);
  }

  // Elements [first, end) of y. REQUIRES: `first` is a multiple of kChainPart; once.
  void Store(size_t first, size_t end, Tensor& y) {
    for (ChainOperand& operand : operands_) operand.Start(first);
    const auto for_each_part = [&](const auto& visit) {
      for (size_t at = first; at < end; at += kChainPart) visit(at, std::min(kChainPart, end - at));
    };
    if (y.dtype() == DType::kBool) {
      uint8_t* const truths = y.mutable_elements<uint8_t>().data();
      for_each_part([&](size_t at, size_t count) { RunPart(count, truths + at); });
      return;
    }
    const FloatSink out(loops_, y);
    float* const last = BufferOf(chain_.steps.back());
    for_each_part([&](size_t at, size_t count) {
      RunPart(count, out.Begin(at, last));
      out.End(at, count, last);
    });
  }

 private:
  float* InputBuffer(size_t input) const { return buffers_ + input * kChainPart; }
  float* BufferOf(const ChainStep& step) const { return buffers_ + (chain_.inputs.size() + step.buffer) * kChainPart; }

  void RunPart(size_t count, void* result) {
    for (size_t i = 0; i < operands_.size(); ++i) parts_[i] = operands_[i].Read(count, InputBuffer(i));
    for (size_t i = 0; i < chain_.steps.size(); ++i) {
      const ChainStep& step = chain_.steps[i];
      const bool is_last = i + 1 == chain_.steps.size();
      void* const y = is_last ? result : BufferOf(step);
      RunStep(step, y, count);
      const bool is_rounded = is_last || step.is_exact || step.zip != nullptr;
      if (!is_rounded) RoundTo(step.dtype, static_cast<float*>(y), count);
      parts_[operands_.size() + i] = {y};
    }
  }

  void RunStep(const ChainStep& step, void* y, size_t count) const {
    const ChainPart& first = parts_[step.operands[0]];
    switch (step.kind) {
      case ChainStep::Kind::kMap:
        return (loops_.unary.*step.map)(first.floats(), static_cast<float*>(y), count, step.parameters);
      case ChainStep::Kind::kZip:
      case ChainStep::Kind::kSlope:
        return Zip(PairsOf(step).*step.zip, first, parts_[step.operands[1]], static_cast<float*>(y), count);
      case ChainStep::Kind::kCompare:
        return Zip(loops_.binary.*step.compare, first, parts_[step.operands[1]], static_cast<uint8_t*>(y), count);
      case ChainStep::Kind::kChoose:
        return Choose(step, y, count);
      case ChainStep::Kind::kCast:
        return Cast(step, y, count);
    }
  }

  // The last step's numbers are rounded as they are stored.
  const BinaryLoops& PairsOf(const ChainStep& step) const {
    if (step.is_exact || step.dtype == DType::kFloat32 || &step == &chain_.steps.back()) return loops_.binary;
    return step.dtype == DType::kFloat16 ? loops_.rounded_float16 : loops_.rounded_bfloat16;
  }

  void Choose(const ChainStep& step, void* y, size_t count) const {
    const ChainPart &condition = parts_[step.operands[0]], &a = parts_[step.operands[1]], &b = parts_[step.operands[2]];
    const ChooseLoop loop = step.dtype == DType::kBool ? loops_.choose.of_1_byte : loops_.choose.of_4_bytes;
    loop({.condition = condition.truths(),
          .a = a.data,
          .b = b.data,
          .step_condition = condition.is_one ? 0u : 1u,
          .step_a = a.is_one ? 0u : 1u,
          .step_b = b.is_one ? 0u : 1u},
         y, count);
  }

  void Cast(const ChainStep& step, void* y, size_t count) const {
    const ChainPart& x = parts_[step.operands[0]];
    const bool from_truth = TypeOf(step.operands[0]) == DType::kBool, to_truth = step.dtype == DType::kBool;
    if (from_truth == to_truth) {
      std::memmove(y, x.data, count * (to_truth ? sizeof(uint8_t) : sizeof(float)));
    } else if (to_truth) {
      loops_.convert.narrow_bool(x.floats(), static_cast<uint8_t*>(y), count);
    } else {
      loops_.convert.widen_uint8(x.truths(), static_cast<float*>(y), count);
    }
  }

  DType TypeOf(size_t operand) const {
    const size_t num_inputs = chain_.inputs.size();
    return operand < num_inputs ? chain_.inputs[operand] : chain_.steps[operand - num_inputs].dtype;
  }

  void RoundTo(DType dtype, float* x, size_t count) const {
    if (dtype == DType::kFloat16) loops_.convert.round_float16(x, count);
    if (dtype == DType::kBfloat16) loops_.convert.round_bfloat16(x, count);
  }

  const Loops& loops_;
  const Chain& chain_;
  float* buffers_;
  absl::InlinedVector<ChainOperand, 4> operands_;
  absl::InlinedVector<ChainPart, 16> parts_;  // of the inputs, then of what the steps gave
};

Refusal WhyNotInOneLayout(const KernelContext& context) {
  return WhyNotInMemory(context, context.num_inputs(), BroadcastRule::kNumPy);
}

absl::Status RunChain(KernelContext& context) {
  Chain& chain = context.State<Chain>();
  AMP_ASSIGN_OR_RETURN(const std::shared_ptr<const ChainShapes> shapes, ShapesOf(context, chain));
  context.Report(BestLoops().name, DType::kFloat32);
  const auto size = static_cast<size_t>(ElementsBetween(shapes->memory.dims, 0, shapes->memory.dims.size()));
  const size_t parts = (size + kChainPart - 1) / kChainPart, cost = kChainPart * chain.steps.size();
  const size_t buffers = (chain.inputs.size() + chain.num_buffers) * kChainPart;  // of a share, in elements
  AMP_ASSIGN_OR_RETURN(Tensor scratch,
                       context.MakeScratch(DType::kFloat32, {static_cast<int64_t>(buffers * NumShares(parts, cost))}));
  AMP_ASSIGN_OR_RETURN(Tensor * y, MakeBroadcastOutput(context, shapes->memory, chain.steps.back().dtype));
  ParallelFor(parts, cost, [&](const Share& share) {
    float* const own = scratch.mutable_elements<float>().data() + share.index * buffers;
    ChainRun(context, chain, *shapes, own).Store(share.first * kChainPart, std::min(share.end * kChainPart, size), *y);
  });
  return absl::OkStatus();
}

constexpr KernelRow kInAnyLayout = {.op_type = "Chain",
                                    .function = RunChain,
                                    .refusal = WhyNotInOneLayout,
                                    .family = "loops",
                                    .takes_channels_last = true};
constexpr KernelRow kRowMajor = {.op_type = "Chain", .function = RunChain, .family = "loops"};

}  // namespace

void AssignBuffers(Chain& chain) {
  std::vector<size_t> last_reader(chain.steps.size());  // of each step
  for (size_t i = 0; i < chain.steps.size(); ++i) {
    for (const size_t operand : chain.steps[i].operands) {
      if (operand >= chain.inputs.size()) last_reader[operand - chain.inputs.size()] = i;
    }
  }
  std::vector<size_t> writers;  // by buffer: the step whose result is in it
  for (size_t i = 0; i < chain.steps.size(); ++i) {
    const auto is_free = [&](size_t writer) {
      if (last_reader[writer] < i) return true;
      // Where elements have one size, a step may write to what it reads.
      const bool has_one_size = chain.steps[writer].dtype != DType::kBool && chain.steps[i].dtype != DType::kBool;
      return last_reader[writer] == i && has_one_size;
    };
    const auto free = std::find_if(writers.begin(), writers.end(), is_free);
    chain.steps[i].buffer = static_cast<size_t>(free - writers.begin());
    if (free == writers.end()) writers.push_back(0);
    writers[chain.steps[i].buffer] = i;
  }
  chain.num_buffers = writers.size();
}

std::vector<const KernelRow*> ChainRows() { return {&kInAnyLayout, &kRowMajor}; }

}  // namespace amp
