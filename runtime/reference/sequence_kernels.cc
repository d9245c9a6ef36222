// Sequences of tensors and optionals. What is empty has no element type here: the model's types say it.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/kernel/shape_math.h"
#include "runtime/kernel/take_elements.h"
#include "runtime/reference/families.h"
#include "runtime/reference/join.h"

namespace amp {
namespace {

constexpr int64_t kMaxParts = 1 << 20;  // of a tensor that is split: parts of no elements cost memory too

absl::StatusOr<const Sequence*> InputSequence(const KernelContext& context, size_t port) {
  const Sequence* sequence = context.InputDatum(port).sequence();
  if (sequence == nullptr) return ModelError("expected a sequence, found ", context.InputDatum(port).TypeText());
  return sequence;
}

// Errors: something that is no tensor, element types that differ.
absl::Status CheckElements(absl::Span<const Datum> elements) {
  for (const Datum& element : elements) {
    const Tensor* first = elements[0].tensor();
    const Tensor* tensor = element.tensor();
    if (tensor == nullptr || first == nullptr || tensor->dtype() != first->dtype()) {
      return ModelError("expected tensors of one type, found ", elements[0].TypeText(), " and ", element.TypeText());
    }
  }
  return absl::OkStatus();
}

absl::Status GiveSequence(KernelContext& context, std::vector<Datum> elements) {
  AMP_RETURN_IF_ERROR(CheckElements(elements));
  context.SetOutput(0, Sequence{std::move(elements)});
  return absl::OkStatus();
}

absl::Status SequenceEmpty(KernelContext& context) { return GiveSequence(context, {}); }

absl::Status SequenceConstruct(KernelContext& context) {
  std::vector<Datum> elements;
  for (size_t i = 0; i < context.num_inputs(); ++i) elements.push_back(context.InputDatum(i));
  return GiveSequence(context, std::move(elements));
}

// The position among `size` that input `port` names; -1 is the last one.
absl::StatusOr<std::ptrdiff_t> Position(const KernelContext& context, size_t port, size_t size) {
  AMP_ASSIGN_OR_RETURN(int64_t position, context.InputInt(port));
  AMP_RETURN_IF_ERROR(NormalizeIndices(absl::MakeSpan(&position, 1), static_cast<int64_t>(size)));
  return static_cast<std::ptrdiff_t>(position);
}

absl::Status SequenceAt(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Sequence* sequence, InputSequence(context, 0));
  AMP_ASSIGN_OR_RETURN(const std::ptrdiff_t position, Position(context, 1, sequence->elements.size()));
  Datum element = sequence->elements[static_cast<size_t>(position)];
  // A caller may have changed the elements of a sequence that an earlier run gave.
  if (Tensor* const tensor = element.mutable_tensor()) tensor->set_magnitude_bound(Tensor::kUnbounded);
  context.SetOutput(0, std::move(element));
  return absl::OkStatus();
}

// Where to insert among `size`: at the end unless input 2 says where.
absl::StatusOr<int64_t> PositionToInsert(const KernelContext& context, int64_t size) {
  if (!context.HasInput(2)) return size;
  AMP_ASSIGN_OR_RETURN(const int64_t position, context.InputInt(2));
  if (position < -size || position > size) {
    return ModelError("expected a position in [", -size, ", ", size, "], found ", position);
  }
  return position < 0 ? position + size : position;
}

// Elements of a sequence that are of one type already are not looked at again: one more costs the same however many
// there are.
absl::Status SequenceInsert(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Sequence* sequence, InputSequence(context, 0));
  AMP_ASSIGN_OR_RETURN(const int64_t position,
                       PositionToInsert(context, static_cast<int64_t>(sequence->elements.size())));
  Datum element = context.InputDatum(1);
  AMP_RETURN_IF_ERROR(sequence->elements.empty() ? CheckElements({&element, 1})
                                                 : CheckElements({sequence->elements[0], element}));
  std::vector<Datum> elements = TakeElements(*sequence);
  elements.insert(elements.begin() + position, std::move(element));
  context.SetOutput(0, Sequence{std::move(elements)});
  return absl::OkStatus();
}

absl::Status SequenceErase(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Sequence* sequence, InputSequence(context, 0));
  if (sequence->elements.empty()) return ModelError("expected a sequence with elements, found none");
  auto position = static_cast<std::ptrdiff_t>(sequence->elements.size()) - 1;
  if (context.HasInput(1)) {
    AMP_ASSIGN_OR_RETURN(position, Position(context, 1, sequence->elements.size()));
  }
  std::vector<Datum> elements = TakeElements(*sequence);
  elements.erase(elements.begin() + position);
  context.SetOutput(0, Sequence{std::move(elements)});
  return absl::OkStatus();
}

