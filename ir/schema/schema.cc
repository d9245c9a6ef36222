#include "ir/schema/schema.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ir/base/check.h"
#include "onnx/defs/schema.h"

namespace amp {
namespace {

// "tensor(float)" -> kFloat32; anything but a dense tensor type -> kUndefined.
DType TensorTypeOf(absl::string_view onnx_type) {
  static const auto* const kNames = new absl::flat_hash_map<absl::string_view, DType>{
      {"float", DType::kFloat32},
      {"uint8", DType::kUint8},
      {"int8", DType::kInt8},
      {"uint16", DType::kUint16},
      {"int16", DType::kInt16},
      {"int32", DType::kInt32},
      {"int64", DType::kInt64},
      {"string", DType::kString},
      {"bool", DType::kBool},
      {"float16", DType::kFloat16},
      {"double", DType::kFloat64},
      {"uint32", DType::kUint32},
      {"uint64", DType::kUint64},
      {"complex64", DType::kComplex64},
      {"complex128", DType::kComplex128},
      {"bfloat16", DType::kBfloat16},
      {"float8e4m3fn", DType::kFloat8E4M3FN},
      {"float8e4m3fnuz", DType::kFloat8E4M3FNUZ},
      {"float8e5m2", DType::kFloat8E5M2},
      {"float8e5m2fnuz", DType::kFloat8E5M2FNUZ},
      {"uint4", DType::kUint4},
      {"int4", DType::kInt4},
      {"float4e2m1", DType::kFloat4E2M1},
      {"float8e8m0", DType::kFloat8E8M0},
      {"uint2", DType::kUint2},
      {"int2", DType::kInt2},
      {"float6e2m3", DType::kFloat6E2M3},
      {"float6e3m2", DType::kFloat6E3M2},
  };
  if (!absl::ConsumePrefix(&onnx_type, "tensor(") || !absl::ConsumeSuffix(&onnx_type, ")")) return DType::kUndefined;
  auto it = kNames->find(onnx_type);
  return it == kNames->end() ? DType::kUndefined : it->second;
}

// "optional(seq(tensor(float)))" -> kFloat32; a dense tensor type, or anything else -> kUndefined.
DType ContainedTypeOf(absl::string_view onnx_type) {
  const absl::string_view whole = onnx_type;
  while (absl::ConsumePrefix(&onnx_type, "seq(") || absl::ConsumePrefix(&onnx_type, "optional(")) {
    absl::ConsumeSuffix(&onnx_type, ")");
  }
  return onnx_type == whole ? DType::kUndefined : TensorTypeOf(onnx_type);
}

// RMSNormalization types Y by its own variable V, but ONNX's inference gives it X's type T: only equal ones are valid
// to both.
std::string VariableName(const onnx::OpSchema& schema, const std::string& type_text) {
  return schema.Name() == "RMSNormalization" && type_text == "V" ? "T" : type_text;
}

OpSchema::Presence PresenceOf(onnx::OpSchema::FormalParameterOption option) {
  if (option == onnx::OpSchema::Variadic) return OpSchema::Presence::kVariadic;
  return option == onnx::OpSchema::Optional ? OpSchema::Presence::kOptional : OpSchema::Presence::kRequired;
}

}  // namespace

OpSchema::OpSchema(std::string domain, std::string name, std::vector<Variable> variables, std::vector<Port> inputs,
                   std::vector<Port> outputs)
    : name_(std::move(name)),
      domain_(std::move(domain)),
      since_version_(1),
      variables_(std::move(variables)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)) {}

OpSchema::OpSchema(const onnx::OpSchema& schema)
    : name_(schema.Name()),
      domain_(schema.domain()),
      since_version_(schema.SinceVersion()),
      deprecated_(schema.Deprecated()),
      onnx_(&schema) {
  const auto add_port = [&](const onnx::OpSchema::FormalParameter& parameter, std::vector<Port>* ports) {
    Port port;
    port.name = parameter.GetName();
    port.presence = PresenceOf(parameter.GetOption());
    port.heterogeneous = port.presence == Presence::kVariadic && !parameter.GetIsHomogeneous();
    Variable types{VariableName(schema, parameter.GetTypeStr()), {}, {}};
    for (const auto& type : parameter.GetTypes()) {
      if (DType dtype = TensorTypeOf(*type); dtype != DType::kUndefined) {
        types.tensor_types.set(static_cast<size_t>(dtype));
      } else if (dtype = ContainedTypeOf(*type); dtype != DType::kUndefined) {
        types.contained_types.set(static_cast<size_t>(dtype));
      }
    }
    if (port.heterogeneous) {
      heterogeneous_.tensor_types |= types.tensor_types;
      heterogeneous_.contained_types |= types.contained_types;
    } else {
      const auto same_name = [&](const Variable& v) { return v.name == types.name; };
      auto it = std::find_if(variables_.begin(), variables_.end(), same_name);
      port.variable = static_cast<int>(it - variables_.begin());
      if (it == variables_.end()) variables_.push_back(std::move(types));
    }
    ports->push_back(std::move(port));
  };
  for (const auto& input : schema.inputs()) add_port(input, &inputs_);
  for (const auto& output : schema.outputs()) add_port(output, &outputs_);
}

