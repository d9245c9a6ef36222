// ai.onnx.ml's categories: values looked up in lists, and lists put beside values.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/kernel/doubles.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/reference/families.h"
#include "runtime/reference/tensor_attribute.h"

namespace amp {
namespace {

template <typename T>
Tensor ListTensor(DType dtype, const std::vector<T>& list) {
  return Tensor::Of<T>(dtype, {static_cast<int64_t>(list.size())}, list);
}

// The attribute that begins with `prefix`, "keys" or "values": of floats, integers, strings, or a tensor.
absl::StatusOr<Tensor> ReadList(const KernelContext& context, absl::string_view prefix) {
  const Node& node = context.node();
  if (const auto list = GetStrings(node, absl::StrCat(prefix, "_strings"))) return ListTensor(DType::kString, *list);
  if (const auto list = GetInts(node, absl::StrCat(prefix, "_int64s"))) return ListTensor(DType::kInt64, *list);
  if (const auto list = GetFloats(node, absl::StrCat(prefix, "_floats"))) return ListTensor(DType::kFloat32, *list);
  AMP_ASSIGN_OR_RETURN(std::optional<Tensor> tensor, ReadTensorAttribute(context, absl::StrCat(prefix, "_tensor")));
  if (tensor.has_value()) return *std::move(tensor);
  return ModelError("expected ", prefix, "_strings, _int64s, _floats or _tensor, found none");
}

// Reads the default for values that are not in the list.
absl::StatusOr<Tensor> ReadDefault(const KernelContext& context, DType dtype) {
  const Node& node = context.node();
  AMP_ASSIGN_OR_RETURN(std::optional<Tensor> stated, ReadTensorAttribute(context, "default_tensor"));
  if (stated.has_value()) {
    if (stated->dtype() == dtype && stated->num_elements() == 1) return *std::move(stated);
    return ModelError("default_tensor: expected one ", DTypeName(dtype), ", found ", stated->TypeText());
  }
  AMP_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, {}));
  if (dtype == DType::kString) {
    tensor.mutable_elements<std::string>()[0] = GetString(node, "default_string", "_Unused");
    return tensor;
  }
  const bool is_float = VisitFloats(dtype, [](auto) {});
  const int64_t integer = GetInt(node, "default_int64", -1);
  if (dtype == DType::kInt64) {
    tensor.mutable_elements<int64_t>()[0] = integer;
    return tensor;
  }
  AMP_RETURN_IF_ERROR(WriteDoubles(
      {is_float ? static_cast<double>(GetFloat(node, "default_float", -0.0f)) : static_cast<double>(integer)}, tensor));
  return tensor;
}

struct Mapping {
  Tensor keys, values, fallback;
};

// NaN is like NaN; the last one of equal keys counts. `hash_key` makes of an element what can be compared.
template <typename T, typename Key>
void LookUp(const Tensor& x, const Mapping& mapping, Key (*hash_key)(const T&), Tensor& y) {
  absl::flat_hash_map<Key, size_t> places;
  std::optional<size_t> place_of_nan;
  const auto keys = mapping.keys.elements<T>();
  for (size_t i = 0; i < keys.size(); ++i) {
    const Key key = hash_key(keys[i]);
    if (key == key) {
      places[key] = i;
    } else {
      place_of_nan = i;
    }
  }
  const auto in = x.elements<T>();
  for (size_t i = 0; i < in.size(); ++i) {
    const Key key = hash_key(in[i]);
    const auto it = places.find(key);
    const std::optional<size_t> found = it != places.end() ? it->second : key == key ? std::nullopt : place_of_nan;
    CopyElements(found.has_value() ? mapping.values : mapping.fallback, found.value_or(0), y, i, 1);
  }
}

absl::Status Translate(KernelContext& context, const Mapping& mapping) {
  const Tensor& x = context.Input(0);
  if (x.dtype() != mapping.keys.dtype()) {
    return ModelError("expected ", DTypeName(mapping.keys.dtype()), ", found ", x.TypeText());
  }
  if (mapping.keys.num_elements() != mapping.values.num_elements()) {
    return ModelError("expected as many values as keys, found ", mapping.values.num_elements(), " and ",
                      mapping.keys.num_elements());
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, mapping.values.dtype(), x.dims()));
  if (x.dtype() == DType::kString) {
    LookUp<std::string, absl::string_view>(
        x, mapping, [](const std::string& text) { return absl::string_view(text); }, *y);
    return absl::OkStatus();
  }
  const bool known = VisitNumbersAndBool(x.dtype(), [&]<typename T>(TypeTag<T>) {
    LookUp<T, ComputeType<T>>(
        x, mapping, [](const T& element) { return Load(element); }, *y);
  });
  return known ? absl::OkStatus() : context.TypeError(x.dtype());
}

absl::Status MapWith(KernelContext& context, Tensor keys, Tensor values) {
  AMP_ASSIGN_OR_RETURN(Tensor fallback, ReadDefault(context, values.dtype()));
  return Translate(context, {std::move(keys), std::move(values), std::move(fallback)});
}

