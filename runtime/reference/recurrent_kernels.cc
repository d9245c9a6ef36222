// Recurrent layers: RNN, GRU and LSTM of every version, and com.microsoft's LSTM with quantised weights.
//
// The layers differ in one step of one sequence of one direction (RnnStep, GruStep, LstmStep). RunLayer does all else:
// directions, lengths, layouts and the outputs. Sequences of a batch are independent of each other, unless the layer
// quantises its operands, which have one scale for all of them.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "runtime/forms/recurrent.h"
#include "runtime/kernel/doubles.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"
#include "runtime/reference/quantized.h"

namespace amp {
namespace {

struct Layer {
  RecurrentForm form;
  size_t num_steps = 0, batch = 0, input_size = 0, hidden_size = 0, num_directions = 0, num_gates = 0;
  std::vector<double> x;          // [batch, input_size] per step, or [num_steps, input_size] per sequence: batch_first
  std::vector<double> w, r;       // [num_directions, num_gates * hidden_size, input_size / hidden_size]
  std::vector<double> b;          // [num_directions, 2, num_gates * hidden_size]
  std::vector<double> peepholes;  // [num_directions, 3, hidden_size], gates i, o, f
  std::vector<int64_t> lengths;   // [batch]
  std::vector<double> h, c;       // the state; as the input that it starts from
  bool quantizes_state = false;   // of each step, ahead of the product with R

  size_t gate_rows() const { return num_gates * hidden_size; }
  size_t StateAt(size_t direction, size_t sequence) const {
    return (form.batch_first ? sequence * num_directions + direction : direction * batch + sequence) * hidden_size;
  }
  size_t InputAt(size_t step, size_t sequence) const {
    return (form.batch_first ? sequence * num_steps + step : step * batch + sequence) * input_size;
  }
  size_t OutputAt(size_t step, size_t direction, size_t sequence) const {
    return (form.batch_first ? (sequence * num_steps + step) * num_directions + direction
                             : (step * num_directions + direction) * batch + sequence) *
           hidden_size;
  }
};

// One direction's part of a layer, and what its steps write to.
struct Pass {
  const Layer& layer;
  absl::Span<const double> w, r, w_bias, r_bias, peepholes;
  absl::Span<const RecurrentActivation> activations;
  std::vector<double> from_x, from_h;  // [num_gates * hidden_size]: W x + Wb, R h + Rb

  Pass(const Layer& of, size_t direction)
      : layer(of),
        w(Part(of.w, direction, of.num_directions)),
        r(Part(of.r, direction, of.num_directions)),
        w_bias(Part(of.b, 2 * direction, 2 * of.num_directions)),
        r_bias(Part(of.b, 2 * direction + 1, 2 * of.num_directions)),
        peepholes(Part(of.peepholes, direction, of.num_directions)),
        activations(absl::MakeSpan(of.form.activations)
                        .subspan(direction * of.form.activations.size() / of.num_directions,
                                 of.form.activations.size() / of.num_directions)),
        from_x(of.gate_rows()),
        from_h(of.gate_rows()) {}

  // A gate: a function of the pass (0 is f, 1 is g) of a clipped sum.
  double Activate(size_t function, double x) const {
    return activations[function](layer.form.clip ? std::clamp(x, -*layer.form.clip, *layer.form.clip) : x);
  }

