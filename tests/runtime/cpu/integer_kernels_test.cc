// Products of 8-bit integers by the library, against the reference kernels: equal, not just close.
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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
  const bool is_integer = absl::StrContains(graph, "Integer");
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

// Returns the family that should run: oneDNN's where the processor has exact dot products of 8 bits.
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

TEST_CASE("ConvInteger of both signs: padding is the zero point") {
  const std::string more = ", strides = [2, 1], pads = [1, 2, 0, 1], dilations = [1, 2]";
  for (const DType a : kTypes) {
    const IntegerCase each = {.a = a, .b = DType::kInt8, .a_dims = {2, 6, 9, 11}, .b_dims = {10, 6, 3, 3}};
    CHECK(Family("y = ConvInteger (a, b)", each, {}) == Expected());
    CHECK(Family("y = ConvInteger <pads = [1, 1, 1, 1]> (a, b, a_zero)", each, {}) == Expected());
    CHECK(Family("y = ConvInteger <kernel_shape = [3, 3]" + more + "> (a, b, a_zero)", each, {}) == Expected());
  }
  const IntegerCase line = {.a_dims = {3, 5, 40}, .b_dims = {7, 5, 4}},
                    volume = {.a_dims = {1, 4, 5, 6, 7}, .b_dims = {3, 4, 2, 3, 2}},
                    depthwise = {.a_dims = {1, 16, 9, 9}, .b_dims = {16, 1, 3, 3}},
                    groups = {.a_dims = {2, 8, 7, 7}, .b_dims = {6, 4, 3, 3}};
  CHECK(Family("y = ConvInteger <pads = [2, 1]> (a, b, a_zero)", line, {}) == Expected());
  CHECK(Family("y = ConvInteger <pads = [1, 0, 1, 0, 2, 1]> (a, b, a_zero)", volume, {}) == Expected());
  CHECK(Family("y = ConvInteger <group = 16, pads = [1, 1, 1, 1]> (a, b, a_zero)", depthwise, {}) == Expected());
  CHECK(Family("y = ConvInteger <group = 2, pads = [1, 1, 1, 1]> (a, b, a_zero)", groups, {}) == Expected());
}

TEST_CASE("zero points of weights, one or one for each filter, whatever the window and the groups") {
  const auto zero_of = [](DType dtype, int value) {
    Tensor zero = *Tensor::Create(dtype, {});
    zero.mutable_bytes()[0] = static_cast<std::byte>(value);
    return zero;
  };
  const std::string graph = "y = ConvInteger <pads = [1, 1, 1, 1]> (a, b, a_zero, z)";
  for (const DType b : kTypes) {
    const IntegerCase each = {.b = b, .a_dims = {2, 6, 9, 11}, .b_dims = {10, 6, 3, 3}};
    for (const int zero : {0, 3, 127, 128, 255}) CHECK(Family(graph, each, {{"z", zero_of(b, zero)}}) == Expected());
    CHECK(Family("y = ConvInteger (a, b, a_zero)", each, {}) == Expected());
    CHECK(Family(graph, each, {{"z", RandomBytes(b, {10})}}) == Expected());
  }
  const std::string more = "strides = [2, 1], pads = [1, 2, 0, 1], dilations = [1, 2]";
  for (const DType a : kTypes) {
    for (const DType b : kTypes) {
      const auto random = [&](int64_t filters) { return NamedTensors{{"z", RandomBytes(b, {filters})}}; };
      const auto with = [&](const Dims& a_dims, const Dims& b_dims) {
        return IntegerCase{.a = a, .b = b, .a_dims = a_dims, .b_dims = b_dims};
      };
      CHECK(Family("y = ConvInteger <" + more + "> (a, b, a_zero, z)", with({2, 6, 9, 11}, {10, 6, 3, 3}),
                   random(10)) == Expected());
      CHECK(Family("y = ConvInteger <pads = [2, 1]> (a, b, a_zero, z)", with({3, 5, 40}, {7, 5, 4}), random(7)) ==
            Expected());
      CHECK(Family("y = ConvInteger <pads = [1, 0, 1, 0, 2, 1]> (a, b, a_zero, z)",
                   with({1, 4, 5, 6, 7}, {3, 4, 2, 3, 2}), random(3)) == Expected());
      CHECK(Family("y = ConvInteger <group = 16, pads = [1, 1, 1, 1]> (a, b, a_zero, z)",
                   with({1, 16, 9, 9}, {16, 1, 3, 3}), random(16)) == Expected());
      CHECK(Family("y = ConvInteger <group = 2, pads = [1, 1, 1, 1]> (a, b, a_zero, z)",
                   with({2, 8, 7, 7}, {6, 4, 3, 3}), random(6)) == Expected());
    }
  }
}

