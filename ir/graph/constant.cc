#include "ir/graph/constant.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "google/protobuf/arena.h"
#include "ir/base/check.h"
#include "ir/base/saturated.h"
#include "ir/base/shrink_in_place.h"
#include "ir/base/status.h"
#include "ir/file/description.h"
#include "ir/file/external_data.h"
#include "ir/file/tensor_view.h"
#include "ir/graph/attributes.h"
#include "ir/graph/count_exponents.h"
#include "ir/graph/count_nan.h"
#include "ir/graph/shape.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

constexpr size_t kFirstElements = 16;

// The tensor of an initializer or of a Constant node's `value`; null for value_float and value_floats.
const onnx::TensorProto* TensorOf(const Model& model, ValueId value) {
  const Value& v = model.value(value);
  return v.IsInitializer() ? v.initializer.get() : GetTensor(model.node(v.producer), "value");
}

onnx::TensorProto* EditTensorOf(Model& model, ValueId value) {
  const Value& v = model.value(value);
  return v.IsInitializer() ? &model.EditInitializer(value) : EditTensor(model, v.producer, "value");
}

// value_float and value_floats as float32.
std::vector<float> ListOf(const Model& model, ValueId value) {
  const Node& node = model.node(model.value(value).producer);
  if (const auto scalar = GetFloat(node, "value_float")) return {*scalar};
  return GetFloats(node, "value_floats").value_or(std::vector<float>());
}

// Nobody reads it any more.
void FreePayload(onnx::TensorProto& tensor) {
  std::string().swap(*tensor.mutable_raw_data());
  tensor.clear_raw_data();
  tensor.clear_float_data();
}

// Widens 16-bit elements, exactly, and visits them in chunks.
absl::Status ForEachWidenedChunk(const TensorView& view, const std::function<void(absl::Span<const float>)>& fn) {
  std::vector<uint16_t> bits;
  std::vector<float> values;
  return view.ForEachChunk([&](absl::Span<const std::byte> chunk) {
    bits.resize(chunk.size() / sizeof(uint16_t));
    std::memcpy(bits.data(), chunk.data(), chunk.size());
    values.resize(bits.size());
    Widen(bits, view.dtype(), absl::MakeSpan(values));
    fn(values);
    return absl::OkStatus();
  });
}

absl::Status ForEachFloatChunk(const Model& model, ValueId value,
                               const std::function<void(absl::Span<const float>)>& fn) {
  const onnx::TensorProto* tensor = TensorOf(model, value);
  if (tensor == nullptr) {
    fn(ListOf(model, value));
    return absl::OkStatus();
  }
  if (const TensorView* source = model.weights().SourceOf(*tensor)) return ForEachWidenedChunk(*source, fn);
  AMP_ASSIGN_OR_RETURN(const TensorView view, model.weights().View(*tensor));
  std::vector<float> aligned;
  return view.ForEachChunk([&](absl::Span<const std::byte> bytes) {
    const size_t count = bytes.size() / sizeof(float);
    if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(float) == 0) {
      fn(absl::MakeConstSpan(reinterpret_cast<const float*>(bytes.data()), count));
    } else {
      aligned.resize(count);
      std::memcpy(aligned.data(), bytes.data(), bytes.size());
      fn(aligned);
    }
    return absl::OkStatus();
  });
}

// In blocks of a length that the compiler knows, for which it makes vector code.
int64_t CountNan(absl::Span<const float> elements) {
  constexpr size_t kBlock = 1024;
  int64_t count = 0;
  for (; elements.size() >= kBlock; elements.remove_prefix(kBlock)) {
    int in_block = 0;
    for (size_t i = 0; i < kBlock; ++i) in_block += static_cast<int>(std::isnan(elements[i]));
    count += in_block;
  }
  return count + std::count_if(elements.begin(), elements.end(), [](float element) { return std::isnan(element); });
}

void Survey(absl::Span<const float> chunk, DType low, ConstantFacts& facts) {
  SurveyNarrowing(chunk, low, facts.stats);
  for (size_t i = 0; i < chunk.size() && facts.first_elements.size() < kFirstElements; ++i) {
    facts.first_elements.push_back(chunk[i]);
  }
}

}  // namespace

bool IsFloat32Constant(const Model& model, ValueId value) {
  return value != kNone && model.IsConstant(value) && model.value(value).dtype == DType::kFloat32;
}

ConstantFacts SurveyElements(absl::Span<const float> elements, DType low) {
  ConstantFacts facts;
  Survey(elements, low, facts);
  return facts;
}

