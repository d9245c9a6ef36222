// RNN, GRU and LSTM in their usual forms, and com.microsoft's LSTM with quantised weights. The inputs of all steps are
// one product, the state of each step is another one, and vectorised loops compute the gates. The reference kernel
// computes peepholes, clips and other activations, and quantised layers with sequences of several lengths, as these
// share scales.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/layer_product.h"
#include "runtime/cpu/prepared.h"
#include "runtime/forms/recurrent.h"
#include "runtime/loops/best_loops.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

enum class CellKind { kRnn, kGru, kLstm, kQuantizedLstm };
constexpr size_t kX = 0, kW = 1, kR = 2, kB = 3, kInitialH = 5, kInitialC = 6, kPeepholes = 7;
constexpr size_t kScaleOfW = 8, kScaleOfR = 10;  // for quantised weights; the zero point follows each scale

bool HasCell(CellKind kind) { return kind == CellKind::kLstm || kind == CellKind::kQuantizedLstm; }

struct LayerSizes {
  int64_t steps, batch, input, hidden, gates, directions;
  int64_t gate_rows() const { return gates * hidden; }
  int64_t state() const { return batch * hidden; }
};

// Returns the kind of cell by which the reference kernel computes the node.
RecurrentCellKind FormKind(CellKind kind) {
  if (kind == CellKind::kRnn) return RecurrentCellKind::kRnn;
  return kind == CellKind::kGru ? RecurrentCellKind::kGru : RecurrentCellKind::kLstm;
}

bool IsUsual(const RecurrentForm& form) {
  return form.has_usual_activations && !form.clip.has_value() && !form.batch_first && !form.input_forget;
}

LayerSizes SizesOf(const KernelContext& context, CellKind kind, const RecurrentForm& form) {
  const Tensor &x = context.Input(kX), &r = context.Input(kR);
  const int64_t hidden = r.dim(kind == CellKind::kQuantizedLstm ? 1 : 2);
  return {x.dim(0), x.dim(1), x.dim(2), hidden, NumGates(FormKind(kind)), form.num_directions};
}

bool HasExpectedShapes(const KernelContext& context, CellKind kind, const RecurrentForm& form) {
  if (context.Input(kX).rank() != 3 || context.Input(kW).rank() != 3 || context.Input(kR).rank() != 3) return false;
  const LayerSizes sizes = SizesOf(context, kind, form);
  const auto is = [&](size_t port, const Dims& dims) {
    return !context.HasInput(port) || context.Input(port).dims() == dims;
  };
  const Dims state = {sizes.directions, sizes.batch, sizes.hidden};
  const auto weights = [&](int64_t columns) {
    return kind == CellKind::kQuantizedLstm ? Dims{sizes.directions, columns, sizes.gate_rows()}
                                            : Dims{sizes.directions, sizes.gate_rows(), columns};
  };
  return is(kW, weights(sizes.input)) && is(kR, weights(sizes.hidden)) &&
         is(kB, {sizes.directions, 2 * sizes.gate_rows()}) && is(kInitialH, state) && is(kInitialC, state) &&
         form.hidden_size.value_or(sizes.hidden) == sizes.hidden;
}

// Whether the weights are quantised, with constant scales and zero points: one per direction, or one per row of its
// gates.
bool AreQuantized(const KernelContext& context, size_t weights, size_t scale) {
  const Tensor& w = context.Input(weights);
  if (w.dtype() != DType::kInt8 && w.dtype() != DType::kUint8) return false;
  for (const size_t port : {scale, scale + 1}) {
    if (!context.HasInput(port) || !context.IsConstantInput(port)) return false;
    const Tensor& of = context.Input(port);
    if (of.dtype() != (port == scale ? DType::kFloat32 : w.dtype())) return false;
    if (of.dims() != Dims{w.dim(0)} && of.dims() != Dims{w.dim(0), w.dim(2)}) return false;
  }
  return true;
}

Refusal WhyNotQuantized(const KernelContext& context) {
  if (!onednn::OpenLibrary().library->ComputesIn(DType::kInt8)) return "the processor has no dot products of 8 bits";
  if (context.Input(kX).dtype() != DType::kFloat32) return "not float32";
  if (context.Input(kW).rank() != 3 || context.Input(kR).rank() != 3) return "shapes that do not fit";
  if (AreQuantized(context, kW, kScaleOfW) && AreQuantized(context, kR, kScaleOfR)) return {};
  return "scales or zero points of another kind";
}

