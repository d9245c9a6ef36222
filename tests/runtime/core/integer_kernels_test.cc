// Products of 8-bit integers by the library, against the reference kernels: equal, not just close.
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "runtime/onednn/open_library.h"
#include "runtime/reference/reference_kernels.h"
#include "tests/catch2.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

Tensor RandomBytes(DType dtype, const Dims& dims) {
  static std::mt19937 random(7);
  absl::StatusOr<Tensor> tensor = Tensor::Create(dtype, dims);
  REQUIRE(tensor.ok());
  for (std::byte& b : tensor->mutable_bytes()) b = static_cast<std::byte>(random() & 0xff);
  return *std::move(tensor);
}

std::string TypeName(DType dtype) { return dtype == DType::kUint8 ? "uint8" : "int8"; }

struct IntegerCase {
  DType a = DType::kUint8, b = DType::kInt8, y = DType::kUint8;
  Dims a_dims = {5, 70}, b_dims = {70, 33}, b_zero_dims = {};
};

// "onednn" where that ran twice and gave what the reference gives; else what is wrong.
std::string Family(const std::string& graph, const IntegerCase& each, const NamedTensors& more) {
  SessionText text = {.text = "<ir_version: 8, opset_import: [\"\" : 19]> g (A[] a) => (Y[] y) { " + graph + " }",
                      .constants = {{"b", RandomBytes(each.b, each.b_dims)},
                                    {"a_zero", RandomBytes(each.a, {})},
                                    {"b_zero", RandomBytes(each.b, each.b_zero_dims)},
                                    {"y_zero", RandomBytes(each.y, {})}}};
  text.constants.insert(text.constants.end(), more.begin(), more.end());
  const bool is_integer = absl::StrContains(graph, "MatMulInteger");
  text.text = absl::StrReplaceAll(
      text.text, {{"A[", TypeName(each.a) + "["}, {"Y[", (is_integer ? "int32" : TypeName(each.y)) + "["}});
  const auto library = MakeSession(text);
  SessionOptions with_reference;
  with_reference.find_kernels = FindReferenceKernels;
  const auto reference = MakeSession(text, with_reference);
  std::string family;
  for (int run = 0; run < 2; ++run) {
    const NamedDatums inputs = {{"a", RandomBytes(each.a, each.a_dims)}};
    const Tensor found = RunSession(*library, inputs)[0], expected = RunSession(*reference, inputs)[0];
    if (found.TypeText() != expected.TypeText()) return found.TypeText();
    if (found.bytes() != expected.bytes()) return "other numbers";
    const std::string kernel = KernelsOf(*library)[0];
    family = kernel.substr(0, kernel.find(' '));
  }
  return family;
}

// What runs where the processor has exact dot products of 8 bits.
std::string Expected() {
  const onednn::Library* library = onednn::OpenLibrary().library;
  return library != nullptr && library->ComputesIn(DType::kInt8) ? "onednn" : "reference";
}

constexpr DType kTypes[] = {DType::kUint8, DType::kInt8};

TEST_CASE("MatMulInteger of both signs, with zero points or without") {
  for (const DType a : kTypes) {
    for (const DType b : kTypes) {
      CHECK(Family("y = MatMulInteger (a, b)", {.a = a, .b = b}, {}) == Expected());
      CHECK(Family("y = MatMulInteger (a, b, a_zero)", {.a = a, .b = b}, {}) == Expected());
      CHECK(Family("y = MatMulInteger (a, b, a_zero, b_zero)", {.a = a, .b = b}, {}) == Expected());
      CHECK(Family("y = MatMulInteger (a, b, a_zero, b_zero)", {.a = a, .b = b, .b_zero_dims = {33}}, {}) ==
            Expected());
    }
  }
  CHECK(Family("y = MatMulInteger (a, b, a_zero)", {.a_dims = {2, 3, 70}}, {}) == Expected());
  CHECK(Family("y = MatMulInteger (a, b, a_zero)", {.a_dims = {1, 4000}, .b_dims = {4000, 3}}, {}) == Expected());
}

TEST_CASE("QLinearMatMul rounds and saturates as the reference does") {
  const std::string graph = "y = QLinearMatMul (a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero)";
  const auto scale = [](float value) { return Tensor::Scalar(value); };
  const Tensor per_column = Tensor::Of<float>(DType::kFloat32, {33}, std::vector<float>(33, 0.013f));
  for (const DType a : kTypes) {
    for (const DType b : kTypes) {
      for (const DType y : kTypes) {
        const IntegerCase each = {.a = a, .b = b, .y = y};
        CHECK(Family(graph, each, {{"a_scale", scale(0.02f)}, {"b_scale", scale(0.01f)}, {"y_scale", scale(0.7f)}}) ==
              Expected());
        CHECK(Family(graph, each, {{"a_scale", scale(0.5f)}, {"b_scale", scale(0.5f)}, {"y_scale", scale(0.25f)}}) ==
              Expected());  // all saturate
        CHECK(Family(graph, each, {{"a_scale", scale(0.02f)}, {"b_scale", per_column}, {"y_scale", scale(0.9f)}}) ==
              Expected());
      }
    }
  }
}

TEST_CASE("weights of more than two axes are the reference's") {
  CHECK(Family("y = MatMulInteger (a, b)", {.a_dims = {2, 5, 70}, .b_dims = {2, 70, 33}}, {}) == "reference");
}

}  // namespace
}  // namespace amp
