// LSTM and GRU on a device. The inputs of all steps are one product. Each step is a product of the hidden state and one
// kernel for all gates (runtime/device/raw/recurrent.h); a GRU that resets the state before its product needs two of
// each. Products are float32 for all types.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/product.h"
#include "runtime/device/raw/recurrent.h"
#include "runtime/device/storage.h"
#include "runtime/forms/recurrent.h"

namespace amp {
namespace {

using device::RecurrentCell;

constexpr size_t kX = 0, kW = 1, kR = 2, kBias = 3, kLengths = 4, kHidden = 5, kCell = 6, kPeepholes = 7;  // inputs
constexpr size_t kAllHidden = 0, kLastHidden = 1, kLastCell = 2;                                           // outputs

// The sizes of X [steps, batch, inputs], W [directions, gates * hidden, inputs], R [directions, gates * hidden,
// hidden].
struct LayerShape {
  int64_t steps, batch, inputs, directions, hidden, gates;
  bool starts_at_end;  // of its first direction

  Dims states() const { return {directions, batch, hidden}; }
};

RecurrentCell CellOf(const RecurrentForm& form, RecurrentCellKind kind) {
  if (kind == RecurrentCellKind::kLstm) return RecurrentCell::kLstm;
  return form.linear_before_reset ? RecurrentCell::kGru : RecurrentCell::kGruResetFirst;
}

LayerShape ShapeOf(const KernelContext& context, RecurrentCellKind kind, const RecurrentForm& form) {
  const Tensor &x = context.Input(kX), &r = context.Input(kR);
  return {.steps = x.dim(0),
          .batch = x.dim(1),
          .inputs = x.dim(2),
          .directions = r.dim(0),
          .hidden = r.dim(2),
          .gates = NumGates(kind),
          .starts_at_end = form.starts_reversed};
}

bool HasOneType(const KernelContext& context) {
  for (const size_t port : {kW, kR, kBias, kHidden, kCell}) {
    if (context.HasInput(port) && context.Input(port).dtype() != context.Input(kX).dtype()) return false;
  }
  return true;
}

bool FitsTogether(const KernelContext& context, RecurrentCellKind kind, const RecurrentForm& form) {
  for (const size_t port : {kX, kW, kR}) {
    if (context.Input(port).rank() != 3 || context.Input(port).num_elements() == 0) return false;
  }
  const LayerShape shape = ShapeOf(context, kind, form);
  const int64_t rows = shape.gates * shape.hidden;
  if (shape.directions != form.num_directions) return false;
  if (context.Input(kW).dims() != Dims{shape.directions, rows, shape.inputs}) return false;
  if (context.Input(kR).dims() != Dims{shape.directions, rows, shape.hidden}) return false;
  if (context.HasInput(kBias) && context.Input(kBias).dims() != Dims{shape.directions, 2 * rows}) return false;
  const auto fits = [&](size_t port) {
    return !context.HasInput(port) || context.Input(port).dims() == shape.states();
  };
  return fits(kHidden) && fits(kCell);
}

template <RecurrentCellKind kKind>
Refusal WhyNot(const KernelContext& context) {
  if (!IsDeviceFloat(context.Input(kX).dtype())) return kNoDeviceFloat;
  if (context.HasInput(kPeepholes)) return "peepholes";
  const absl::StatusOr<RecurrentForm> form = ReadRecurrent(context.node(), kKind);
  if (!form.ok()) return "attributes that do not fit";
  if (form->batch_first) return "the batch in front";
  if (form->clip.has_value() || form->input_forget) return "clipped or coupled gates";
  if (!form->has_usual_activations) return "other activations";
  if (!HasOneType(context)) return "operands of different types";
  if (!FitsTogether(context, kKind, *form)) return "shapes that do not fit";
  const LayerShape shape = ShapeOf(context, kKind, *form);
  return ReadSequenceLengths(context, shape.steps, shape.batch).ok() ? nullptr : "lengths that do not fit";
}

// Returns the lengths for the device; none if all sequences have all steps.
std::vector<int32_t> LengthsForDevice(const std::vector<int64_t>& lengths, const LayerShape& shape) {
  const bool are_whole = std::count(lengths.begin(), lengths.end(), shape.steps) == shape.batch;
  return are_whole ? std::vector<int32_t>() : std::vector<int32_t>(lengths.begin(), lengths.end());
}

// Returns the address of part `index` of a tensor cut into parts of `elements` elements.
const void* PartOf(const Tensor& tensor, int64_t index, int64_t elements) {
  if (tensor.data() == nullptr) return nullptr;
  return static_cast<const std::byte*>(tensor.data()) +
         static_cast<size_t>(index * elements) * ElementBytes(tensor.dtype());
}
void* MutablePartOf(Tensor& tensor, int64_t index, int64_t elements) {
  return const_cast<void*>(PartOf(tensor, index, elements));
}

// The results of a layer, to which all directions write.
struct LayerResults {
  Tensor all;                     // [steps, directions, batch, hidden]
  Tensor last_hidden, last_cell;  // of the layer; without elements if nobody reads them
};

// Runs one direction of a layer.
class DirectionRun {
 public:
  // `lengths`: in the device's memory; null: all sequences have all steps.
  DirectionRun(KernelContext& context, RecurrentCell cell, const LayerShape& shape, int64_t direction,
               const void* lengths)
      : context_(context),
        device_(*context.resources().device),
        cell_(cell),
        shape_(shape),
        storage_(StorageOf(context.Input(kX).dtype())),
        direction_(direction),
        lengths_(static_cast<const int32_t*>(lengths)) {}