template <CellKind kind>
Refusal WhyNotLayer(const KernelContext& context) {
  if (onednn::OpenLibrary().library == nullptr) return "oneDNN is not there";
  const DType dtype = context.Input(kX).dtype();
  if (!IsFloatOfLibrary(dtype)) return "not float32, float16 or bfloat16";
  constexpr bool is_quantized = kind == CellKind::kQuantizedLstm;
  if (const Refusal refusal = is_quantized ? WhyNotQuantized(context) : nullptr) return refusal;
  for (const size_t port : {kW, kR, kB, kInitialH, kInitialC}) {
    if (is_quantized && (port == kW || port == kR)) continue;
    if (context.HasInput(port) && context.Input(port).dtype() != dtype) return "inputs of several types";
  }
  if (!context.IsConstantInput(kW) || !context.IsConstantInput(kR)) return "weights that are computed";
  if (context.HasInput(kB) && !context.IsConstantInput(kB)) return "a bias that is computed";
  if (context.HasInput(kPeepholes)) return "peepholes";
  const absl::StatusOr<RecurrentForm> form = ReadRecurrent(context.node(), FormKind(kind));
  if (!form.ok() || !IsUsual(*form)) return "attributes other than usual";
  if (!HasExpectedShapes(context, kind, *form)) return "shapes that do not fit";
  const LayerSizes sizes = SizesOf(context, kind, *form);
  const absl::StatusOr<std::vector<int64_t>> lengths = ReadSequenceLengths(context, sizes.steps, sizes.batch);
  if (!lengths.ok()) return "lengths that do not fit";
  const auto is_whole = [&](int64_t length) { return length == sizes.steps; };
  if (is_quantized && !std::all_of(lengths->begin(), lengths->end(), is_whole)) return "sequences of several lengths";
  return sizes.steps * sizes.batch * sizes.input * sizes.hidden == 0 ? "no elements" : nullptr;
}

int64_t Padded(int64_t count) {
  constexpr auto kGranule = static_cast<int64_t>(kVectorGranule);
  return (count + kGranule - 1) / kGranule * kGranule;
}

struct PreparedLayer : PreparedOperation {
  // from_reset: for GRU whose reset gate comes before the product; else null.
  std::unique_ptr<LayerProduct> from_x, from_h, from_reset;
  bool resets_before = false;
};

struct ProductPart {
  int64_t rows, columns;          // of the left side
  int64_t first_gate, num_gates;  // of W or R
};

class LayerMaker {
 public:
  LayerMaker(const KernelContext& context, CellKind kind, const RecurrentForm& form)
      : context_(context), sizes_(SizesOf(context, kind, form)), kind_(kind), form_(form) {}

  PreparedOperations::Made Make() {
    auto layer = std::make_shared<PreparedLayer>();
    layer->resets_before = kind_ == CellKind::kGru && !form_.linear_before_reset;
    AMP_RETURN_IF_ERROR(ReadBiases(!layer->resets_before));
    const int64_t gates_of_h = layer->resets_before ? 2 : sizes_.gates;
    const ProductPart of_x = {sizes_.steps * sizes_.batch, sizes_.input, 0, sizes_.gates},
                      of_h = {sizes_.batch, sizes_.hidden, 0, gates_of_h};
    if (kind_ == CellKind::kQuantizedLstm) {
      AMP_ASSIGN_OR_RETURN(layer->from_x, MakeQuantized(kW, kScaleOfW, of_x, x_bias_));
      AMP_ASSIGN_OR_RETURN(layer->from_h, MakeQuantized(kR, kScaleOfR, of_h, h_bias_));
      return layer;
    }
    AMP_ASSIGN_OR_RETURN(layer->from_x, MakeFloat(kW, of_x, x_bias_));
    AMP_ASSIGN_OR_RETURN(layer->from_h, MakeFloat(kR, of_h, h_bias_));
    if (layer->resets_before) {
      AMP_ASSIGN_OR_RETURN(layer->from_reset, MakeFloat(kR, {sizes_.batch, sizes_.hidden, 2, 1}, {}));
    }
    return layer;
  }