absl::StatusOr<const ConstantFacts*> ConstantSurvey::Facts(ValueId value) {
  auto [it, is_new] = facts_.try_emplace(value);
  if (!is_new) return &it->second;
  ConstantFacts& facts = it->second;
  AMP_RETURN_IF_ERROR(
      ForEachFloatChunk(model_, value, [&](absl::Span<const float> chunk) { Survey(chunk, low_, facts); }));
  return &facts;
}

absl::StatusOr<int64_t> CountNan(const Model& model, ValueId value) {
  int64_t num_nan = 0;
  AMP_RETURN_IF_ERROR(
      ForEachFloatChunk(model, value, [&](absl::Span<const float> chunk) { num_nan += CountNan(chunk); }));
  return num_nan;
}

absl::StatusOr<ExponentCounts> CountExponents(const Model& model, ValueId value) {
  ExponentCounts counts;
  AMP_RETURN_IF_ERROR(ForEachFloatChunk(model, value, [&](absl::Span<const float> chunk) { counts.Add(chunk); }));
  return counts;
}

absl::StatusOr<onnx::TensorProto*> NarrowConstant(Model& model, ValueId value, DType low, Saturate saturate,
                                                  Original original) {
  auto* narrowed = google::protobuf::Arena::CreateMessage<onnx::TensorProto>(model.arena());
  narrowed->set_data_type(static_cast<int32_t>(low));
  const onnx::TensorProto* tensor = TensorOf(model, value);
  if (tensor != nullptr) {
    *narrowed->mutable_dims() = tensor->dims();
  } else if (!GetFloat(model.node(model.value(value).producer), "value_float").has_value()) {
    narrowed->add_dims(static_cast<int64_t>(ListOf(model, value).size()));
  }
  if (tensor != nullptr && IsExternal(*tensor) && saturate == Saturate::kNo) {
    AMP_ASSIGN_OR_RETURN(TensorView source, model.weights().View(*tensor));
    model.weights().ConvertWhenSaved(*narrowed, std::move(source));
    return narrowed;
  }
  // In place, what is written stays behind what is read.
  const bool in_place =
      original == Original::kGoes && tensor != nullptr && tensor->has_raw_data() && !IsExternal(*tensor);
  std::string* const bytes = in_place ? EditTensorOf(model, value)->mutable_raw_data() : narrowed->mutable_raw_data();
  if (!in_place) bytes->reserve(static_cast<size_t>(NumBytes(model, value)) / 2);
  size_t written = 0;
  std::vector<uint16_t> bits;
  std::vector<float> clamped;
  AMP_RETURN_IF_ERROR(ForEachFloatChunk(model, value, [&](absl::Span<const float> chunk) {
    if (saturate == Saturate::kYes) {
      const float bound = static_cast<float>(LargestFinite(low));
      clamped.assign(chunk.begin(), chunk.end());
      for (float& x : clamped) {
        if (std::isfinite(x)) x = std::clamp(x, -bound, bound);
      }
      chunk = clamped;
    }
    bits.resize(chunk.size());
    Narrow(chunk, low, absl::MakeSpan(bits));
    const absl::string_view part(reinterpret_cast<const char*>(bits.data()), bits.size() * sizeof(uint16_t));
    if (in_place) {
      part.copy(bytes->data() + written, part.size());
      written += part.size();
    } else {
      bytes->append(part.data(), part.size());
    }
  }));
  if (in_place) {
    ShrinkInPlace(*bytes, written);
    narrowed->mutable_raw_data()->swap(*bytes);
  }
  return narrowed;
}

absl::StatusOr<onnx::TensorProto*> WidenConstant(Model& model, ValueId value) {
  const onnx::TensorProto* tensor = TensorOf(model, value);
  AMP_CHECK(tensor != nullptr && IsLowFloat(static_cast<DType>(tensor->data_type())));
  auto* widened = google::protobuf::Arena::CreateMessage<onnx::TensorProto>(model.arena());
  widened->set_data_type(onnx::TensorProto::FLOAT);
  *widened->mutable_dims() = tensor->dims();
  AMP_ASSIGN_OR_RETURN(TensorView view, model.weights().View(*tensor));
  if (IsExternal(*tensor)) {
    model.weights().ConvertWhenSaved(*widened, std::move(view));
    return widened;
  }
  widened->mutable_raw_data()->reserve(static_cast<size_t>(view.num_elements()) * sizeof(float));
  AMP_RETURN_IF_ERROR(ForEachWidenedChunk(view, [&](absl::Span<const float> values) {
    widened->mutable_raw_data()->append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  }));
  return widened;
}

std::optional<std::vector<double>> ConstantElements(const Model& model, ValueId value, int64_t max_elements) {
  return value != kNone && model.IsConstant(value) ? StoredElements(model, value, max_elements) : std::nullopt;
}

