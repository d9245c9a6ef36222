// Tensors that several nodes make of one constant and share.
#include "runtime/kernel/shared_tensors.h"

#include "runtime/reference/reference_kernels.h"
#include "tests/catch2.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

TEST_CASE("a form of a constant is made once; other forms and constants, and what failed, anew") {
  SharedTensors shared;
  const float a = 0, b = 0;
  int made = 0;
  const auto make = [&]() -> absl::StatusOr<Tensor> { return Tensor::Scalar(static_cast<float>(++made)); };
  const auto get = [&](const float& constant, const std::string& form) {
    return shared.Get(&constant, form, make)->elements<float>()[0];
  };
  CHECK(get(a, "packed") == 1);
  CHECK(get(a, "packed") == 1);
  CHECK(get(a, "other") == 2);
  CHECK(get(b, "packed") == 3);
  CHECK_FALSE(shared.Get(&b, "fails", []() -> absl::StatusOr<Tensor> { return absl::UnimplementedError(""); }).ok());
  CHECK(get(b, "fails") == 4);
}

// Square, so that nothing but the order of the elements tells the uses apart.
TEST_CASE("nodes that read one constant in several ways get what each wants") {
  const SessionText text = {
      .text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[1,96] x, float[300,96] many, float[1,96,5,5] image) =>
      (float[] y1, float[] y2, float[] y3, float[] y4, float[] y5, float[] y6) {
      y1 = MatMul (x, w)
      y2 = Gemm <transB = 1> (x, w)
      y3 = Gemm (x, w)
      y4 = MatMul (many, w)
      y5 = Gemm <transB = 1> (many, w)
      filters = Unsqueeze (w, axes)
      y6 = Conv (image, filters)
    })",
      .constants = {{"w", RandomTensor(DType::kFloat32, {96, 96})}, {"axes", Tensor::OfInts({2, 3})}}};
  SessionOptions with_reference;
  with_reference.find_kernels = FindReferenceKernels;
  const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {1, 96})},
                              {"many", RandomTensor(DType::kFloat32, {300, 96})},
                              {"image", RandomTensor(DType::kFloat32, {1, 96, 5, 5})}};
  const auto session = MakeSession(text);
  const std::vector<Tensor> expected = RunSession(*MakeSession(text, with_reference), inputs);
  for (int run = 0; run < 2; ++run) CHECK(DifferenceOf(RunSession(*session, inputs), expected, 1e-4) == "");
}

}  // namespace
}  // namespace amp
