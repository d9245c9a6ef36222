// Scan: a loop over the elements of tensors along an axis. Version 8 has a batch in front: each of its samples, which
// may be of different lengths, is a loop of its own.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"
#include "runtime/reference/join.h"
#include "runtime/reference/stack.h"

namespace amp {
namespace {

// The body's inputs are the states and an element of every scan input; its outputs the states and an element of every
// scan output.
struct ScanBody {
  GraphId graph;
  size_t states = 0, scan_inputs = 0, scan_outputs = 0;
};

// `first`: the port of the first state.
absl::StatusOr<ScanBody> FindScanBody(const KernelContext& context, size_t first) {
  ScanBody body{.graph = context.Body("body")};
  if (body.graph == kNone) return ModelError("expected a body, found none");
  const Graph& graph = context.model().graph(body.graph);
  const size_t inputs = std::max(context.num_inputs(), first) - first;
  const int64_t scan_inputs = GetInt(context.node(), "num_scan_inputs", 0);
  if (scan_inputs < 1 || scan_inputs > static_cast<int64_t>(inputs)) {
    return ModelError("num_scan_inputs: expected 1 to ", inputs, ", found ", scan_inputs);
  }
  body.scan_inputs = static_cast<size_t>(scan_inputs);
  body.states = inputs - body.scan_inputs;
  if (graph.inputs.size() != inputs) {
    return ModelError("expected ", inputs, " inputs of the body, found ", graph.inputs.size());
  }
  if (graph.outputs.size() < std::max(body.states, context.num_outputs())) {
    return ModelError("expected at least ", std::max(body.states, context.num_outputs()),
                      " outputs of the body, found ", graph.outputs.size());
  }
  body.scan_outputs = graph.outputs.size() - body.states;
  return body;
}

// A list with an entry for each of `count` ports, zeros where the attribute is absent.
absl::StatusOr<std::vector<int64_t>> ListFor(const KernelContext& context, absl::string_view name, size_t count) {
  std::vector<int64_t> list = GetInts(context.node(), name).value_or(std::vector<int64_t>(count, 0));
  if (list.size() != count) return ModelError(name, ": expected ", count, " numbers, found ", list.size());
  return list;
}

// 1 where a port is scanned from the end.
absl::StatusOr<std::vector<int64_t>> Directions(const KernelContext& context, absl::string_view name, size_t count) {
  AMP_ASSIGN_OR_RETURN(std::vector<int64_t> list, ListFor(context, name, count));
  for (const int64_t direction : list) {
    if (direction != 0 && direction != 1) return ModelError(name, ": expected 0 or 1, found ", direction);
  }
  return list;
}

struct ScanResult {
  std::vector<Datum> states;
  std::vector<std::vector<Tensor>> scans;  // an element for every iteration, in the order of iterations
};

// `element_at` gives the element of a scan input that an iteration sees.
absl::StatusOr<ScanResult> RunScan(
    KernelContext& context, const ScanBody& body, std::vector<Datum> states, int64_t iterations,
    absl::FunctionRef<absl::StatusOr<Tensor>(size_t input, int64_t iteration)> element_at) {
  ScanResult result{std::move(states), std::vector<std::vector<Tensor>>(body.scan_outputs)};
  const int64_t limit = context.resources().max_loop_iterations;
  if (iterations > limit)
    return LimitError("expected at most ", limit, " iterations, found ", iterations,
                      " (amp-run --max-loop-iterations)");
  for (int64_t iteration = 0; iteration < iterations; ++iteration) {
    std::vector<Datum> inputs = std::move(result.states);
    for (size_t i = 0; i < body.scan_inputs; ++i) {
      AMP_ASSIGN_OR_RETURN(inputs.emplace_back(), element_at(i, iteration));
    }
    AMP_ASSIGN_OR_RETURN(std::vector<Datum> outputs, context.bodies().Run(body.graph, std::move(inputs)));
    result.states.resize(body.states);
    AMP_RETURN_IF_ERROR(TakeOutputs(std::move(outputs), absl::MakeSpan(result.states), absl::MakeSpan(result.scans)));
  }
  return result;
}

// A scan input: its elements lie along `axis`.
struct Scanned {
  const Tensor* tensor;
  size_t axis;
  bool backwards;

  int64_t length() const { return tensor->dim(axis); }
  absl::StatusOr<Tensor> At(int64_t iteration, int64_t iterations) const {
    return SliceAt(*tensor, axis, backwards ? iterations - 1 - iteration : iteration);
  }
};

// Scan inputs from port `first` on. Errors: lengths that differ.
absl::StatusOr<std::vector<Scanned>> FindScanned(const KernelContext& context, size_t first,
                                                 absl::Span<const int64_t> axes, absl::Span<const int64_t> directions) {
  std::vector<Scanned> result;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Tensor& tensor = context.Input(first + i);
    AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(axes[i], tensor.rank()));
    result.push_back({&tensor, axis, directions[i] == 1});
    if (result[i].length() != result[0].length()) {
      return ModelError("expected scan inputs of one length, found ", result[0].length(), " and ", result[i].length());
    }
  }
  return result;
}