  absl::Status Run(LayerResults& results, std::string& text) {
    const int64_t width = Width(), state = shape_.batch * shape_.hidden;
    AMP_RETURN_IF_ERROR(MakeScratch());
    const Tensor& w = context_.Input(kW);
    AMP_RETURN_IF_ERROR(Multiply({context_.Input(kX).data(), shape_.steps * shape_.batch, shape_.inputs},
                                 {PartOf(w, direction_, width * shape_.inputs), width}, of_input_, text));
    const void* hidden = PartOf(context_.Input(kHidden), direction_, state);
    const void* cells = PartOf(context_.Input(kCell), direction_, state);
    device::Storage cell_storage = storage_;
    const bool is_backward = direction_ == 1 || shape_.starts_at_end;
    for (int64_t step = 0; step < shape_.steps; ++step) {
      const int64_t at = is_backward ? shape_.steps - 1 - step : step;
      void* const given = MutablePartOf(results.all, at * shape_.directions + direction_, state);
      void* const now = lengths_ == nullptr ? given : hidden_.mutable_data();
      const bool is_last = step + 1 == shape_.steps;
      device::RecurrentStepArguments arguments = {
          .of_input = static_cast<const float*>(PartOf(of_input_, at, shape_.batch * width)),
          .of_hidden = nullptr,
          .of_reset = nullptr,
          .bias = PartOf(context_.Input(kBias), direction_, 2 * width),
          .hidden_before = hidden,
          .cell_before = cells,
          .hidden_now = now,
          .given = lengths_ == nullptr ? nullptr : given,
          .cell_now = static_cast<float*>(cells_.mutable_data()),
          .last_hidden = is_last ? MutablePartOf(results.last_hidden, direction_, state) : nullptr,
          .last_cell = is_last ? MutablePartOf(results.last_cell, direction_, state) : nullptr,
          .storage = storage_,
          .cell_storage = cell_storage,
          .count = static_cast<uint32_t>(state),
          .hidden = static_cast<uint32_t>(shape_.hidden),
          .cell = cell_,
          .lengths = lengths_,
          .position = static_cast<int32_t>(at)};
      if (hidden != nullptr) AMP_RETURN_IF_ERROR(MultiplyHidden(arguments, text));
      device_.Start(arguments);
      hidden = now;
      cells = cells_.data();
      cell_storage = device::Storage::kFloat32;
    }
    return absl::OkStatus();
  }

 private:
  struct Left {
    const void* data;
    int64_t rows, size;
  };
  struct Weights {
    const void* data;
    int64_t width;  // rows of the weights, which are columns of the product
  };

  int64_t Width() const { return shape_.gates * shape_.hidden; }
  bool ResetsFirst() const { return cell_ == RecurrentCell::kGruResetFirst; }

  absl::Status MakeScratch() {
    const auto make = [&](DType dtype, Dims dims) { return context_.MakeScratch(dtype, std::move(dims)); };
    const DType dtype = context_.Input(kX).dtype();
    const Dims state = {shape_.batch, shape_.hidden};
    AMP_ASSIGN_OR_RETURN(of_input_, make(DType::kFloat32, {shape_.steps * shape_.batch, Width()}));
    AMP_ASSIGN_OR_RETURN(of_hidden_, make(DType::kFloat32, {shape_.batch, Width()}));
    AMP_ASSIGN_OR_RETURN(cells_, make(DType::kFloat32, state));
    if (lengths_ != nullptr) {
      AMP_ASSIGN_OR_RETURN(hidden_, make(dtype, state));
    }
    if (!ResetsFirst()) return absl::OkStatus();
    AMP_ASSIGN_OR_RETURN(of_reset_, make(DType::kFloat32, state));
    AMP_ASSIGN_OR_RETURN(reset_, make(dtype, state));
    return absl::OkStatus();
  }