std::optional<std::vector<double>> StoredElements(const Model& model, ValueId value, int64_t max_elements) {
  if (const onnx::TensorProto* tensor = TensorOf(model, value); tensor != nullptr) {
    const absl::StatusOr<TensorView> view = model.weights().View(*tensor);
    if (!view.ok()) return std::nullopt;
    const absl::StatusOr<std::vector<double>> elements = view->ReadAsDoubles(max_elements);
    return elements.ok() ? std::optional(*elements) : std::nullopt;
  }
  const Node& node = model.node(model.value(value).producer);
  if (const auto scalar = GetInt(node, "value_int")) return std::vector<double>{static_cast<double>(*scalar)};
  if (const auto list = GetInts(node, "value_ints")) return std::vector<double>(list->begin(), list->end());
  const std::vector<float> floats = ListOf(model, value);
  if (floats.empty()) return std::nullopt;
  return std::vector<double>(floats.begin(), floats.end());
}

std::optional<double> ScalarConstant(const Model& model, ValueId value) {
  const auto elements = ConstantElements(model, value, 1);
  return elements.has_value() && elements->size() == 1 ? std::optional(elements->front()) : std::nullopt;
}

absl::StatusOr<FloatTensor> MapConstant(const Model& model, ValueId value,
                                        const std::function<double(int64_t, double)>& of) {
  FloatTensor mapped;
  mapped.dims = ShapeOf(model, value).value_or(std::vector<int64_t>());
  AMP_RETURN_IF_ERROR(ForEachFloatChunk(model, value, [&](absl::Span<const float> chunk) {
    for (const float element : chunk) {
      const auto position = static_cast<int64_t>(mapped.elements.size());
      mapped.elements.push_back(static_cast<float>(of(position, element)));
    }
  }));
  return mapped;
}

onnx::TensorProto* MakeTensor(Model& model, const FloatTensor& tensor) {
  auto* made = google::protobuf::Arena::CreateMessage<onnx::TensorProto>(model.arena());
  made->set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t dim : tensor.dims) made->add_dims(dim);
  made->set_raw_data(tensor.elements.data(), tensor.elements.size() * sizeof(float));
  return made;
}

onnx::TensorProto* MakeScalar(Model& model, float value) {
  return MakeTensor(model, {.dims = {}, .elements = {value}});
}

onnx::TensorProto* MakeScalar(Model& model, int64_t value) {
  auto* made = google::protobuf::Arena::CreateMessage<onnx::TensorProto>(model.arena());
  made->set_data_type(onnx::TensorProto::INT64);
  made->set_raw_data(&value, sizeof(value));
  return made;
}

onnx::TensorProto* MakeZeros(Model& model, const std::vector<int64_t>& dims) {
  FloatTensor zeros{.dims = dims, .elements = {}};
  size_t count = 1;
  for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
  zeros.elements.resize(count);
  return MakeTensor(model, zeros);
}

bool ReshapeConstant(Model& model, ValueId value, const std::vector<int64_t>& dims) {
  const auto count = [](const std::vector<int64_t>& of) {
    int64_t elements = 1;
    for (const int64_t dim : of) elements = dim < 0 ? kUnknownDim : SaturatedProduct(elements, dim);
    return elements;
  };
  const auto before = ShapeOf(model, value);
  if (!model.IsConstant(value) || TensorOf(model, value) == nullptr || !before.has_value()) return false;
  if (count(*before) != count(dims)) return false;
  onnx::TensorProto& tensor = *EditTensorOf(model, value);
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(static_cast<int32_t>(model.value(value).dtype));
  auto* shape = type.mutable_tensor_type()->mutable_shape();
  tensor.clear_dims();
  for (const int64_t dim : dims) {
    tensor.add_dims(dim);
    shape->add_dim()->set_dim_value(dim);
  }
  model.SetType(value, type);
  return true;
}

void ReplaceConstant(Model& model, ValueId value, onnx::TensorProto* tensor) {
  if (onnx::TensorProto* before = EditTensorOf(model, value); before != nullptr) {
    DescribeAs(*before, *tensor);
    FreePayload(*before);
  }
  if (model.value(value).IsInitializer()) return model.ReplaceInitializer(value, tensor);
  const NodeId node = model.value(value).producer;
  for (const absl::string_view other_form : {"value_float", "value_floats"}) {
    RenameAttribute(model, node, other_form, "value");
  }
  AdoptTensor(model, node, "value", tensor);
  model.SetTensorType(value, static_cast<DType>(tensor->data_type()));
}

}  // namespace amp