 private:
  static absl::Span<const double> Part(const std::vector<double>& all, size_t part, size_t num_parts) {
    return absl::MakeSpan(all).subspan(part * (all.size() / num_parts), all.size() / num_parts);
  }
};

// out[i] = bias[i] + matrix[i] . vector, for rows [first, last).
void MultiplyRows(absl::Span<const double> matrix, absl::Span<const double> vector, absl::Span<const double> bias,
                  size_t first, size_t last, absl::Span<double> out) {
  for (size_t i = first; i < last; ++i) {
    const double* row = matrix.data() + i * vector.size();
    double sum = bias[i];
    for (size_t j = 0; j < vector.size(); ++j) sum += row[j] * vector[j];
    out[i] = sum;
  }
}

using Step = void (*)(const Pass& pass, absl::Span<double> h, absl::Span<double> c);

void RnnStep(const Pass& pass, absl::Span<double> h, absl::Span<double> /*c*/) {
  for (size_t i = 0; i < h.size(); ++i) h[i] = pass.Activate(0, pass.from_x[i] + pass.from_h[i]);
}

// Gates z, r, h.
void GruStep(const Pass& pass, absl::Span<double> h, absl::Span<double> /*c*/) {
  const size_t n = h.size();
  const auto gate = [&](size_t i) { return pass.Activate(0, pass.from_x[i] + pass.from_h[i]); };
  std::vector<double> hidden(pass.from_h);  // the part of gate h that comes from the state
  if (pass.layer.form.linear_before_reset) {
    for (size_t i = 0; i < n; ++i) hidden[2 * n + i] *= gate(n + i);
  } else {
    std::vector<double> reset(h.begin(), h.end());
    for (size_t i = 0; i < n; ++i) reset[i] *= gate(n + i);
    MultiplyRows(pass.r, reset, pass.r_bias, 2 * n, 3 * n, absl::MakeSpan(hidden));
  }
  for (size_t i = 0; i < n; ++i) {
    const double z = gate(i);
    h[i] = (1 - z) * pass.Activate(1, pass.from_x[2 * n + i] + hidden[2 * n + i]) + z * h[i];
  }
}

// Gates i, o, f, c.
void LstmStep(const Pass& pass, absl::Span<double> h, absl::Span<double> c) {
  const size_t n = h.size();
  const auto sum = [&](size_t gate, size_t i) { return pass.from_x[gate * n + i] + pass.from_h[gate * n + i]; };
  const auto peep = [&](size_t gate, size_t i) {
    return pass.peepholes.empty() ? 0 : pass.peepholes[gate * n + i] * c[i];
  };
  for (size_t i = 0; i < n; ++i) {
    const double in = pass.Activate(0, sum(0, i) + peep(0, i));
    const double forget = pass.layer.form.input_forget ? 1 - in : pass.Activate(0, sum(2, i) + peep(2, i));
    c[i] = forget * c[i] + in * pass.Activate(1, sum(3, i));
    const double out = pass.Activate(0, sum(1, i) + peep(1, i));  // sees the new cell
    h[i] = out * pass.activations[2](c[i]);  // the cell is no sum of a gate: it is not clipped, as in ONNX Runtime
  }
}

// A direction's state as the product with R of step `i` reads it. As in ONNX Runtime, that of a sequence counts for the
// scale until the step behind its last one, and is zero from then on.
std::vector<double> StateForProduct(const Layer& layer, size_t direction, size_t i) {
  std::vector<double> all(layer.batch * layer.hidden_size, 0.0);
  for (size_t sequence = 0; sequence < layer.batch; ++sequence) {
    if (static_cast<size_t>(layer.lengths[sequence]) < i) continue;
    const auto h = absl::MakeSpan(layer.h).subspan(layer.StateAt(direction, sequence), layer.hidden_size);
    std::copy(h.begin(), h.end(), all.begin() + static_cast<ptrdiff_t>(sequence * layer.hidden_size));
  }
  if (layer.quantizes_state) RoundToQuantized(absl::MakeSpan(all));
  return all;
}

// Steps beyond a sequence's length give zeros, and leave its state as it is.
std::vector<double> RunLayer(Layer& layer, Step step) {
  const size_t n = layer.hidden_size;
  std::vector<double> y(layer.num_steps * layer.num_directions * layer.batch * n);
  if (n == 0) return y;
  for (size_t direction = 0; direction < layer.num_directions; ++direction) {
    const bool reversed = layer.form.starts_reversed || direction == 1;
    Pass pass(layer, direction);
    for (size_t i = 0; i < layer.num_steps; ++i) {
      const std::vector<double> state = StateForProduct(layer, direction, i);
      for (size_t sequence = 0; sequence < layer.batch; ++sequence) {
        const auto length = static_cast<size_t>(layer.lengths[sequence]);
        if (i >= length) continue;
        const size_t state_at = layer.StateAt(direction, sequence);
        const auto h = absl::MakeSpan(layer.h).subspan(state_at, n);
        const auto c = layer.c.empty() ? absl::Span<double>() : absl::MakeSpan(layer.c).subspan(state_at, n);
        const size_t at = reversed ? length - 1 - i : i;
        const auto x = absl::MakeConstSpan(layer.x).subspan(layer.InputAt(at, sequence), layer.input_size);
        MultiplyRows(pass.w, x, pass.w_bias, 0, layer.gate_rows(), absl::MakeSpan(pass.from_x));
        MultiplyRows(pass.r, absl::MakeConstSpan(state).subspan(sequence * n, n), pass.r_bias, 0, layer.gate_rows(),
                     absl::MakeSpan(pass.from_h));
        step(pass, h, c);
        std::copy(h.begin(), h.end(), y.begin() + static_cast<ptrdiff_t>(layer.OutputAt(at, direction, sequence)));
      }
    }
  }
  return y;
}

// The input's elements; zeros where it is absent. Errors: another shape than expected.
absl::StatusOr<std::vector<double>> ReadInput(const KernelContext& context, size_t port, const Dims& expected) {
  if (!context.HasInput(port)) {
    AMP_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Create(DType::kFloat64, expected));
    return std::vector<double>(static_cast<size_t>(zeros.num_elements()), 0.0);
  }
  const Tensor& tensor = context.Input(port);
  if (tensor.dims() != expected) {
    return ModelError("input ", port, ": expected shape ", DimsText(expected), ", found ", tensor.TypeText());
  }
  return ReadDoubles(tensor);
}

// All but the weights. `hidden`: as R has it.
absl::StatusOr<Layer> ReadLayer(const KernelContext& context, RecurrentCellKind kind, int64_t hidden) {
  Layer layer;
  AMP_ASSIGN_OR_RETURN(layer.form, ReadRecurrent(context.node(), kind));
  const Tensor& x = context.Input(0);
  if (x.rank() != 3) return ModelError("X: expected 3 dimensions, found ", x.TypeText());
  const int64_t directions = layer.form.num_directions, gates = NumGates(kind);
  const int64_t input = x.dim(2);
  const int64_t batch = x.dim(layer.form.batch_first ? 0 : 1), num_steps = x.dim(layer.form.batch_first ? 1 : 0);
  for (const int64_t dim : {hidden, input, batch, num_steps}) {
    if (dim > kMaxElements) return LimitError("expected dimensions of at most ", kMaxElements, ", found ", dim);
  }
  if (layer.form.hidden_size.value_or(hidden) != hidden) {
    return ModelError("expected hidden_size ", hidden, " as R has it, found ", *layer.form.hidden_size);
  }
  const Dims state = layer.form.batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  AMP_ASSIGN_OR_RETURN(layer.x, ReadDoubles(x));
  AMP_ASSIGN_OR_RETURN(layer.b, ReadInput(context, 3, {directions, 2 * gates * hidden}));
  AMP_ASSIGN_OR_RETURN(layer.h, ReadInput(context, 5, state));
  layer.num_steps = static_cast<size_t>(num_steps);
  layer.batch = static_cast<size_t>(batch);
  layer.input_size = static_cast<size_t>(input);
  layer.hidden_size = static_cast<size_t>(hidden);
  layer.num_directions = static_cast<size_t>(directions);
  layer.num_gates = static_cast<size_t>(gates);
  AMP_ASSIGN_OR_RETURN(layer.lengths, ReadSequenceLengths(context, num_steps, batch));
  return layer;
}

// With weights W and R, [num_directions, num_gates * hidden_size, input_size / hidden_size].
absl::StatusOr<Layer> ReadLayer(const KernelContext& context, RecurrentCellKind kind) {
  const Tensor& r = context.Input(2);
  if (r.rank() != 3) return ModelError("R: expected 3 dimensions, found ", r.TypeText());
  AMP_ASSIGN_OR_RETURN(Layer layer, ReadLayer(context, kind, r.dim(2)));
  const auto directions = static_cast<int64_t>(layer.num_directions), rows = static_cast<int64_t>(layer.gate_rows());
  AMP_ASSIGN_OR_RETURN(layer.w, ReadInput(context, 1, {directions, rows, context.Input(0).dim(2)}));
  AMP_ASSIGN_OR_RETURN(layer.r, ReadInput(context, 2, {directions, rows, r.dim(2)}));
  return layer;
}

absl::Status WriteState(KernelContext& context, size_t port, const Layer& layer, absl::Span<const double> state) {
  const auto directions = static_cast<int64_t>(layer.num_directions), batch = static_cast<int64_t>(layer.batch),
             hidden = static_cast<int64_t>(layer.hidden_size);
  const Dims dims = layer.form.batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  AMP_ASSIGN_OR_RETURN(Tensor * output, context.MakeOutput(port, context.Input(0).dtype(), dims));
  return WriteDoubles(state, *output);
}

absl::Status Compute(KernelContext& context, Layer& layer, Step step) {
  const auto directions = static_cast<int64_t>(layer.num_directions), hidden = static_cast<int64_t>(layer.hidden_size);
  const Dims& x = context.Input(0).dims();
  const Dims dims =
      layer.form.batch_first ? Dims{x[0], x[1], directions, hidden} : Dims{x[0], directions, x[1], hidden};
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, context.Input(0).dtype(), dims));
  AMP_RETURN_IF_ERROR(WriteDoubles(RunLayer(layer, step), *y));
  return WriteState(context, 1, layer, layer.h);
}

