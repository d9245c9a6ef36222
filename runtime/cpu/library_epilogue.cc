#include "runtime/cpu/library_epilogue.h"

#include <utility>

#include "ir/base/status.h"
#include "runtime/cpu/prepared.h"
#include "runtime/kernel/layout.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

bool ReadsOperand(const EpilogueStep& step) {
  return step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMul;
}

// Whether the operand varies along no other axis than `axis`.
bool IsAlong(const onednn::Operand& operand, size_t axis) {
  for (size_t i = 0; i < operand.dims.size(); ++i) {
    if (i != axis && operand.dims[i] != 1) return false;
  }
  return true;
}

}  // namespace

Refusal WhyNotForLibrary(const KernelContext& context) {
  if (onednn::OpenLibrary().library == nullptr) return "oneDNN is not there";
  const Tensor &a = context.Input(0), &b = context.Input(1);
  if (!IsFloatOfLibrary(a.dtype()) || a.dtype() != b.dtype()) return "not two of float32, float16 or bfloat16";
  if (a.num_elements() == 0 || b.num_elements() == 0) return "no elements";
  for (const EpilogueStep& step : context.epilogue().steps) {
    if (ReadsOperand(step) && context.Input(step.input).dtype() != a.dtype()) return "an operand of another type";
  }
  return {};
}

std::optional<LibraryEpilogue> FitEpilogue(const KernelContext& context, const std::vector<EpilogueStep>& steps,
                                           std::optional<size_t> bias_axis, const FitOperand& fit) {
  LibraryEpilogue result;
  for (size_t i = 0; i < steps.size(); ++i) {
    const EpilogueStep& step = steps[i];
    onednn::PostOp post_op{.kind = step.kind, .alpha = step.alpha, .beta = step.beta, .operand = {}};
    if (!ReadsOperand(step)) {
      result.post_ops.push_back(std::move(post_op));
      continue;
    }
    std::optional<FittedOperand> fitted = fit(context.Input(step.input));
    if (!fitted.has_value()) return std::nullopt;
    onednn::Operand& operand = fitted->operand;
    // An operand of which each part reads another part is no bias, even if such a part has a bias's shape.
    const bool may_be_bias = i == 0 && step.kind == EpilogueKind::kAdd && bias_axis.has_value() && fitted->step == 0;
    if (may_be_bias && operand.dims[*bias_axis] != 1 && IsAlong(operand, *bias_axis)) {
      result.bias = std::move(operand);
      result.bias_port = step.input;
      continue;
    }
    post_op.operand = std::move(operand);
    result.post_ops.push_back(std::move(post_op));
    result.ports.push_back(step.input);
    result.steps.push_back(fitted->step);
  }
  return result;
}

absl::StatusOr<Tensor> InLibraryLayout(const KernelContext& context, size_t port, Layout layout) {
  const Tensor& x = context.Input(port);
  return x.rank() < 3 ? x : InLayout(x, layout, context.memory());
}

void AppendShapes(const KernelContext& context, std::vector<int64_t>& key) {
  for (size_t port = 0; port < context.num_inputs(); ++port) {
    const Tensor& x = context.Input(port);
    key.push_back(static_cast<int64_t>(x.rank()));
    key.push_back(static_cast<int64_t>(x.dtype()));
    key.push_back(context.IsConstantInput(port) ? 1 : 0);
    key.insert(key.end(), x.dims().begin(), x.dims().end());
  }
}

DType StoredType(const KernelContext& context) {
  const DType stated = context.epilogue().stores_as;
  return stated == DType::kUndefined ? context.Input(0).dtype() : stated;
}

DType ResultTypeOf(DType compute, DType stored) { return stored == compute ? stored : DType::kFloat32; }

}  // namespace amp