 private:
  using Biases = std::vector<std::vector<float>>;  // one vector per direction, or none

  // Sums the biases of both products into the first product's bias. A GRU that resets after its product keeps the
  // state's bias of the candidate apart, as it is reset together with that product.
  absl::Status ReadBiases(bool resets_after) {
    if (!context_.HasInput(kB)) return absl::OkStatus();
    AMP_ASSIGN_OR_RETURN(const Tensor b, Converted(context_.Input(kB), DType::kFloat32, nullptr));
    const auto rows = static_cast<size_t>(sizes_.gate_rows());
    const size_t kept = kind_ == CellKind::kGru && resets_after ? static_cast<size_t>(sizes_.hidden) : 0;
    for (size_t direction = 0; direction < static_cast<size_t>(sizes_.directions); ++direction) {
      const auto of_x = b.elements<float>().subspan(2 * direction * rows, rows);
      const auto of_h = b.elements<float>().subspan((2 * direction + 1) * rows, rows);
      std::vector<float> sum(of_x.begin(), of_x.end()), rest(rows, 0.0f);
      for (size_t i = 0; i < rows; ++i) (i < rows - kept ? sum : rest)[i] += of_h[i];
      x_bias_.push_back(std::move(sum));
      if (kept > 0) h_bias_.push_back(std::move(rest));
    }
    return absl::OkStatus();
  }

  static absl::Span<const float> BiasOf(const Biases& biases, size_t direction) {
    return biases.empty() ? absl::Span<const float>() : absl::MakeConstSpan(biases[direction]);
  }

  MadeLayerProduct MakeFloat(size_t port, const ProductPart& part, const Biases& biases) const {
    const LayerProductSizes sizes = {part.rows, part.columns, part.num_gates * sizes_.hidden};
    std::vector<size_t> firsts;
    std::vector<absl::Span<const float>> of_directions;
    for (int64_t direction = 0; direction < sizes_.directions; ++direction) {
      const int64_t first_gate = direction * sizes_.gates + part.first_gate;
      firsts.push_back(static_cast<size_t>(first_gate * sizes_.hidden * part.columns));
      if (!biases.empty()) of_directions.push_back(BiasOf(biases, static_cast<size_t>(direction)));
    }
    const Tensor& stored = context_.Input(port);
    if (ReadsStoredWeights(sizes, stored.dtype())) {
      return MakeStoredProduct(sizes, stored, std::move(firsts), of_directions);
    }
    AMP_ASSIGN_OR_RETURN(const Tensor all, Converted(stored, DType::kFloat32, nullptr));
    std::vector<FloatWeights> directions;
    for (const size_t first : firsts) {
      directions.push_back(
          {.w = all.elements<float>().subspan(first, static_cast<size_t>(sizes.outputs * sizes.inputs)),
           .bias = BiasOf(biases, directions.size())});
    }
    return MakeFloatProduct(sizes, directions);
  }

  // Returns a direction's scales or zero points, one per output, as numbers of `To`.
  template <typename To, typename T>
  std::vector<To> ByOutput(const Tensor& all, int64_t direction) const {
    const auto elements = all.elements<T>();
    const auto outputs = static_cast<size_t>(sizes_.gate_rows()), at = static_cast<size_t>(direction);
    if (all.rank() == 1) return std::vector<To>(outputs, elements[at]);
    const auto part = elements.subspan(at * outputs, outputs);
    return {part.begin(), part.end()};
  }

  MadeLayerProduct MakeQuantized(size_t port, size_t scale_port, const ProductPart& part, const Biases& biases) const {
    const Tensor &all = context_.Input(port), &zeros = context_.Input(scale_port + 1);
    const auto size = static_cast<size_t>(part.columns * sizes_.gate_rows());
    std::vector<QuantizedWeights> directions;
    for (int64_t direction = 0; direction < sizes_.directions; ++direction) {
      QuantizedWeights& weights = directions.emplace_back();
      AMP_ASSIGN_OR_RETURN(weights.w, Tensor::Create(all.dtype(), {part.columns, sizes_.gate_rows()}));
      const auto bytes = all.bytes().subspan(static_cast<size_t>(direction) * size, size);
      std::copy(bytes.begin(), bytes.end(), weights.w.mutable_bytes().begin());
      weights.scales = ByOutput<float, float>(context_.Input(scale_port), direction);
      weights.zero_points = zeros.dtype() == DType::kInt8 ? ByOutput<int32_t, int8_t>(zeros, direction)
                                                          : ByOutput<int32_t, uint8_t>(zeros, direction);
      weights.bias = BiasOf(biases, static_cast<size_t>(direction));
    }
    return MakeQuantizedProduct({part.rows, part.columns, sizes_.gate_rows()}, std::move(directions));
  }

