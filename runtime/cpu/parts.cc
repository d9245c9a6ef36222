#include "runtime/cpu/parts.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "ir/base/status.h"
#include "runtime/cpu/hidden_numbers.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

// Larger parts were not faster where this was measured (1 MB of second-level cache); smaller ones were slower.
constexpr int64_t kLeastPartBytes = 64 << 10, kMostPartBytes = 1 << 20;
constexpr int64_t kPartOfAll = 8;

int64_t RoundUp(int64_t number, int64_t granule) { return (number + granule - 1) / granule * granule; }

std::byte* At(Tensor& tensor, int64_t element) {
  return tensor.mutable_bytes().data() + static_cast<size_t>(element) * ElementBytes(tensor.dtype());
}
const std::byte* At(const Tensor& tensor, int64_t element) {
  return tensor.bytes().data() + static_cast<size_t>(element) * ElementBytes(tensor.dtype());
}

// Reads a part of an operand in the type that the library computes in.
class PartReader {
 public:
  static absl::StatusOr<PartReader> Create(const KernelContext& context, const PartedOperand& operand, DType compute,
                                           const Parts& parts) {
    PartReader reader;
    reader.operand_ = operand;
    const PartWindow& window = operand.window;
    const bool is_as_stored = operand.tensor->dtype() == compute && window.lead == 0 && window.extent == 1;
    if (operand.blocks > 1) {
      AMP_ASSIGN_OR_RETURN(reader.scratch_, context.MakeScratch(compute, {reader.BlockSize()}));
    } else if (operand.step == 0) {
      if (operand.tensor->dtype() == compute) return reader;
      AMP_ASSIGN_OR_RETURN(reader.scratch_, Converted(*operand.tensor, compute, context.memory()));
    } else if (!is_as_stored) {
      AMP_ASSIGN_OR_RETURN(reader.scratch_, context.MakeScratch(compute, {reader.Extent(parts.size)}));
    }
    return reader;
  }

  // Reads a block of an operand with several blocks (PartedOperand::blocks).
  const void* ReadBlock(int64_t block) {
    const Tensor& tensor = *operand_.tensor;
    ConvertElements(At(tensor, block * BlockSize()), tensor.dtype(), At(scratch_, 0), scratch_.dtype(),
                    static_cast<size_t>(BlockSize()));
    return scratch_.bytes().data();
  }

  const void* Read(int64_t first, int64_t count) {
    const Tensor& tensor = *operand_.tensor;
    const bool has_scratch = scratch_.dtype() != DType::kUndefined;
    if (!has_scratch) return At(tensor, first * operand_.step);
    if (operand_.step == 0) return scratch_.bytes().data();
    const PartWindow& window = operand_.window;
    const int64_t begin = (first * window.stride - window.lead) * operand_.step, end = begin + Extent(count);
    const int64_t inner_begin = std::clamp<int64_t>(0, begin, end);
    const int64_t inner_end = std::clamp<int64_t>(tensor.num_elements(), inner_begin, end);
    Zero(0, inner_begin - begin);
    if (inner_begin < inner_end) {
      ConvertElements(At(tensor, inner_begin), tensor.dtype(), At(scratch_, inner_begin - begin), scratch_.dtype(),
                      static_cast<size_t>(inner_end - inner_begin));
    }
    Zero(inner_end - begin, end - inner_end);
    return scratch_.bytes().data();
  }

 private:
  int64_t BlockSize() const { return operand_.tensor->num_elements() / operand_.blocks; }
  int64_t Extent(int64_t count) const {
    return ((count - 1) * operand_.window.stride + operand_.window.extent) * operand_.step;
  }
  void Zero(int64_t first, int64_t count) {
    std::memset(At(scratch_, first), 0, static_cast<size_t>(count) * ElementBytes(scratch_.dtype()));
  }

  PartedOperand operand_;
  Tensor scratch_;  // holds a part, or the whole converted operand; undefined: the operand is read in place
};

// Whether a part of the result depends only on those elements of the operand that lie at the same offsets.
bool IsReadInPlace(const PartedOperation& operation, int64_t step, const PartWindow& window) {
  if (operation.parts.count() == 1) return true;
  return step == operation.y_step && window.stride == 1 && window.lead == 0 && window.extent == 1;
}