absl::Status Scan(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const ScanBody body, FindScanBody(context, 0));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, ListFor(context, "scan_input_axes", body.scan_inputs));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> directions,
                       Directions(context, "scan_input_directions", body.scan_inputs));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> output_axes, ListFor(context, "scan_output_axes", body.scan_outputs));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> output_directions,
                       Directions(context, "scan_output_directions", body.scan_outputs));
  AMP_ASSIGN_OR_RETURN(const std::vector<Scanned> scanned, FindScanned(context, body.states, axes, directions));
  std::vector<Datum> states;
  for (size_t i = 0; i < body.states; ++i) states.push_back(context.InputDatum(i));
  const int64_t iterations = scanned[0].length();
  AMP_ASSIGN_OR_RETURN(ScanResult result,
                       RunScan(context, body, std::move(states), iterations,
                               [&](size_t i, int64_t iteration) { return scanned[i].At(iteration, iterations); }));
  for (size_t i = 0; i < body.states; ++i) context.SetOutput(i, std::move(result.states[i]));
  for (size_t i = 0; i < body.scan_outputs; ++i) {
    if (output_directions[i] == 1) std::reverse(result.scans[i].begin(), result.scans[i].end());
    AMP_ASSIGN_OR_RETURN(Tensor scan,
                         Stack({context.model(), body.graph, body.states + i}, result.scans[i], output_axes[i]));
    context.SetOutput(body.states + i, std::move(scan));
  }
  return absl::OkStatus();
}

// Version 8: inputs are the lengths of the samples, which may be absent, states [N, ...] and scan inputs [N, T, ...].

struct Batch {
  int64_t samples = 0, longest = 0;
  std::vector<int64_t> lengths;  // one for each sample
};

absl::StatusOr<Batch> FindBatch(const KernelContext& context, const ScanBody& body) {
  const Tensor& first = context.Input(1 + body.states);
  if (first.rank() < 2) return ModelError("expected scan inputs [N, T, ...], found ", first.TypeText());
  if (first.dim(0) == 0) return ModelError("expected at least one sample, found ", first.TypeText());
  Batch batch{.samples = first.dim(0), .longest = first.dim(1), .lengths = {}};
  for (size_t i = 0; i < body.states + body.scan_inputs; ++i) {
    const Tensor& tensor = context.Input(1 + i);
    const bool is_scanned = i >= body.states;
    const bool fits = tensor.rank() >= (is_scanned ? 2 : 1) && tensor.dim(0) == batch.samples &&
                      (!is_scanned || tensor.dim(1) == batch.longest);
    if (!fits) {
      return ModelError("input ", 1 + i, ": expected ", batch.samples, " samples of length ", batch.longest, ", found ",
                        tensor.TypeText());
    }
  }
  if (!context.HasInput(0)) return batch;
  AMP_ASSIGN_OR_RETURN(batch.lengths, context.InputInts(0));
  for (const int64_t length : batch.lengths) {
    if (length < 0 || length > batch.longest) {
      return ModelError("expected lengths of 0 to ", batch.longest, ", found ", length);
    }
  }
  if (static_cast<int64_t>(batch.lengths.size()) == batch.samples) return batch;
  return ModelError("expected ", batch.samples, " lengths, found ", batch.lengths.size());
}

absl::StatusOr<ScanResult> ScanSample(KernelContext& context, const ScanBody& body, int64_t sample, int64_t iterations,
                                      absl::Span<const int64_t> directions) {
  std::vector<Datum> states;
  for (size_t i = 0; i < body.states; ++i) {
    AMP_ASSIGN_OR_RETURN(states.emplace_back(), SliceAt(context.Input(1 + i), 0, sample));
  }
  std::vector<Tensor> samples;
  for (size_t i = 0; i < body.scan_inputs; ++i) {
    AMP_ASSIGN_OR_RETURN(samples.emplace_back(), SliceAt(context.Input(1 + body.states + i), 0, sample));
  }
  return RunScan(context, body, std::move(states), iterations, [&](size_t i, int64_t iteration) {
    return Scanned{&samples[i], 0, directions[i] == 1}.At(iteration, iterations);
  });
}

// A sample's scan output, with zeros up to the longest sample's length.
absl::StatusOr<Tensor> PaddedStack(const BodyOutput& source, absl::Span<const Tensor> elements, int64_t longest) {
  AMP_ASSIGN_OR_RETURN(Tensor stacked, Stack(source, elements, 0));
  if (stacked.dim(0) == longest) return stacked;
  Dims dims = stacked.dims();
  dims[0] = longest - stacked.dim(0);
  AMP_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Create(stacked.dtype(), std::move(dims)));
  FillWithZero(zeros);
  return Join({stacked, zeros}, 0);
}

absl::Status BatchedScan(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const ScanBody body, FindScanBody(context, 1));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> directions, Directions(context, "directions", body.scan_inputs));
  AMP_ASSIGN_OR_RETURN(const Batch batch, FindBatch(context, body));
  std::vector<std::vector<Tensor>> outputs(body.states + body.scan_outputs);  // one for each sample
  for (int64_t sample = 0; sample < batch.samples; ++sample) {
    const int64_t length = batch.lengths.empty() ? batch.longest : batch.lengths[static_cast<size_t>(sample)];
    AMP_ASSIGN_OR_RETURN(ScanResult result, ScanSample(context, body, sample, length, directions));
    AMP_RETURN_IF_ERROR(TakeOutputs(std::move(result.states), {}, absl::MakeSpan(outputs).first(body.states)));
    for (size_t i = 0; i < body.scan_outputs; ++i) {
      const size_t port = body.states + i;
      AMP_ASSIGN_OR_RETURN(Tensor scan,
                           PaddedStack({context.model(), body.graph, port}, result.scans[i], batch.longest));
      outputs[port].push_back(std::move(scan));
    }
  }
  for (size_t port = 0; port < outputs.size(); ++port) {
    AMP_ASSIGN_OR_RETURN(Tensor output, Stack({context.model(), body.graph, port}, outputs[port], 0));
    context.SetOutput(port, std::move(output));
  }
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {.op_type = "Scan", .function = BatchedScan, .first_version = 8, .last_version = 8},
    {.op_type = "Scan", .function = Scan, .first_version = 9},
};

}  // namespace

absl::Span<const KernelRow> ScanLoopKernels() { return kRows; }

}  // namespace amp