absl::Status Rnn(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Layer layer, ReadLayer(context, RecurrentCellKind::kRnn));
  return Compute(context, layer, RnnStep);
}

absl::Status Gru(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Layer layer, ReadLayer(context, RecurrentCellKind::kGru));
  return Compute(context, layer, GruStep);
}

absl::Status RunLstm(KernelContext& context, Layer& layer) {
  constexpr size_t kInitialC = 6, kPeepholes = 7;
  const auto directions = static_cast<int64_t>(layer.num_directions), batch = static_cast<int64_t>(layer.batch),
             hidden = static_cast<int64_t>(layer.hidden_size);
  const Dims state = layer.form.batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  AMP_ASSIGN_OR_RETURN(layer.c, ReadInput(context, kInitialC, state));
  if (context.HasInput(kPeepholes)) {
    AMP_ASSIGN_OR_RETURN(layer.peepholes, ReadInput(context, kPeepholes, {directions, 3 * hidden}));
  }
  AMP_RETURN_IF_ERROR(Compute(context, layer, LstmStep));
  return WriteState(context, 2, layer, layer.c);
}

absl::Status Lstm(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Layer layer, ReadLayer(context, RecurrentCellKind::kLstm));
  return RunLstm(context, layer);
}

// ---- quantised weights ----------------------------------------------------------------------------------------------

