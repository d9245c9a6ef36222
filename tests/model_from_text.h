// A model for a test case, written as ONNX's text.
#ifndef AMP_TESTS_MODEL_FROM_TEXT_H_
#define AMP_TESTS_MODEL_FROM_TEXT_H_

#include <string>

#include "ir/text.h"
#include "onnx/onnx_pb.h"
#include "tests/catch2.h"

inline onnx::ModelProto ModelFromText(const std::string& text) {
  const absl::StatusOr<std::string> bytes = amp::ParseOnnxText(text);
  REQUIRE(bytes.ok());
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(*bytes));
  return model;
}

#endif  // AMP_TESTS_MODEL_FROM_TEXT_H_
