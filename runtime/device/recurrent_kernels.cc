// LSTM and GRU on a device: the inputs of all steps are one product, each step is a product of the hidden state and one
// kernel for all gates (runtime/device/raw/recurrent.h). Products are float32 whatever the type.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/product.h"
#include "runtime/device/raw/recurrent.h"
#include "runtime/device/storage.h"

namespace amp {
namespace {

using device::RecurrentCell;

constexpr size_t kX = 0, kW = 1, kR = 2, kBias = 3, kLengths = 4, kHidden = 5, kCell = 6, kPeepholes = 7;  // inputs
constexpr size_t kAllHidden = 0, kLastHidden = 1, kLastCell = 2;                                           // outputs

// X is [steps, batch, inputs], W [directions, gates * hidden, inputs], R [directions, gates * hidden, hidden].
struct LayerShape {
  int64_t steps, batch, inputs, directions, hidden, gates;
  bool starts_at_end;  // its first direction

  Dims states() const { return {directions, batch, hidden}; }
};

int64_t NumGates(RecurrentCell cell) { return cell == RecurrentCell::kLstm ? 4 : 3; }

LayerShape ShapeOf(const KernelContext& context, RecurrentCell cell) {
  const Tensor &x = context.Input(kX), &r = context.Input(kR);
  return {.steps = x.dim(0),
          .batch = x.dim(1),
          .inputs = x.dim(2),
          .directions = r.dim(0),
          .hidden = r.dim(2),
          .gates = NumGates(cell),
          .starts_at_end = GetString(context.node(), "direction", "forward") == "reverse"};
}

bool HasUsualActivations(const KernelContext& context, RecurrentCell cell) {
  const std::vector<std::string> stated =
      GetStrings(context.node(), "activations").value_or(std::vector<std::string>());
  const size_t period = cell == RecurrentCell::kLstm ? 3 : 2;
  for (size_t i = 0; i < stated.size(); ++i) {
    if (stated[i] != (i % period == 0 ? "Sigmoid" : "Tanh")) return false;
  }
  return true;
}

bool HasOneType(const KernelContext& context) {
  for (const size_t port : {kW, kR, kBias, kHidden, kCell}) {
    if (context.HasInput(port) && context.Input(port).dtype() != context.Input(kX).dtype()) return false;
  }
  return true;
}

bool FitsTogether(const KernelContext& context, RecurrentCell cell) {
  for (const size_t port : {kX, kW, kR}) {
    if (context.Input(port).rank() != 3 || context.Input(port).num_elements() == 0) return false;
  }
  const LayerShape shape = ShapeOf(context, cell);
  const int64_t rows = shape.gates * shape.hidden;
  const bool is_both = GetString(context.node(), "direction", "forward") == "bidirectional";
  if (shape.directions != (is_both ? 2 : 1)) return false;
  if (context.Input(kW).dims() != Dims{shape.directions, rows, shape.inputs}) return false;
  if (context.Input(kR).dims() != Dims{shape.directions, rows, shape.hidden}) return false;
  if (context.HasInput(kBias) && context.Input(kBias).dims() != Dims{shape.directions, 2 * rows}) return false;
  const auto fits = [&](size_t port) {
    return !context.HasInput(port) || context.Input(port).dims() == shape.states();
  };
  return fits(kHidden) && fits(kCell);
}

template <RecurrentCell kCellKind>
const char* WhyNot(const KernelContext& context) {
  const Node& node = context.node();
  if (!IsDeviceFloat(context.Input(kX).dtype())) return kNoDeviceFloat;
  if (context.HasInput(kLengths)) return "lengths of sequences";
  if (context.HasInput(kPeepholes)) return "peepholes";
  if (GetInt(node, "layout", 0) != 0) return "the batch in front";
  if (HasAttribute(node, "clip") || GetInt(node, "input_forget", 0) != 0) return "clipped or coupled gates";
  if (kCellKind == RecurrentCell::kGru && GetInt(node, "linear_before_reset", 0) == 0)
    return "a reset before the product";
  if (!HasUsualActivations(context, kCellKind)) return "other activations";
  if (!HasOneType(context)) return "operands of different types";
  return FitsTogether(context, kCellKind) ? nullptr : "shapes that do not fit";
}

// Where part `index` of parts of so many elements begins.
const void* PartOf(const Tensor& tensor, int64_t index, int64_t elements) {
  if (tensor.data() == nullptr) return nullptr;
  return static_cast<const std::byte*>(tensor.data()) +
         static_cast<size_t>(index * elements) * ElementBytes(tensor.dtype());
}
void* MutablePartOf(Tensor& tensor, int64_t index, int64_t elements) {
  return const_cast<void*>(PartOf(tensor, index, elements));
}

// One direction of a layer.
class DirectionRun {
 public:
  DirectionRun(KernelContext& context, RecurrentCell cell, int64_t direction)
      : context_(context),
        device_(*context.resources().device),
        cell_(cell),
        shape_(ShapeOf(context, cell)),
        storage_(StorageOf(context.Input(kX).dtype())),
        direction_(direction) {}