// Returns the input whose memory the result may reuse; nothing if there is none.
std::optional<size_t> PortToReuse(const KernelContext& context, const PartedRun& run) {
  const PartedOperation& operation = run.operation;
  // The library writes the result directly, while it still reads its inputs.
  if (operation.computed_as == operation.stored_as) return std::nullopt;
  const auto fits = [&](size_t port, int64_t step, const PartWindow& window) {
    const Tensor& x = context.Input(port);
    return context.MayReuseInput(port) && x.dtype() == operation.stored_as && x.dims() == operation.y_dims &&
           x.layout() == run.y_layout && IsReadInPlace(operation, step, window);
  };
  const LibraryEpilogue& epilogue = operation.epilogue;
  for (size_t i = 0; i < epilogue.ports.size(); ++i) {
    if (fits(epilogue.ports[i], epilogue.steps[i], {})) return epilogue.ports[i];
  }
  return fits(0, run.a.step, run.a.window) ? std::optional<size_t>(0) : std::nullopt;
}

absl::StatusOr<Tensor*> MakeResult(KernelContext& context, const PartedRun& run) {
  if (const std::optional<size_t> port = PortToReuse(context, run)) return context.MakeOutputLike(0, *port);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, run.operation.stored_as, run.operation.y_dims));
  y->set_layout(run.y_layout);
  return y;
}

// Stores the results of the library in the output, converting them if needed.
class PartWriter {
 public:
  static absl::StatusOr<PartWriter> Create(KernelContext& context, const PartedRun& run) {
    PartWriter writer;
    const PartedOperation& operation = run.operation;
    writer.step_ = operation.y_step;
    AMP_ASSIGN_OR_RETURN(writer.y_, MakeResult(context, run));
    if (writer.y_->dtype() == operation.computed_as) return writer;
    AMP_ASSIGN_OR_RETURN(writer.scratch_,
                         context.MakeScratch(operation.computed_as, {operation.parts.size * operation.y_step}));
    return writer;
  }

  void* Begin(int64_t first) { return HasScratch() ? At(scratch_, 0) : At(*y_, first * step_); }
  void End(int64_t first, int64_t count) {
    if (!HasScratch()) return;
    ConvertElements(At(scratch_, 0), scratch_.dtype(), At(*y_, first * step_), y_->dtype(),
                    static_cast<size_t>(count * step_));
  }
  int64_t step() const { return step_; }

 private:
  bool HasScratch() const { return scratch_.dtype() != DType::kUndefined; }

  Tensor* y_ = nullptr;
  Tensor scratch_;
  int64_t step_ = 0;
};

// Computes rows[..., c] += bias[c].
void AddBias(const Tensor& bias, absl::Span<float> rows) {
  const auto addends = bias.elements<float>();
  for (size_t row = 0; row < rows.size(); row += addends.size()) {
    for (size_t channel = 0; channel < addends.size(); ++channel) rows[row + channel] += addends[channel];
  }
}

absl::StatusOr<Tensor> PackedNow(const KernelContext& context, const onednn::Primitive& primitive, const Tensor& w) {
  if (primitive.packed_bytes() == 0) return w;
  AMP_ASSIGN_OR_RETURN(Tensor packed,
                       context.MakeScratch(DType::kUint8, {static_cast<int64_t>(primitive.packed_bytes())}));
  if (primitive.Pack(w.bytes().data(), packed.mutable_bytes().data())) return packed;
  return absl::InternalError("oneDNN does not pack the weights");
}

// The buffers that all parts of a run share.
class PartsRunner {
 public:
  explicit PartsRunner(const PartedRun& run) : run_(run) {}