TEST_CASE("one constant that signed and unsigned numbers are convolved with, whoever comes first") {
  for (const bool signed_first : {false, true}) {
    const std::string unsigned_one = "y = ConvInteger <pads = [1, 1, 1, 1]> (a, w, a_zero) ",
                      signed_one = "z = ConvInteger <pads = [1, 1, 1, 1]> (b, w, b_zero) ";
    const SessionText text = {
        .text = absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 19]>
          g (uint8[1,16,9,9] a, int8[1,16,9,9] b, uint8 a_zero, int8 b_zero) => (int32[] y, int32[] z) {)",
                             signed_first ? signed_one + unsigned_one : unsigned_one + signed_one, "}"),
        .constants = {{"w", RandomBytes(DType::kInt8, {32, 16, 3, 3})}}};
    SessionOptions with_reference;
    with_reference.find_kernels = FindReferenceKernels;
    const NamedDatums inputs = {{"a", RandomBytes(DType::kUint8, {1, 16, 9, 9})},
                                {"b", RandomBytes(DType::kInt8, {1, 16, 9, 9})},
                                {"a_zero", RandomBytes(DType::kUint8, {})},
                                {"b_zero", RandomBytes(DType::kInt8, {})}};
    const std::vector<Tensor> found = RunSession(*MakeSession(text), inputs),
                              expected = RunSession(*MakeSession(text, with_reference), inputs);
    CHECK(found[0].bytes() == expected[0].bytes());
    CHECK(found[1].bytes() == expected[1].bytes());
  }
}

TEST_CASE("QLinearConv rounds and saturates as the reference does") {
  const std::string inputs = "(a, a_scale, a_zero, b, b_scale, z, y_scale, y_zero", node = "y = QLinearConv ";
  const auto scale = [](float value) { return Tensor::Scalar(value); };
  const Tensor per_filter = Tensor::Of<float>(DType::kFloat32, {10}, std::vector<float>(10, 0.013f));
  std::vector<int32_t> numbers(10);
  for (size_t i = 0; i < 10; ++i) numbers[i] = static_cast<int32_t>(i * i * 300) - 9000;
  const Tensor bias = Tensor::Of<int32_t>(DType::kInt32, {10}, numbers);
  for (const DType a : kTypes) {
    for (const DType y : kTypes) {
      const IntegerCase each = {.a = a, .y = y, .a_dims = {2, 6, 9, 11}, .b_dims = {10, 6, 3, 3}};
      Tensor zero = *Tensor::Create(DType::kInt8, {});
      zero.mutable_bytes()[0] = std::byte{0};
      NamedTensors more = {{"a_scale", scale(0.02f)}, {"b_scale", scale(0.01f)}, {"y_scale", scale(0.7f)}, {"z", zero}};
      CHECK(Family(node + inputs + ")", each, more) == Expected());
      more[1].second = per_filter;
      more.emplace_back("bias", bias);
      const std::string strided = absl::StrCat(node, "<pads = [1, 1, 1, 1], strides = [2, 2]>", inputs, ", bias)");
      CHECK(Family(strided, each, more) == Expected());
      more[2].second = scale(1e-4f);  // all saturate
      CHECK(Family(node + inputs + ", bias)", each, more) == Expected());
    }
  }
}

TEST_CASE("weights of more than two axes are the reference's") {
  CHECK(Family("y = MatMulInteger (a, b)", {.a_dims = {2, 5, 70}, .b_dims = {2, 70, 33}}, {}) == "reference");
}

}  // namespace
}  // namespace amp