  const KernelContext& context_;
  const LayerSizes sizes_;
  const CellKind kind_;
  const RecurrentForm& form_;
  Biases x_bias_, h_bias_;
};

// Computes the steps of one direction. All arrays are float32. `gates` holds a step's sums, which become its gates.
class LayerRun {
 public:
  LayerRun(const PreparedLayer& layer, const LayerSizes& sizes, size_t direction, void* scratch)
      : layer_(layer), sizes_(sizes), direction_(direction), scratch_(scratch), loops_(BestLoops()) {}

  absl::Status Multiply(const LayerProduct& product, const float* a, float* y) const {
    return product.Run(direction_, a, y, scratch_);
  }

  // The product of x for each sequence of the batch, [gate_rows]; null: the sequence has ended, and its state stays.
  using Gates = absl::Span<float* const>;
  // from_h[batch, gate_rows]; h, c [batch, hidden] are the state.
  absl::Status Step(CellKind kind, Gates from_x, float* from_h, float* h, float* c) const {
    AMP_RETURN_IF_ERROR(Multiply(*layer_.from_h, h, from_h));
    const auto n = static_cast<size_t>(sizes_.hidden), rows = static_cast<size_t>(sizes_.gate_rows());
    if (layer_.resets_before) return GruResetBefore(from_x, from_h, h);
    for (size_t sequence = 0; sequence < static_cast<size_t>(sizes_.batch); ++sequence) {
      float *gates = from_x[sequence], *part = from_h + sequence * rows;
      if (gates == nullptr) continue;
      float *state = h + sequence * n, *cell = c == nullptr ? nullptr : c + sequence * n;
      if (kind == CellKind::kRnn) Rnn(gates, part, state);
      if (kind == CellKind::kGru) Gru(gates, part, state);
      if (HasCell(kind)) Lstm(gates, part, {state, cell});
    }
    return absl::OkStatus();
  }

 private:
  struct State {
    float *h, *c;
  };

  void Rnn(float* gates, const float* from_h, float* h) const {
    const auto n = static_cast<size_t>(sizes_.hidden);
    loops_.binary.add.of_both(gates, from_h, gates, n);
    loops_.unary.tanh(gates, h, n, {});
  }

  // The gates are i, o, f, c.
  void Lstm(float* gates, const float* from_h, State state) const {
    const auto n = static_cast<size_t>(sizes_.hidden);
    loops_.binary.add.of_both(gates, from_h, gates, 4 * n);
    loops_.unary.sigmoid(gates, gates, 3 * n, {});
    float *in = gates, *out = gates + n, *forget = gates + 2 * n, *candidate = gates + 3 * n;
    loops_.unary.tanh(candidate, candidate, n, {});
    loops_.binary.multiply.of_both(forget, state.c, state.c, n);
    loops_.binary.multiply.of_both(in, candidate, candidate, n);
    loops_.binary.add.of_both(state.c, candidate, state.c, n);
    loops_.unary.tanh(state.c, candidate, n, {});
    loops_.binary.multiply.of_both(out, candidate, state.h, n);
  }

  // Computes h = (1 - z) * candidate + z * h as candidate + z * (h - candidate).
  void Mix(const float* z, const float* candidate, float* h) const {
    const auto n = static_cast<size_t>(sizes_.hidden);
    loops_.binary.subtract.of_both(h, candidate, h, n);
    loops_.binary.multiply.of_both(h, z, h, n);
    loops_.binary.add.of_both(h, candidate, h, n);
  }