  absl::Status Prepare(KernelContext& context) {
    const PartedOperation& operation = run_.operation;
    const LibraryEpilogue& epilogue = operation.epilogue;
    AMP_ASSIGN_OR_RETURN(result_, PartWriter::Create(context, run_));
    AMP_RETURN_IF_ERROR(Add(context, run_.a, inputs_));
    if (run_.weights == nullptr) AMP_RETURN_IF_ERROR(Add(context, run_.b, inputs_));
    ordered_.resize(epilogue.ports.size());
    for (size_t i = 0; i < epilogue.ports.size(); ++i) {
      AMP_ASSIGN_OR_RETURN(ordered_[i], InLibraryLayout(context, epilogue.ports[i], run_.layout));
      AMP_RETURN_IF_ERROR(Add(context, {.tensor = &ordered_[i], .step = epilogue.steps[i]}, operands_));
    }
    if (epilogue.bias.dtype != DType::kUndefined) {
      AMP_RETURN_IF_ERROR(Add(context, {.tensor = &context.Input(epilogue.bias_port)}, biases_));
    }
    const size_t of_last = operation.last == nullptr ? 0 : operation.last->scratch_bytes();
    const auto scratch_bytes = static_cast<int64_t>(std::max(operation.primitive->scratch_bytes(), of_last));
    AMP_ASSIGN_OR_RETURN(scratch_, context.MakeScratch(DType::kUint8, {scratch_bytes}));
    return absl::OkStatus();
  }

  absl::Status RunPart(int64_t first, int64_t count) {
    const PartedOperation& operation = run_.operation;
    const bool is_last = count != operation.parts.size;
    const onednn::Primitive& primitive = is_last ? *operation.last : *operation.primitive;
    onednn::Primitive::Arguments arguments;
    arguments.a = inputs_[0].Read(first, count);
    const int64_t blocks = operation.blocks;
    if (run_.weights != nullptr) {
      arguments.b = (is_last ? run_.weights_of_last : run_.weights)->bytes().data();
    } else if (blocks == 1) {
      arguments.b = inputs_[1].Read(first, count);
    }
    for (PartReader& operand : operands_) arguments.post_operands.push_back(operand.Read(first, count));
    if (!biases_.empty()) arguments.bias = biases_[0].Read(first, count);
    arguments.scratch = scratch_.mutable_bytes().data();
    auto* const y = static_cast<std::byte*>(result_.Begin(first));
    const size_t y_block = static_cast<size_t>(operation.y_step / blocks) * ElementBytes(operation.computed_as);
    for (int64_t block = 0; block < blocks; ++block) {
      if (blocks > 1) arguments.b = inputs_[1].ReadBlock(block);
      arguments.y = y + static_cast<size_t>(block) * y_block;
      if (primitive.Run(arguments)) continue;
      return absl::InternalError(absl::StrCat("oneDNN failed (", primitive.implementation(), ")"));
    }
    if (run_.bias_behind != nullptr) {
      AddBias(*run_.bias_behind, {reinterpret_cast<float*>(y), static_cast<size_t>(count * result_.step())});
    }
    result_.End(first, count);
    return absl::OkStatus();
  }

 private:
  using Readers = absl::InlinedVector<PartReader, 2>;

  absl::Status Add(const KernelContext& context, const PartedOperand& operand, Readers& readers) const {
    AMP_ASSIGN_OR_RETURN(PartReader reader, PartReader::Create(context, operand, run_.compute, run_.operation.parts));
    readers.push_back(std::move(reader));
    return absl::OkStatus();
  }

  const PartedRun& run_;
  absl::InlinedVector<Tensor, 2> ordered_;  // operands of the epilogue, in the library's layout
  Readers inputs_, operands_, biases_;
  Tensor scratch_;
  PartWriter result_;
};

// A library that packs nothing reads the constant itself.
bool ReadsPlainWeights(const KernelContext& context, const PartedOperation& operation) {
  const void* const plain = context.Input(1).data();
  return operation.weights.dtype() == DType::kUndefined || operation.weights.data() == plain ||
         operation.weights_of_last.data() == plain;
}

}  // namespace

int64_t PartBytes(int64_t all_bytes) { return std::clamp(all_bytes / kPartOfAll, kLeastPartBytes, kMostPartBytes); }

Parts CutAxis(int64_t total, const PartElements& elements, int64_t granule) {
  constexpr auto kBytes = static_cast<int64_t>(sizeof(float));
  const int64_t fitting = PartBytes(elements.of_all * kBytes) / kBytes / std::max<int64_t>(elements.of_index, 1);
  const int64_t most = std::max(fitting / granule, int64_t{1}) * granule;
  if (most >= total) return {total, total};
  const int64_t count = (total + most - 1) / most;
  return {total, std::min(RoundUp((total + count - 1) / count, granule), total)};
}