  // Multiplies the hidden state with the weights of all gates: one product, or two if the cell resets the state first.
  absl::Status MultiplyHidden(device::RecurrentStepArguments& step, std::string& text) {
    const int64_t hidden = shape_.hidden, reset_gate = 2;
    const Tensor& r = context_.Input(kR);
    const Left state = {step.hidden_before, shape_.batch, hidden};
    const int64_t width = ResetsFirst() ? reset_gate * hidden : Width();
    AMP_RETURN_IF_ERROR(Multiply(state, {PartOf(r, direction_, Width() * hidden), width}, of_hidden_, text));
    step.of_hidden = static_cast<const float*>(of_hidden_.data());
    if (!ResetsFirst()) return absl::OkStatus();
    device_.Start(device::ResetHiddenArguments{.step = step, .reset = reset_.mutable_data()});
    const void* const weights = PartOf(r, direction_ * shape_.gates + reset_gate, hidden * hidden);
    AMP_RETURN_IF_ERROR(Multiply({reset_.data(), shape_.batch, hidden}, {weights, hidden}, of_reset_, text));
    step.of_reset = static_cast<const float*>(of_reset_.data());
    return absl::OkStatus();
  }

  // Computes y [rows, width] = x [rows, size] times the transpose of the weights.
  absl::Status Multiply(const Left& x, const Weights& weights, Tensor& y, std::string& text) {
    return device_.Multiply({.a = x.data,
                             .b = weights.data,
                             .bias = nullptr,
                             .y = y.mutable_data(),
                             .storage = storage_,
                             .y_storage = device::Storage::kFloat32,
                             .m = x.rows,
                             .n = weights.width,
                             .k = x.size,
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
  const int32_t* const lengths_;
  Tensor of_input_, of_hidden_, of_reset_;  // results of products
  Tensor cells_, reset_;
  Tensor hidden_;  // if sequences have lengths; otherwise the hidden state is in the output
};

// Returns a tensor for the output, or one without elements if nobody reads it.
absl::StatusOr<Tensor> MakeState(KernelContext& context, size_t port, const Dims& dims) {
  if (!context.HasOutput(port)) return Tensor();
  return Tensor::Create(context.Input(kX).dtype(), dims, context.memory());
}

template <RecurrentCellKind kKind>
absl::Status Recur(KernelContext& context) {
  context.Report("products and gates", DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(const RecurrentForm form, ReadRecurrent(context.node(), kKind));
  const LayerShape shape = ShapeOf(context, kKind, form);
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, ReadSequenceLengths(context, shape.steps, shape.batch));
  AMP_ASSIGN_OR_RETURN(const std::shared_ptr<const void> shared,
                       ShareList(*context.resources().device, LengthsForDevice(lengths, shape)));
  LayerResults results;
  AMP_ASSIGN_OR_RETURN(
      results.all, Tensor::Create(context.Input(kX).dtype(), {shape.steps, shape.directions, shape.batch, shape.hidden},
                                  context.memory()));
  AMP_ASSIGN_OR_RETURN(results.last_hidden, MakeState(context, kLastHidden, shape.states()));
  AMP_ASSIGN_OR_RETURN(results.last_cell, MakeState(context, kLastCell, shape.states()));
  std::string text;
  for (int64_t direction = 0; direction < shape.directions; ++direction) {
    AMP_RETURN_IF_ERROR(DirectionRun(context, CellOf(form, kKind), shape, direction, shared.get()).Run(results, text));
  }
  if (context.HasOutput(kAllHidden)) context.SetOutput(kAllHidden, std::move(results.all));
  if (context.HasOutput(kLastHidden)) context.SetOutput(kLastHidden, std::move(results.last_hidden));
  if (context.HasOutput(kLastCell)) context.SetOutput(kLastCell, std::move(results.last_cell));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    DeviceRow("LSTM", Recur<RecurrentCellKind::kLstm>, WhyNot<RecurrentCellKind::kLstm>, {kLengths}),
    DeviceRow("GRU", Recur<RecurrentCellKind::kGru>, WhyNot<RecurrentCellKind::kGru>, {kLengths}),
};

}  // namespace

absl::Span<const KernelRow> RecurrentDeviceKernels() { return kRows; }

}  // namespace amp