absl::Status LabelEncoder(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Tensor keys, ReadList(context, "keys"));
  AMP_ASSIGN_OR_RETURN(Tensor values, ReadList(context, "values"));
  return MapWith(context, std::move(keys), std::move(values));
}

// Strings to numbers or numbers to strings, as the input is.
absl::Status MapCategories(KernelContext& context, const std::vector<std::string>& names,
                           const std::vector<int64_t>& numbers) {
  Tensor strings = ListTensor(DType::kString, names), ints = ListTensor(DType::kInt64, numbers);
  const bool from_strings = context.Input(0).dtype() == DType::kString;
  return from_strings ? MapWith(context, std::move(strings), std::move(ints))
                      : MapWith(context, std::move(ints), std::move(strings));
}

// Version 1 numbers its strings from 0 on.
absl::Status OldLabelEncoder(KernelContext& context) {
  const auto names = GetStrings(context.node(), "classes_strings").value_or(std::vector<std::string>());
  std::vector<int64_t> numbers(names.size());
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
  return MapCategories(context, names, numbers);
}

absl::Status CategoryMapper(KernelContext& context) {
  return MapCategories(context, GetStrings(context.node(), "cats_strings").value_or(std::vector<std::string>()),
                       GetInts(context.node(), "cats_int64s").value_or(std::vector<int64_t>()));
}

// The place of each element in the node's list of categories; its length where it is not there.
absl::StatusOr<std::vector<size_t>> FindCategories(const KernelContext& context, const Tensor& x, size_t& count) {
  std::vector<size_t> places;
  const auto find_all = [&](const auto& elements, const auto& categories) {
    count = categories.size();
    for (const auto& element : elements) {
      const auto it = std::find(categories.begin(), categories.end(), element);
      places.push_back(static_cast<size_t>(it - categories.begin()));
    }
  };
  if (x.dtype() == DType::kString) {
    find_all(x.elements<std::string>(),
             GetStrings(context.node(), "cats_strings").value_or(std::vector<std::string>()));
    return places;
  }
  const std::vector<int64_t> categories = GetInts(context.node(), "cats_int64s").value_or(std::vector<int64_t>());
  if (x.dtype() == DType::kInt64) {
    find_all(x.elements<int64_t>(), categories);
    return places;
  }
  AMP_ASSIGN_OR_RETURN(const std::vector<double> values, ReadDoubles(x));
  std::vector<int64_t> integers(values.size());
  std::transform(values.begin(), values.end(), integers.begin(), StoreDouble<int64_t>);
  find_all(integers, categories);
  return places;
}

absl::Status OneHotEncoder(KernelContext& context) {
  const Tensor& x = context.Input(0);
  size_t count = 0;
  AMP_ASSIGN_OR_RETURN(const std::vector<size_t> places, FindCategories(context, x, count));
  const bool may_be_missing = GetInt(context.node(), "zeros", 1) != 0;
  Dims dims = x.dims();
  dims.push_back(static_cast<int64_t>(count));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kFloat32, std::move(dims)));
  FillWithZero(*y);
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] < count) {
      y->mutable_elements<float>()[i * count + places[i]] = 1;
    } else if (!may_be_missing) {
      return ModelError("expected one of ", count, " categories, found another as element ", i);
    }
  }
  return absl::OkStatus();
}

// A map for each row.
absl::Status ZipMap(KernelContext& context) {
  const Tensor& x = context.Input(0);
  const auto names = GetStrings(context.node(), "classlabels_strings");
  const auto numbers = GetInts(context.node(), "classlabels_int64s");
  if (names.has_value() == numbers.has_value()) return ModelError("expected either strings or integers as labels");
  const Tensor keys = names.has_value() ? ListTensor(DType::kString, *names) : ListTensor(DType::kInt64, *numbers);
  if (x.dtype() != DType::kFloat32) return context.TypeError(x.dtype());
  if (x.rank() < 1 || x.rank() > 2 || x.dims().back() != keys.num_elements()) {
    return ModelError("expected shape [N,", keys.num_elements(), "], found ", x.TypeText());
  }
  const auto columns = static_cast<size_t>(keys.num_elements());
  const size_t rows = x.num_elements() == 0 ? 0 : static_cast<size_t>(x.num_elements()) / columns;
  Sequence maps;
  for (size_t row = 0; row < rows; ++row) {
    const auto values = x.elements<float>().subspan(row * columns, columns);
    maps.elements.emplace_back(Map{keys, Tensor::Of<float>(DType::kFloat32, keys.dims(), values)});
  }
  context.SetOutput(0, std::move(maps));
  return absl::OkStatus();
}

constexpr absl::string_view kDomain = "ai.onnx.ml";
constexpr KernelRow kRows[] = {
    {.op_type = "LabelEncoder", .function = OldLabelEncoder, .domain = kDomain, .last_version = 1},
    {.op_type = "LabelEncoder", .function = LabelEncoder, .domain = kDomain, .first_version = 2},
    {"CategoryMapper", CategoryMapper, kDomain},
    {"OneHotEncoder", OneHotEncoder, kDomain},
    {"ZipMap", ZipMap, kDomain},
};

}  // namespace

absl::Span<const KernelRow> EncoderKernels() { return kRows; }

}  // namespace amp
