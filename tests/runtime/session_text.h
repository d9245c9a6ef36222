// Sessions of models written as ONNX's text, whose constants may be tensors, and how what comes out of two differs.
//
//   CreateSession({.text = "<...> g (float[n,4] x) => (float[] y) { y = MatMul(x, w) }",
//                  .constants = {{"w", RandomTensor(DType::kFloat32, {4, 3})}}}, {})
#ifndef AMP_TESTS_RUNTIME_SESSION_TEXT_H_
#define AMP_TESTS_RUNTIME_SESSION_TEXT_H_

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/base/check.h"
#include "ir/base/status.h"
#include "ir/file/model_file.h"
#include "ir/file/text.h"
#include "onnx/onnx_pb.h"
#include "runtime/kernel/doubles.h"
#include "runtime/session.h"
#include "runtime/values/npy.h"

namespace amp {

struct SessionText {
  std::string text;
  NamedTensors constants = {};
};

inline onnx::TensorProto ProtoOf(const std::string& name, const Tensor& tensor) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(static_cast<int>(tensor.dtype()));
  for (const int64_t dim : tensor.dims()) proto.add_dims(dim);
  proto.set_raw_data(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.size_bytes());
  return proto;
}

inline absl::StatusOr<LoadedFile> LoadText(const SessionText& text) {
  AMP_ASSIGN_OR_RETURN(const std::string parsed, ParseOnnxText(text.text));
  onnx::ModelProto model;
  AMP_CHECK(model.ParseFromString(parsed));
  for (const auto& [name, tensor] : text.constants) *model.mutable_graph()->add_initializer() = ProtoOf(name, tensor);
  return ParseModel(model.SerializeAsString());
}

inline absl::StatusOr<std::unique_ptr<Session>> CreateSession(const SessionText& text, const SessionOptions& options) {
  AMP_ASSIGN_OR_RETURN(LoadedFile file, LoadText(text));
  return Session::Create(std::move(file), options);
}

inline absl::StatusOr<std::vector<Tensor>> TryToRun(const Session& session, const NamedDatums& inputs) {
  AMP_ASSIGN_OR_RETURN(const std::vector<Datum> outputs, session.Run(inputs));
  std::vector<Tensor> tensors;
  tensors.reserve(outputs.size());
  for (const Datum& output : outputs) tensors.push_back(output.tensor() == nullptr ? Tensor() : *output.tensor());
  return tensors;
}

// Returns the largest magnitude of the finite elements.
inline double LargestMagnitude(const std::vector<double>& elements) {
  double largest = 0;
  for (const double x : elements) largest = std::max(largest, std::isfinite(x) ? std::fabs(x) : 0);
  return largest;
}

// Describes the first element that differs by more than `tolerance` times the largest finite magnitude of the expected
// tensor. Returns "" if none does.
inline std::string DifferenceOf(const Tensor& found, const Tensor& expected, double tolerance) {
  if (found.dtype() != expected.dtype() || found.dims() != expected.dims()) {
    return absl::StrCat("found ", found.TypeText(), ", expected ", expected.TypeText());
  }
  if (found.dtype() == DType::kBool)
    return std::equal(found.bytes().begin(), found.bytes().end(), expected.bytes().begin()) ? "" : "other truth values";
  const std::vector<double> a = *ReadDoubles(found), b = *ReadDoubles(expected);
  const double allowed = tolerance * LargestMagnitude(b);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || std::fabs(a[i] - b[i]) <= allowed) continue;
    return absl::StrCat(found.TypeText(), " element ", i, ": found ", a[i], ", expected ", b[i]);
  }
  return "";
}

inline std::string DifferenceOf(const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                                double tolerance) {
  if (found.size() != expected.size()) return "another number of outputs";
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string difference = DifferenceOf(found[i], expected[i], tolerance);
    if (!difference.empty()) return absl::StrCat("output ", i, ": ", difference);
  }
  return "";
}

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_SESSION_TEXT_H_
