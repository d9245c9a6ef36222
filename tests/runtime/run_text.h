// Runs one node, written as ONNX's text, for tests of kernels.
//
//   Computed({.opset = 14, .given = "int8[2] a = {7, -7}, int8[1] b = {2}", .node = "y = Div(a, b)",
//             .output = "int8[2]"}) == "int8[2]: 3 -3"
//
// A node that fails gives "error: " and the message.
#ifndef AMP_TESTS_RUNTIME_RUN_TEXT_H_
#define AMP_TESTS_RUNTIME_RUN_TEXT_H_

#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/file/model_file.h"
#include "ir/file/text.h"
#include "runtime/kernel/tensor.h"
#include "runtime/session.h"

struct NodeText {
  int opset = 21;
  std::string imports = {};  // of further domains: ", \"ai.onnx.ml\" : 3"
  std::string given = {};    // initializers
  std::string node = {};     // gives y
  std::string output = {};   // the type of y
  uint64_t seed = 0;
};

inline absl::StatusOr<amp::Tensor> RunText(const NodeText& text) {
  AMP_ASSIGN_OR_RETURN(
      const std::string bytes,
      amp::ParseOnnxText(absl::StrCat("<ir_version: 10, opset_import: [\"\" : ", text.opset, text.imports,
                                      "]> g () => (", text.output, " y) <", text.given, "> {", text.node, "}")));
  AMP_ASSIGN_OR_RETURN(amp::LoadedFile file, amp::ParseModel(bytes));
  amp::SessionOptions options;
  options.seed = text.seed;
  AMP_ASSIGN_OR_RETURN(const auto session, amp::Session::Create(std::move(file), options));
  AMP_ASSIGN_OR_RETURN(const std::vector<amp::Datum> outputs, session->Run({}));
  if (outputs[0].tensor() == nullptr) return amp::ModelError("no tensor");
  return *outputs[0].tensor();
}

// "float32[2]: 1.5 nan"
inline std::string TensorText(const amp::Tensor& tensor) {
  std::string text = absl::StrCat(tensor.TypeText(), ":");
  const auto append = [&]<typename T>(amp::TypeTag<T>) {
    for (const T element : tensor.elements<T>()) {
      if constexpr (std::is_integral_v<T>) {
        absl::StrAppend(&text, " ", +element);
      } else {
        absl::StrAppend(&text, " ", amp::ToDouble(element));
      }
    }
  };
  if (!amp::VisitNumbersAndBool(tensor.dtype(), append)) amp::VisitTinyTypes(tensor.dtype(), append);
  if (tensor.dtype() == amp::DType::kString) {
    for (const std::string& element : tensor.elements<std::string>()) absl::StrAppend(&text, " ", element);
  }
  return text;
}

inline std::string Computed(const NodeText& text) {
  const absl::StatusOr<amp::Tensor> y = RunText(text);
  return y.ok() ? TensorText(*y) : absl::StrCat("error: ", y.status().message());
}

#endif  // AMP_TESTS_RUNTIME_RUN_TEXT_H_