  // `all`: [steps, directions, batch, hidden]; the others: of the layer, or without elements.
  absl::Status Run(Tensor& all, Tensor& last_hidden, Tensor& last_cell, std::string& text) {
    const int64_t width = shape_.gates * shape_.hidden, state = shape_.batch * shape_.hidden;
    AMP_ASSIGN_OR_RETURN(of_input_, Scratch({shape_.steps * shape_.batch, width}));
    AMP_ASSIGN_OR_RETURN(of_hidden_, Scratch({shape_.batch, width}));
    AMP_ASSIGN_OR_RETURN(cells_, Scratch({shape_.batch, shape_.hidden}));
    const Tensor &w = context_.Input(kW), &r = context_.Input(kR);
    AMP_RETURN_IF_ERROR(Multiply(context_.Input(kX).data(), PartOf(w, direction_, width * shape_.inputs), shape_.inputs,
                                 shape_.steps * shape_.batch, of_input_, text));
    const void* hidden = PartOf(context_.Input(kHidden), direction_, state);
    const void* cells = PartOf(context_.Input(kCell), direction_, state);
    device::Storage cell_storage = storage_;
    const bool is_backward = direction_ == 1 || shape_.starts_at_end;
    for (int64_t step = 0; step < shape_.steps; ++step) {
      const int64_t at = is_backward ? shape_.steps - 1 - step : step;
      if (hidden != nullptr) {
        AMP_RETURN_IF_ERROR(Multiply(hidden, PartOf(r, direction_, width * shape_.hidden), shape_.hidden, shape_.batch,
                                     of_hidden_, text));
      }
      void* const now = MutablePartOf(all, at * shape_.directions + direction_, state);
      const bool is_last = step + 1 == shape_.steps;
      device_.Start(device::RecurrentStepArguments{
          .of_input = static_cast<const float*>(PartOf(of_input_, at, shape_.batch * width)),
          .of_hidden = hidden == nullptr ? nullptr : static_cast<const float*>(of_hidden_.data()),
          .bias = PartOf(context_.Input(kBias), direction_, 2 * width),
          .hidden_before = hidden,
          .cell_before = cells,
          .hidden_now = now,
          .cell_now = static_cast<float*>(cells_.mutable_data()),
          .last_hidden = is_last ? MutablePartOf(last_hidden, direction_, state) : nullptr,
          .last_cell = is_last ? MutablePartOf(last_cell, direction_, state) : nullptr,
          .storage = storage_,
          .cell_storage = cell_storage,
          .count = static_cast<uint32_t>(state),
          .hidden = static_cast<uint32_t>(shape_.hidden),
          .cell = cell_});
      hidden = now;
      cells = cells_.data();
      cell_storage = device::Storage::kFloat32;
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Tensor> Scratch(Dims dims) { return context_.MakeScratch(DType::kFloat32, std::move(dims)); }

  // y [rows, gates * hidden] = x [rows, size] times the transpose of `weights`.
  absl::Status Multiply(const void* x, const void* weights, int64_t size, int64_t rows, Tensor& y, std::string& text) {
    return device_.Multiply({.a = x,
                             .b = weights,
                             .bias = nullptr,
                             .y = y.mutable_data(),
                             .storage = storage_,
                             .y_storage = device::Storage::kFloat32,
                             .m = rows,
                             .n = shape_.gates * shape_.hidden,
                             .k = size,
                             .batch = 1,
                             .a_step = 0,
                             .b_step = 0,
                             .transposes_a = false,
                             .transposes_b = true,
                             .activation = device::ProductActivation::kNone,
                             .allows_tf32 = context_.resources().allows_tf32,
                             .alpha = 1},
                            text);
  }

  KernelContext& context_;
  Accelerator& device_;
  const RecurrentCell cell_;
  const LayerShape shape_;
  const device::Storage storage_;
  const int64_t direction_;
  Tensor of_input_, of_hidden_, cells_;
};

// A tensor where somebody reads it; else one without elements.
absl::StatusOr<Tensor> MakeState(KernelContext& context, size_t port, const Dims& dims) {
  if (!context.HasOutput(port)) return Tensor();
  return Tensor::Create(context.Input(kX).dtype(), dims, context.memory());
}

template <RecurrentCell kCellKind>
absl::Status Recur(KernelContext& context) {
  context.Report("products and gates", DType::kFloat32);
  const LayerShape shape = ShapeOf(context, kCellKind);
  const DType dtype = context.Input(kX).dtype();
  AMP_ASSIGN_OR_RETURN(
      Tensor all, Tensor::Create(dtype, {shape.steps, shape.directions, shape.batch, shape.hidden}, context.memory()));
  AMP_ASSIGN_OR_RETURN(Tensor last_hidden, MakeState(context, kLastHidden, shape.states()));
  AMP_ASSIGN_OR_RETURN(Tensor last_cell, MakeState(context, kLastCell, shape.states()));
  std::string text;
  for (int64_t direction = 0; direction < shape.directions; ++direction) {
    AMP_RETURN_IF_ERROR(DirectionRun(context, kCellKind, direction).Run(all, last_hidden, last_cell, text));
  }
  if (context.HasOutput(kAllHidden)) context.SetOutput(kAllHidden, std::move(all));
  if (context.HasOutput(kLastHidden)) context.SetOutput(kLastHidden, std::move(last_hidden));
  if (context.HasOutput(kLastCell)) context.SetOutput(kLastCell, std::move(last_cell));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    DeviceRow("LSTM", Recur<RecurrentCell::kLstm>, WhyNot<RecurrentCell::kLstm>),
    DeviceRow("GRU", Recur<RecurrentCell::kGru>, WhyNot<RecurrentCell::kGru>),
};

}  // namespace

absl::Span<const KernelRow> RecurrentDeviceKernels() { return kRows; }

}  // namespace amp