  // The gates are z, r, h.
  void Gru(float* gates, float* from_h, float* h) const {
    const auto n = static_cast<size_t>(sizes_.hidden);
    loops_.binary.add.of_both(gates, from_h, gates, 2 * n);
    loops_.unary.sigmoid(gates, gates, 2 * n, {});
    float *reset = gates + n, *candidate = gates + 2 * n, *of_state = from_h + 2 * n;
    loops_.binary.multiply.of_both(reset, of_state, of_state, n);
    loops_.binary.add.of_both(candidate, of_state, candidate, n);
    loops_.unary.tanh(candidate, candidate, n, {});
    Mix(gates, candidate, h);
  }

  // from_h holds the sums of z and r of all sequences, [batch, 2 * hidden]. The product with the reset state overwrites
  // it.
  absl::Status GruResetBefore(Gates from_x, float* from_h, float* h) const {
    const auto n = static_cast<size_t>(sizes_.hidden), batch = static_cast<size_t>(sizes_.batch);
    const std::vector<float> old(h, h + batch * n);
    for (size_t sequence = 0; sequence < batch; ++sequence) {
      float* gates = from_x[sequence];
      if (gates == nullptr) continue;
      loops_.binary.add.of_both(gates, from_h + sequence * 2 * n, gates, 2 * n);
      loops_.unary.sigmoid(gates, gates, 2 * n, {});
      loops_.binary.multiply.of_both(gates + n, h + sequence * n, h + sequence * n, n);
    }
    AMP_RETURN_IF_ERROR(Multiply(*layer_.from_reset, h, from_h));
    std::copy(old.begin(), old.end(), h);
    for (size_t sequence = 0; sequence < batch; ++sequence) {
      float* gates = from_x[sequence];
      if (gates == nullptr) continue;
      float* candidate = gates + 2 * n;
      loops_.binary.add.of_both(candidate, from_h + sequence * n, candidate, n);
      loops_.unary.tanh(candidate, candidate, n, {});
      Mix(gates, candidate, h + sequence * n);
    }
    return absl::OkStatus();
  }

  const PreparedLayer& layer_;
  const LayerSizes& sizes_;
  const size_t direction_;
  void* scratch_;
  const Loops& loops_;
};

// Returns the initial state of the layer in float32, zeros if the input is absent. The steps turn it into the final
// state.
absl::StatusOr<Tensor> ReadState(const KernelContext& context, size_t port, const LayerSizes& sizes) {
  AMP_ASSIGN_OR_RETURN(Tensor state,
                       context.MakeScratch(DType::kFloat32, {sizes.directions, sizes.batch, sizes.hidden}));
  const auto elements = state.mutable_elements<float>();
  if (context.HasInput(port)) {
    ConvertInto(context.Input(port), state);
  } else {
    std::fill(elements.begin(), elements.end(), 0.0f);
  }
  return state;
}

absl::Status WriteOutput(KernelContext& context, size_t port, const Tensor& result) {
  if (!context.HasOutput(port)) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(Tensor * output, context.MakeOutput(port, context.Input(kX).dtype(), result.dims()));
  ConvertInto(result, *output);
  return absl::OkStatus();
}

// Returns the position in a sequence that step `i` of a direction reads; -1: the sequence has ended.
int64_t StepOf(int64_t length, int64_t i, bool is_reversed) {
  if (i >= length) return -1;
  return is_reversed ? length - 1 - i : i;
}

size_t ScratchBytes(const PreparedLayer& layer) {
  size_t bytes = 0;
  for (const auto* product : {&layer.from_x, &layer.from_h, &layer.from_reset}) {
    if (*product != nullptr) bytes = std::max(bytes, (*product)->scratch_bytes());
  }
  return bytes;
}

