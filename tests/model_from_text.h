// A model for a test case, written as ONNX's text.
#ifndef AMP_TESTS_MODEL_FROM_TEXT_H_
#define AMP_TESTS_MODEL_FROM_TEXT_H_

#include <google/protobuf/arena.h>

#include <memory>
#include <string>
#include <utility>

#include "ir/file/text.h"
#include "ir/graph/graph.h"
#include "onnx/onnx_pb.h"
#include "tests/catch2.h"

inline onnx::ModelProto ModelFromText(const std::string& text) {
  const absl::StatusOr<std::string> bytes = amp::ParseOnnxText(text);
  REQUIRE(bytes.ok());
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(*bytes));
  return model;
}

inline std::unique_ptr<amp::Model> GraphFromText(const std::string& text) {
  auto arena = std::make_unique<google::protobuf::Arena>();
  auto* proto = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(arena.get());
  *proto = ModelFromText(text);
  absl::StatusOr<std::unique_ptr<amp::Model>> model = amp::Model::Create(std::move(arena), proto);
  REQUIRE(model.ok());
  return *std::move(model);
}

#endif  // AMP_TESTS_MODEL_FROM_TEXT_H_
