#include "ir/functions/add_functions.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "ir/base/check.h"
#include "ir/base/status.h"
#include "ir/file/text.h"
#include "ir/graph/graph_ports.h"
#include "ir/schema/opset_imports.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

constexpr absl::string_view kModelAround = "<ir_version: 8, opset_import: [\"\" : 13]> around () => () { }\n";

bool HasFunction(const Model& model, const onnx::FunctionProto& wanted) {
  const auto& functions = model.proto().functions();
  return std::any_of(functions.begin(), functions.end(), [&](const onnx::FunctionProto& each) {
    return each.domain() == wanted.domain() && each.name() == wanted.name() && each.overload() == wanted.overload();
  });
}

void Add(Model& model, const onnx::FunctionProto& function) {
  if (model.opset(function.domain()) == 0) model.SetOpset(function.domain(), 1);
  AddModelFunction(model, function);
}

}  // namespace

void AddFunction(Model& model, absl::string_view text) {
  const absl::StatusOr<std::string> bytes = ParseOnnxText(absl::StrCat(kModelAround, text));
  AMP_CHECK(bytes.ok());
  onnx::ModelProto parsed;
  AMP_CHECK(parsed.ParseFromString(*bytes) && parsed.functions_size() > 0);
  for (onnx::FunctionProto& function : *parsed.mutable_functions()) {
    if (HasFunction(model, function)) continue;
    for (auto& import : *function.mutable_opset_import()) {
      if (import.domain().empty()) import.set_version(model.opset(""));
    }
    Add(model, function);
  }
}

absl::StatusOr<FunctionPorts> AddCallersFunction(Model& model, const std::string& bytes) {
  onnx::FunctionProto function;
  if (!function.ParseFromString(bytes)) return UsageError("expected a FunctionProto, found bytes that are none");
  const std::string name = Escaped(function.name());
  if (function.name().empty()) return UsageError("expected a function with a name, found one without");
  if (HasFunction(model, function)) return UsageError("the model has a function '", name, "' of that domain already");
  for (const auto& import : function.opset_import()) {
    const int version = model.opset(import.domain());
    const bool is_new = version == 0 && !CanonicalDomain(import.domain()).empty();
    if (is_new) {
      model.SetOpset(import.domain(), static_cast<int>(import.version()));
    } else if (version != import.version()) {
      return UsageError("function '", name, "': expected opset ", version, " of '", Escaped(import.domain()),
                        "', as the model has, found ", import.version());
    }
  }
  Add(model, function);
  return FunctionPorts{function.domain(), function.name(), function.input_size(), function.output_size()};
}

}  // namespace amp