absl::Status PrepareParts(KernelContext& context, DType compute, DType kept_as, const MakePart& make,
                          PartedOperation& operation) {
  const Parts& parts = operation.parts;
  AMP_ASSIGN_OR_RETURN(operation.primitive, make(parts.size));
  if (parts.last() != parts.size) {
    AMP_ASSIGN_OR_RETURN(operation.last, make(parts.last()));
  }
  if (!context.IsConstantInput(1)) return absl::OkStatus();
  const auto plain = [&] { return Converted(context.Input(1), compute, nullptr); };
  AMP_ASSIGN_OR_RETURN(operation.weights, PackedConstant(context, 1, *operation.primitive, compute, kept_as, plain));
  if (operation.last != nullptr) {
    AMP_ASSIGN_OR_RETURN(operation.weights_of_last,
                         PackedConstant(context, 1, *operation.last, compute, kept_as, plain));
  }
  if (!ReadsPlainWeights(context, operation) && context.Droppable(1) != nullptr) {
    AMP_RETURN_IF_ERROR(LookAtConstant(context, 1));
    DropPackedConstant(context, 1, *operation.primitive, compute, operation.weights);
  }
  return absl::OkStatus();
}

absl::StatusOr<ConstantHold> HoldPlainWeights(const KernelContext& context, const PartedOperation& operation) {
  return ReadsPlainWeights(context, operation) ? context.HoldConstant(1, ConstantUse::kInRuns) : ConstantHold();
}

namespace {

// Widens those that are kept in 16 bits, though the primitives read float32.
absl::Status WidenWeights(const KernelContext& context, const PartedOperation& operation, DType compute,
                          RunWeights& weights) {
  const auto is_narrow = [&](const Tensor& packed) {
    return compute == DType::kFloat32 && (packed.dtype() == DType::kFloat16 || packed.dtype() == DType::kBfloat16);
  };
  const Tensor &of_parts = operation.weights, &of_last = operation.weights_of_last;
  if (is_narrow(of_parts)) {
    AMP_ASSIGN_OR_RETURN(weights.made, Converted(of_parts, compute, context.memory()));
    weights.of_parts = &weights.made;
  }
  if (!is_narrow(of_last)) return absl::OkStatus();
  if (of_last.data() == of_parts.data()) {
    weights.of_last = &weights.made;
  } else {
    AMP_ASSIGN_OR_RETURN(weights.made_for_last, Converted(of_last, compute, context.memory()));
    weights.of_last = &weights.made_for_last;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MakeWeights(KernelContext& context, const PartedOperation& operation, DType compute, RunWeights& weights) {
  weights.of_parts = &operation.weights;
  weights.of_last = &operation.weights_of_last;
  if (operation.weights.dtype() != DType::kUndefined) return WidenWeights(context, operation, compute, weights);
  AMP_ASSIGN_OR_RETURN(const Tensor w, Converted(context.Input(1), compute, context.memory()));
  AMP_ASSIGN_OR_RETURN(weights.made, PackedNow(context, *operation.primitive, w));
  weights.of_parts = weights.of_last = &weights.made;
  const bool are_alike = operation.last == nullptr || operation.last->packing() == operation.primitive->packing();
  if (are_alike) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(weights.made_for_last, PackedNow(context, *operation.last, w));
  weights.of_last = &weights.made_for_last;
  return absl::OkStatus();
}

absl::Status RunInParts(KernelContext& context, const PartedRun& run) {
  const Parts& parts = run.operation.parts;
  PartsRunner runner(run);
  AMP_RETURN_IF_ERROR(runner.Prepare(context));
  for (int64_t first = 0; first < parts.total; first += parts.size) {
    AMP_RETURN_IF_ERROR(runner.RunPart(first, std::min(parts.size, parts.total - first)));
  }
  context.Report(run.operation.primitive->implementation(), run.compute);
  return absl::OkStatus();
}

}  // namespace amp