absl::Status SequenceLength(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Sequence* sequence, InputSequence(context, 0));
  context.SetOutput(0, Tensor::Scalar(static_cast<int64_t>(sequence->elements.size())));
  return absl::OkStatus();
}

absl::Status ConcatFromSequence(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Sequence* sequence, InputSequence(context, 0));
  AMP_RETURN_IF_ERROR(CheckElements(sequence->elements));
  const std::optional<int64_t> axis = GetInt(context.node(), "axis");
  if (!axis.has_value()) return ModelError("expected an axis, found none");
  const bool stacks = GetInt(context.node(), "new_axis", 0) != 0;
  std::vector<Tensor> parts;
  for (const Datum& element : sequence->elements) {
    const Tensor& part = *element.tensor();
    Dims dims = part.dims();
    if (stacks) {
      AMP_ASSIGN_OR_RETURN(const size_t at, NormalizeAxis(*axis, dims.size() + 1));
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at), 1);
    }
    parts.push_back(part.Reshaped(std::move(dims)));
  }
  AMP_ASSIGN_OR_RETURN(Tensor whole, Join(parts, *axis));
  context.SetOutput(0, std::move(whole));
  return absl::OkStatus();
}

// Sizes of `chunk` each, of which the last may be smaller.
absl::StatusOr<std::vector<int64_t>> ChunkSizes(int64_t dim, int64_t chunk) {
  if (chunk < 1) return ModelError("expected parts of at least 1 element, found ", chunk);
  if (dim / chunk > kMaxParts) return LimitError("expected at most ", kMaxParts, " parts, found ", dim / chunk);
  std::vector<int64_t> sizes;
  for (int64_t rest = dim; rest > 0; rest -= chunk) sizes.push_back(std::min(rest, chunk));
  return sizes;
}

absl::StatusOr<std::vector<int64_t>> PartSizes(const KernelContext& context, int64_t dim) {
  if (!context.HasInput(1)) return ChunkSizes(dim, 1);
  if (context.Input(1).rank() != 0) return context.InputInts(1);
  AMP_ASSIGN_OR_RETURN(const int64_t chunk, context.InputInt(1));
  return ChunkSizes(dim, chunk);
}

// Whether the axis is dropped. ONNX's text says that keepdims is ignored if sizes are given. ONNX Runtime also drops
// the axis if the size is the scalar 1, and PyTorch's exporter writes `unbind` that way (see ir/graph/split_axis.h).
absl::StatusOr<bool> DropsAxis(const KernelContext& context) {
  if (GetInt(context.node(), "keepdims", 1) != 0) return false;
  if (!context.HasInput(1)) return true;
  if (context.Input(1).rank() != 0) return false;
  AMP_ASSIGN_OR_RETURN(const int64_t size, context.InputInt(1));
  return size == 1;
}

absl::Status SplitToSequence(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const size_t axis, NormalizeAxis(GetInt(context.node(), "axis", 0), x.rank()));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, PartSizes(context, x.dim(axis)));
  AMP_ASSIGN_OR_RETURN(std::vector<Tensor> parts, Split(x, axis, sizes));
  AMP_ASSIGN_OR_RETURN(const bool drops_axis, DropsAxis(context));
  std::vector<Datum> elements;
  for (Tensor& part : parts) {
    Dims dims = part.dims();
    if (drops_axis) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
    elements.emplace_back(part.Reshaped(std::move(dims)));
  }
  return GiveSequence(context, std::move(elements));
}

// An optional is what it holds, or nothing.
absl::Status Optional(KernelContext& context) {
  context.SetOutput(0, context.InputDatum(0));
  return absl::OkStatus();
}

absl::Status OptionalHasElement(KernelContext& context) {
  context.SetOutput(0, Tensor::Scalar(!context.InputDatum(0).IsEmpty()));
  return absl::OkStatus();
}

absl::Status OptionalGetElement(KernelContext& context) {
  if (context.InputDatum(0).IsEmpty()) return ModelError("expected an element in the optional, found none");
  context.SetOutput(0, context.InputDatum(0));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"SequenceEmpty", SequenceEmpty},
    {"SequenceConstruct", SequenceConstruct},
    {"SequenceAt", SequenceAt},
    {"SequenceInsert", SequenceInsert},
    {"SequenceErase", SequenceErase},
    {"SequenceLength", SequenceLength},
    {"ConcatFromSequence", ConcatFromSequence},
    {"SplitToSequence", SplitToSequence},
    {"Optional", Optional},
    {"OptionalHasElement", OptionalHasElement},
    {"OptionalGetElement", OptionalGetElement},
};

}  // namespace

absl::Span<const KernelRow> SequenceKernels() { return kRows; }

}  // namespace amp
