#include "ir/file/validate_attribute.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "ir/base/dtype.h"
#include "ir/base/status.h"
#include "ir/file/validate_tensor.h"
#include "ir/schema/operator_table.h"

namespace amp {
namespace {

using Kind = onnx::AttributeProto;

// The rule for every integer of an attribute of this name, on any operator of ai.onnx that has it.
enum class Rule { kPositive, kNotNegative, kPermutation, kAxis, kNumAxes, kNumPorts, kElementType };

const Rule* FindRule(absl::string_view name) {
  static const auto* const kRules = new absl::flat_hash_map<absl::string_view, Rule>{
      {"strides", Rule::kPositive},
      {"dilations", Rule::kPositive},
      {"kernel_shape", Rule::kPositive},
      {"group", Rule::kPositive},
      {"blocksize", Rule::kPositive},
      {"num_groups", Rule::kPositive},
      {"pads", Rule::kNotNegative},
      {"output_padding", Rule::kNotNegative},
      {"perm", Rule::kPermutation},
      {"axis", Rule::kAxis},
      {"axes", Rule::kAxis},
      {"batch_dims", Rule::kNumAxes},
      {"num_outputs", Rule::kNumPorts},
      {"to", Rule::kElementType},
  };
  auto it = kRules->find(name);
  return it == kRules->end() ? nullptr : &it->second;
}

absl::Status ValidateAtLeast(const std::vector<int64_t>& values, int64_t least) {
  for (const int64_t value : values) {
    if (value < least) return ModelError("expected values of at least ", least, ", found ", value);
  }
  return absl::OkStatus();
}

absl::Status ValidatePermutation(const std::vector<int64_t>& values) {
  std::vector<bool> seen(values.size());
  for (const int64_t value : values) {
    const bool valid = value >= 0 && value < static_cast<int64_t>(values.size()) && !seen[static_cast<size_t>(value)];
    if (!valid) return ModelError("expected a permutation of 0 to ", values.size() - 1, ", found ", value);
    seen[static_cast<size_t>(value)] = true;
  }
  return absl::OkStatus();
}

absl::Status ValidateAxes(const std::vector<int64_t>& values, const Limits& limits) {
  if (static_cast<int64_t>(values.size()) > limits.rank) {
    return LimitError("expected at most ", limits.rank, " axes, found ", values.size());
  }
  for (const int64_t value : values) {
    if (value >= -limits.rank && value <= limits.rank) continue;
    return ModelError("expected axes of ", -limits.rank, " to ", limits.rank, ", found ", value);
  }
  return absl::OkStatus();
}

// Checks numbers of a node's ports: inference makes room for as many.
absl::Status ValidateNumPorts(const std::vector<int64_t>& values, const Limits& limits) {
  for (const int64_t value : values) {
    if (value > limits.nodes) return LimitError("expected at most ", limits.nodes, " outputs, found ", value);
  }
  return ValidateAtLeast(values, 1);
}

}  // namespace

onnx::AttributeProto::AttributeType KindOfFields(const onnx::AttributeProto& attribute) {
  Kind::AttributeType kind = Kind::UNDEFINED;
  int filled = 0;
  const auto note = [&](bool present, Kind::AttributeType type) {
    if (!present) return;
    kind = type;
    ++filled;
  };
  note(attribute.has_f(), Kind::FLOAT);
  note(attribute.has_i(), Kind::INT);
  note(attribute.has_s(), Kind::STRING);
  note(attribute.has_t(), Kind::TENSOR);
  note(attribute.has_g(), Kind::GRAPH);
  note(attribute.has_tp(), Kind::TYPE_PROTO);
  note(attribute.has_sparse_tensor(), Kind::SPARSE_TENSOR);
  note(attribute.floats_size() > 0, Kind::FLOATS);
  note(attribute.ints_size() > 0, Kind::INTS);
  note(attribute.strings_size() > 0, Kind::STRINGS);
  note(attribute.tensors_size() > 0, Kind::TENSORS);
  note(attribute.graphs_size() > 0, Kind::GRAPHS);
  note(attribute.sparse_tensors_size() > 0, Kind::SPARSE_TENSORS);
  note(attribute.type_protos_size() > 0, Kind::TYPE_PROTOS);
  return filled == 1 ? kind : filled == 0 ? Kind::UNDEFINED : Kind::AttributeType(-1);
}

absl::Status ValidateAttributeForm(const onnx::AttributeProto& attribute, int64_t ir_version, InFunction in_function) {
  const int filled = KindOfFields(attribute);
  if (filled < 0) return ModelError("expected one field with a value, found several");
  if (!attribute.ref_attr_name().empty()) {
    if (in_function == InFunction::kNo) return ModelError("expected a value, found a reference outside a function");
    if (filled != Kind::UNDEFINED) return ModelError("expected a reference alone, found a value as well");
    return absl::OkStatus();
  }
  if (attribute.type() == Kind::UNDEFINED) {
    // IR version 1 had no type tag; the filled-in field says it all.
    if (ir_version < 2 && filled != Kind::UNDEFINED) return absl::OkStatus();
    return ModelError("expected a kind, found none");
  }
  if (filled == attribute.type()) return absl::OkStatus();
  const std::string& expected = onnx::AttributeProto_AttributeType_Name(attribute.type());
  if (filled != Kind::UNDEFINED) {
    return ModelError("expected a value of kind ", expected, ", found ",
                      onnx::AttributeProto_AttributeType_Name(Kind::AttributeType(filled)));
  }
  // Writers of proto3 leave out zeros, empty strings and empty lists; messages they cannot leave out.
  const bool needs_message = attribute.type() == Kind::TENSOR || attribute.type() == Kind::GRAPH ||
                             attribute.type() == Kind::SPARSE_TENSOR || attribute.type() == Kind::TYPE_PROTO;
  if (needs_message) return ModelError("expected a value of kind ", expected, ", found none");
  return absl::OkStatus();
}

absl::Status ValidateAttributeNames(const onnx::NodeProto& node) {
  const auto& attributes = node.attribute();
  const auto twice = [](absl::string_view name) {
    return ModelError("attribute '", Escaped(name), "' is given twice");
  };
  absl::flat_hash_set<absl::string_view> seen;
  const bool few = attributes.size() <= 16;  // comparing a few names is faster than hashing them
  for (int i = 0; i < attributes.size(); ++i) {
    const absl::string_view name = attributes[i].name();
    if (name.empty()) return ModelError("attribute ", i, ": expected a name, found none");
    if (!few && !seen.insert(name).second) return twice(name);
    for (int j = 0; few && j < i; ++j) {
      if (attributes[j].name() == name) return twice(name);
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateConstantValues(const onnx::NodeProto& node) {
  const onnx::AttributeProto* first = nullptr;
  for (const auto& attribute : node.attribute()) {
    const bool is_value = attribute.name() == "sparse_value" || absl::StartsWith(attribute.name(), "value");
    if (!is_value || !attribute.ref_attr_name().empty()) continue;
    if (first != nullptr) {
      return ModelError("expected one value, found '", Escaped(first->name()), "' and '", Escaped(attribute.name()),
                        "'");
    }
    first = &attribute;
  }
  return absl::OkStatus();
}

absl::Status ValidateAttributeValue(absl::string_view op_type, const onnx::AttributeProto& attribute,
                                    const Limits& limits) {
  const Rule* rule = FindRule(attribute.name());
  const bool numbers =
      KindOfFields(attribute) == Kind::INT || KindOfFields(attribute) == Kind::INTS || attribute.type() == Kind::INT;
  if (rule == nullptr || !numbers || !attribute.ref_attr_name().empty()) return absl::OkStatus();
  std::vector<int64_t> values(attribute.ints().begin(), attribute.ints().end());
  if (attribute.type() == Kind::INT || attribute.has_i()) values.assign(1, attribute.i());
  switch (*rule) {
    case Rule::kPositive:
      return ValidateAtLeast(values, 1);
    // Negative padding crops; only an operator that does nothing else may.
    case Rule::kNotNegative:
      return FindOperator("", op_type).Has(Role::kPads) ? absl::OkStatus() : ValidateAtLeast(values, 0);
    case Rule::kPermutation:
      return ValidatePermutation(values);
    case Rule::kAxis:
      return ValidateAxes(values, limits);
    case Rule::kNumAxes:
      AMP_RETURN_IF_ERROR(ValidateAtLeast(values, 0));  // inference reads before the first one
      return ValidateAxes(values, limits);
    case Rule::kNumPorts:
      return ValidateNumPorts(values, limits);
    case Rule::kElementType:
      if (IsKnownElementType(values[0])) return absl::OkStatus();
      return ModelError("expected an element type of 1 to ", kNumDTypes - 1, ", found ", values[0]);
  }
  return absl::OkStatus();
}

}  // namespace amp