int OpSchema::VariableOf(const std::vector<Port>& ports, size_t port) const {
  AMP_CHECK(!ports.empty());
  const size_t last = ports.size() - 1;
  const Port& p = ports[std::min(port, last)];
  if (!p.heterogeneous) return p.variable;
  return static_cast<int>(variables_.size() + std::max(port, last) - last);
}

int OpSchema::InputVariable(size_t port) const { return VariableOf(inputs_, port); }
int OpSchema::OutputVariable(size_t port) const { return VariableOf(outputs_, port); }

// ONNX Runtime had LayerNormalization in ai.onnx, at every opset, before ONNX took it over as it was; exporters wrote
// it.
const OpSchema* OpSchema::EarlyForm(absl::string_view op_type, int opset) {
  constexpr int kFirstOfOnnx = 17;
  if (op_type != "LayerNormalization" || opset < 1 || opset >= kFirstOfOnnx) return nullptr;
  static const OpSchema* const form = [] {
    auto* schema = new OpSchema(*onnx::OpSchemaRegistry::Schema("LayerNormalization", kFirstOfOnnx, ""));
    schema->since_version_ = 1;
    schema->precedes_onnx_ = true;
    return schema;
  }();
  return form;
}

const OpSchema* FindOpSchema(absl::string_view domain, absl::string_view op_type, int opset) {
  static std::mutex mutex;
  static auto* const cache = new absl::flat_hash_map<const onnx::OpSchema*, std::unique_ptr<OpSchema>>;
  if (domain == "ai.onnx") domain = "";
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(std::string(op_type), opset, std::string(domain));
  if (schema == nullptr && domain.empty()) return OpSchema::EarlyForm(op_type, opset);
  if (schema == nullptr) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& entry = (*cache)[schema];
  if (entry == nullptr) entry.reset(new OpSchema(*schema));
  return entry.get();
}

int NewestOpset() { return onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second; }

int IrVersionForOpset(int opset) {
  // The first opset of each IR version, from the table of releases in ONNX's docs/Versioning.md.
  struct Row {
    int opset, ir;
  };
  constexpr Row kRows[] = {{28, 14}, {25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9},
                           {15, 8},  {12, 7},  {11, 6},  {10, 5},  {9, 4}};
  for (const Row& row : kRows) {
    if (opset >= row.opset) return row.ir;
  }
  return 3;
}

int NewestIrVersion() { return static_cast<int>(onnx::Version::IR_VERSION); }

namespace {

using OperatorsByDomain = std::map<std::string, std::vector<std::string>, std::less<>>;

const OperatorsByDomain& AllRegisteredOperators() {
  static const auto* const by_domain = [] {
    auto* map = new OperatorsByDomain;
    for (const auto& schema : onnx::OpSchemaRegistry::get_all_schemas())
      (*map)[schema.domain()].push_back(schema.Name());
    for (auto& [name, operators] : *map) {
      std::sort(operators.begin(), operators.end());
      operators.erase(std::unique(operators.begin(), operators.end()), operators.end());
    }
    return map;
  }();
  return *by_domain;
}

}  // namespace

const std::vector<std::string>& RegisteredOperators(absl::string_view domain) {
  static const auto* const kNone = new std::vector<std::string>;
  const auto it = AllRegisteredOperators().find(domain == "ai.onnx" ? absl::string_view() : domain);
  return it == AllRegisteredOperators().end() ? *kNone : it->second;
}

std::vector<std::string> RegisteredDomains() {
  std::vector<std::string> domains;
  for (const auto& [domain, operators] : AllRegisteredOperators()) domains.push_back(domain);
  return domains;
}

}  // namespace amp