template <CellKind kind>
absl::Status Layer(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const RecurrentForm form, ReadRecurrent(context.node(), FormKind(kind)));
  const LayerSizes sizes = SizesOf(context, kind, form);
  std::vector<int64_t> key = {sizes.steps, sizes.batch};
  AMP_ASSIGN_OR_RETURN(const auto prepared, context.State<PreparedOperations>().Get(
                                                key, [&] { return LayerMaker(context, kind, form).Make(); }));
  const auto& layer = static_cast<const PreparedLayer&>(*prepared);
  AMP_ASSIGN_OR_RETURN(const Tensor x, Converted(context.Input(kX), DType::kFloat32, context.memory()));
  AMP_ASSIGN_OR_RETURN(Tensor scratch, context.MakeScratch(DType::kUint8, {static_cast<int64_t>(ScratchBytes(layer))}));
  AMP_ASSIGN_OR_RETURN(Tensor gates,
                       context.MakeScratch(DType::kFloat32, {Padded(sizes.steps * sizes.batch * sizes.gate_rows())}));
  AMP_ASSIGN_OR_RETURN(Tensor from_h, context.MakeScratch(DType::kFloat32, {Padded(sizes.batch * sizes.gate_rows())}));
  AMP_ASSIGN_OR_RETURN(Tensor h, ReadState(context, kInitialH, sizes));
  Tensor c;
  if (HasCell(kind)) {
    AMP_ASSIGN_OR_RETURN(c, ReadState(context, kInitialC, sizes));
  }
  AMP_ASSIGN_OR_RETURN(
      Tensor y, context.MakeScratch(DType::kFloat32, {sizes.steps, sizes.directions, sizes.batch, sizes.hidden}));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, ReadSequenceLengths(context, sizes.steps, sizes.batch));
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  if (*std::min_element(lengths.begin(), lengths.end()) < sizes.steps) {
    std::fill_n(y.mutable_elements<float>().data(), y.num_elements(), 0.0f);
  }
  std::vector<float*> of_step(lengths.size());
  for (int64_t direction = 0; direction < sizes.directions; ++direction) {
    const LayerRun run(layer, sizes, static_cast<size_t>(direction), scratch.mutable_bytes().data());
    float* all_gates = gates.mutable_elements<float>().data();
    AMP_RETURN_IF_ERROR(run.Multiply(*layer.from_x, x.elements<float>().data(), all_gates));
    float* state = h.mutable_elements<float>().data() + direction * sizes.state();
    float* cell = HasCell(kind) ? c.mutable_elements<float>().data() + direction * sizes.state() : nullptr;
    const bool is_reversed = form.starts_reversed || direction == 1;
    for (int64_t i = 0; i < longest; ++i) {
      for (int64_t sequence = 0; sequence < sizes.batch; ++sequence) {
        const int64_t step = StepOf(lengths[static_cast<size_t>(sequence)], i, is_reversed);
        of_step[static_cast<size_t>(sequence)] =
            step < 0 ? nullptr : all_gates + (step * sizes.batch + sequence) * sizes.gate_rows();
      }
      AMP_RETURN_IF_ERROR(run.Step(kind, of_step, from_h.mutable_elements<float>().data(), state, cell));
      for (int64_t sequence = 0; sequence < sizes.batch; ++sequence) {
        const int64_t step = StepOf(lengths[static_cast<size_t>(sequence)], i, is_reversed);
        if (step < 0) continue;
        std::copy_n(state + sequence * sizes.hidden, sizes.hidden,
                    y.mutable_elements<float>().data() + (step * sizes.directions + direction) * sizes.state() +
                        sequence * sizes.hidden);
      }
    }
  }
  context.Report(layer.from_x->implementation(), DType::kFloat32);
  AMP_RETURN_IF_ERROR(WriteOutput(context, 0, y));
  AMP_RETURN_IF_ERROR(WriteOutput(context, 1, h));
  return HasCell(kind) ? WriteOutput(context, 2, c) : absl::OkStatus();
}

template <CellKind kind>
constexpr KernelRow RowOf(absl::string_view op_type, absl::string_view domain = "") {
  return {.op_type = op_type,
          .function = Layer<kind>,
          .domain = domain,
          .first_version = domain.empty() ? 7 : 1,
          .refusal = WhyNotLayer<kind>,
          .family = "onednn"};
}

constexpr KernelRow kRows[] = {
    RowOf<CellKind::kRnn>("RNN"),
    RowOf<CellKind::kGru>("GRU"),
    RowOf<CellKind::kLstm>("LSTM"),
    RowOf<CellKind::kQuantizedLstm>("DynamicQuantizeLSTM", "com.microsoft"),
};

}  // namespace

absl::Span<const KernelRow> LibraryRecurrentKernels() { return kRows; }

}  // namespace amp