// Scales or zero points: one for each direction, [num_directions], or for each of its gates' rows,
// [num_directions, rows]; as the latter.
absl::StatusOr<std::vector<double>> ReadByRow(const KernelContext& context, size_t port, size_t directions,
                                              size_t rows) {
  const auto all = static_cast<int64_t>(directions), of_each = static_cast<int64_t>(rows);
  const Tensor& tensor = context.Input(port);
  AMP_ASSIGN_OR_RETURN(std::vector<double> numbers, ReadDoubles(tensor));
  if (tensor.dims() == Dims{all, of_each}) return numbers;
  if (tensor.dims() != Dims{all}) {
    return ModelError("input ", port, ": expected shape ", DimsText({all}), " or ", DimsText({all, of_each}),
                      ", found ", tensor.TypeText());
  }
  std::vector<double> by_row;
  for (const double number : numbers) by_row.insert(by_row.end(), rows, number);
  return by_row;
}

// Weights [num_directions, columns, rows] of 8 bits, as what they stand for, [num_directions, rows, columns].
absl::StatusOr<std::vector<double>> ReadQuantizedWeights(const KernelContext& context, const Layer& layer, size_t port,
                                                         size_t columns, size_t scale_port) {
  const size_t directions = layer.num_directions, rows = layer.gate_rows();
  AMP_ASSIGN_OR_RETURN(
      const std::vector<double> numbers,
      ReadInput(context, port,
                {static_cast<int64_t>(directions), static_cast<int64_t>(columns), static_cast<int64_t>(rows)}));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> scales, ReadByRow(context, scale_port, directions, rows));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> zeros, ReadByRow(context, scale_port + 1, directions, rows));
  std::vector<double> weights(numbers.size());
  for (size_t direction = 0; direction < directions; ++direction) {
    for (size_t column = 0; column < columns; ++column) {
      for (size_t row = 0; row < rows; ++row) {
        const size_t at = direction * rows + row;
        weights[at * columns + column] =
            (numbers[(direction * columns + column) * rows + row] - zeros[at]) * scales[at];
      }
    }
  }
  return weights;
}

// com.microsoft: X, and the state of each step, are quantised to uint8 on the way.
absl::Status DynamicQuantizeLstm(KernelContext& context) {
  constexpr size_t kScaleOfW = 8, kScaleOfR = 10;
  const Tensor& r = context.Input(2);
  if (r.rank() != 3) return ModelError("R: expected 3 dimensions, found ", r.TypeText());
  AMP_ASSIGN_OR_RETURN(Layer layer, ReadLayer(context, RecurrentCellKind::kLstm, r.dim(1)));
  if (layer.form.batch_first) return ModelError("expected layout 0, found 1");
  AMP_ASSIGN_OR_RETURN(layer.w, ReadQuantizedWeights(context, layer, 1, layer.input_size, kScaleOfW));
  AMP_ASSIGN_OR_RETURN(layer.r, ReadQuantizedWeights(context, layer, 2, layer.hidden_size, kScaleOfR));
  const auto longest = std::max_element(layer.lengths.begin(), layer.lengths.end());
  const size_t num_steps = longest == layer.lengths.end() ? 0 : static_cast<size_t>(*longest);
  RoundToQuantized(absl::MakeSpan(layer.x).first(num_steps * layer.batch * layer.input_size));
  layer.quantizes_state = true;
  return RunLstm(context, layer);
}

constexpr KernelRow kRows[] = {
    {"RNN", Rnn},
    {"GRU", Gru},
    {"LSTM", Lstm},
    {"DynamicQuantizeLSTM", DynamicQuantizeLstm, "com.microsoft"},
};

}  // namespace

absl::Span<const KernelRow> RecurrentKernels() { return kRows; }

}  // namespace amp
