// Products of matrices on a device, against the reference. On the test double plain loops compute them, on a GPU the
// library does.
#include <algorithm>

#include "runtime/device/raw/multiply.h"
#include "tests/catch2.h"
#include "tests/runtime/device/run_on_device.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("device: products, folded, in batches, and repeated in every way") {
  const std::vector<std::pair<Dims, Dims>> shapes = {
      {{5, 7}, {7, 3}},       {{2, 4, 5, 7}, {7, 3}},    {{2, 4, 5, 7}, {2, 4, 7, 3}},
      {{4, 5, 7}, {1, 7, 3}}, {{1, 5, 7}, {4, 7, 3}},    {{7}, {7, 3}},
      {{5, 7}, {7}},          {{2, 1, 5, 7}, {3, 7, 4}}, {{7}, {7}}};
  for (const auto& [dims_a, dims_b] : shapes) {
    for (const DType dtype : kLoopFloats) {
      const Tensor a = RandomTensor(dtype, dims_a), b = RandomTensor(dtype, dims_b);
      CHECK(RunOnDevice({.node = "y = MatMul(a, b)", .inputs = {a, b}, .relative = 1e-5, .absolute = 1e-4}) == "");
    }
  }
}

TEST_CASE("device: Gemm, with all of its attributes") {
  const Tensor a = RandomTensor(DType::kFloat32, {5, 7}), b = RandomTensor(DType::kFloat32, {7, 3});
  const Tensor ta = RandomTensor(DType::kFloat32, {7, 5}), tb = RandomTensor(DType::kFloat32, {3, 7});
  const auto gemm = [](const std::string& attributes, const std::vector<Tensor>& inputs) {
    const std::string c = inputs.size() > 2 ? ", c" : "";
    return RunOnDevice(
        {.node = "y = Gemm<" + attributes + ">(a, b" + c + ")", .inputs = inputs, .relative = 1e-5, .absolute = 1e-4});
  };
  const Tensor row = RandomTensor(DType::kFloat32, {3}), rows = RandomTensor(DType::kFloat32, {1, 3});
  CHECK(gemm("alpha = 0.5", {a, b}) == "");
  CHECK(gemm("alpha = 1.0", {a, b, row}) == "");
  CHECK(gemm("transA = 1, alpha = 2.0", {ta, b, rows}) == "");
  CHECK(gemm("transB = 1", {a, tb, row}) == "");
  CHECK(gemm("transA = 1, transB = 1, beta = 0.0", {ta, tb, row}) == "");
  CHECK_THAT(gemm("beta = 0.5", {a, b, row}), Contains("beta is neither 1 nor 0"));
  CHECK_THAT(gemm("alpha = 1.0", {a, b, RandomTensor(DType::kFloat32, {5, 1})}), Contains("C is not one row"));
  CHECK(RunOnDevice({.node = "y = com.microsoft.FusedMatMul<transA = 1, alpha = 0.25>(a, b)",
                     .inputs = {RandomTensor(DType::kFloat32, {2, 7, 5}), RandomTensor(DType::kFloat32, {2, 7, 3})},
                     .relative = 1e-5,
                     .absolute = 1e-4}) == "");
}

TEST_CASE("device: Einsum that is a batch of products, in any order of its axes") {
  struct EinsumCase {
    std::string equation;
    Dims a, b;
  };
  const EinsumCase cases[] = {{"b h i d, b h j d -> b h i j", {2, 3, 4, 5}, {2, 3, 6, 5}},
                              {"bhij,bhjd->bhid", {2, 3, 4, 6}, {2, 3, 6, 5}},
                              {"ij,jk->ik", {4, 6}, {6, 5}},
                              {"ij,jk->ki", {4, 6}, {6, 5}},
                              {"bij,bkj->bik", {2, 4, 6}, {2, 5, 6}},
                              {"bnqk,bknd->bqnd", {2, 3, 4, 6}, {2, 6, 3, 5}},
                              {"ijab,abk->ikj", {2, 3, 4, 5}, {4, 5, 6}},
                              {"i,i->", {7}, {7}}};
  for (const auto& [equation, a, b] : cases) {
    for (const DType dtype : kLoopFloats) {
      if (dtype == DType::kBfloat16) continue;  // ai.onnx's Einsum has none
      CHECK(
          RunOnDevice({.node = "y = Einsum<equation = \"" + equation + "\">(a, b)",
                       .inputs = {RandomTensor(dtype, a, Values::kPlain, 1), RandomTensor(dtype, b, Values::kPlain, 1)},
                       .relative = 1e-5,
                       .absolute = dtype == DType::kFloat32 ? 1e-5 : 1e-2}) == "");
    }
  }
  const Tensor square = RandomTensor(DType::kFloat32, {4, 4});
  for (const std::string equation : {"ii,ij->ij", "ij,kl->ijkl", "ij,jk->i", "...ij,jk->...ik"}) {
    CHECK_THAT(WhyOnHost({.node = "y = Einsum<equation = \"" + equation + "\">(a, b)", .inputs = {square, square}}),
               Contains("no product of matrices"));
  }
  CHECK_THAT(WhyOnHost({.node = "y = Einsum<equation = \"ij->ji\">(a)", .inputs = {square}}),
             Contains("not of two operands"));
}

TEST_CASE("device: what is behind a product is done by the library, by a chain, or by both") {
  const auto with = [](const std::string& nodes, const std::string& result = "float") {
    return SessionText{.text = "<ir_version: 10, opset_import: [\"\" : 21]> g (float[n,4] x, float[n,6] r) => (" +
                               result + "[n,6] y) {" + nodes + "}",
                       .constants = {{"w", RandomTensor(DType::kFloat32, {4, 6})},
                                     {"b", RandomTensor(DType::kFloat32, {6})},
                                     {"one", RandomTensor(DType::kFloat32, {1})}}};
  };
  const std::pair<std::string, int> cases[] = {
      // and how many kernels there are
      {"h = MatMul (x, w) y = Relu (h)", 0},
      {"h = MatMul (x, w) s = Add (h, b) y = Relu (s)", 0},
      {"h = Gemm (x, w, b) y = Gelu <approximate = \"tanh\"> (h)", 0},
      {"h = MatMul (x, w) s = Add (b, h) y = Gelu (s)", 1},
      {"h = MatMul (x, w) s = Add (h, b) t = Add (s, r) y = Relu (t)", 0},
      {"h = MatMul (x, w) s = Add (r, h) y = Add (s, b)", 0},
      {"h = Gemm (x, w, b) s = Add (h, r) y = Add (s, r)", 1},
      {"h = Gemm (x, w, b) s = Mul (h, one) t = Sigmoid (s) y = Add (t, r)", 1},
      {"h = MatMul (x, w) s = Add (h, r) y = Clip (s, , one)", 1}};
  const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {3, 4})},
                              {"r", RandomTensor(DType::kFloat32, {3, 6})}};
  for (const auto& [nodes, launches] : cases) {
    INFO(nodes);
    const SessionText text = with(nodes);
    SessionOptions options;
    const auto state = std::make_shared<FakeDeviceState>();
    options.device = OpenFakeDevice(state);
    const auto session = MakeSession(text, options);
    const std::vector<Tensor> found = RunSession(*session, inputs);
    CHECK(state->launches == launches);
    CHECK(DifferenceOf(found, RunSession(*MakeSession(text, OneByOne()), inputs), 1e-5) == "");
  }
  const SessionText narrowed = with("h = MatMul (x, w) s = Add (h, b) y = Cast <to = 10> (s)", "float16");
  SessionOptions options;
  options.device = OpenFakeDevice();
  const auto session = MakeSession(narrowed, options);
  CHECK(DifferenceOf(RunSession(*session, inputs), RunSession(*MakeSession(narrowed, OneByOne()), inputs), 1e-3) == "");
  CHECK(KernelsOf(*session) == std::vector<std::string>{"device MatMul"});
}

TEST_CASE("device: NaN and infinities come through what is computed behind a product or a convolution") {
  const std::string kActivations[] = {
      "Relu (s)", "Clip (s, zero, one)", "HardSigmoid (s)", "LeakyRelu (s)", "Gelu <approximate = \"tanh\"> (s)",
      "Gelu (s)", "HardSwish (s)",       "Sigmoid (s)",     "Elu (s)"};
  const std::string kSums[] = {"h = MatMul (x, w) s = Add (h, b)", "c = Reshape (x, pixels) s = Conv (c, v, b)"};
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    const std::string type = dtype == DType::kFloat32 ? "float" : "float16";
    for (const std::string& nodes : kSums) {
      for (const std::string& activation : kActivations) {
        const SessionText text = {
            .text = absl::StrCat("<ir_version: 10, opset_import: [\"\" : 21]> g (", type, "[3,8] x) => (", type,
                                 "[] y) <", type, " zero = {0}, ", type,
                                 " one = {1}, int64[4] pixels = {3, 8, 1, 1}> {", nodes, " y = ", activation, "}"),
            .constants = {{"w", RandomTensor(dtype, {8, 8})},
                          {"v", RandomTensor(dtype, {8, 8, 1, 1})},
                          {"b", RandomTensor(dtype, {8})}}};
        Tensor x = *Tensor::Create(dtype, {3, 8});
        std::vector<double> elements(24, 0.5);
        elements[8] = NAN;
        elements[16] = INFINITY;
        REQUIRE(WriteDoubles(elements, x).ok());
        const std::vector<Tensor> expected = RunSession(*MakeSession(text, OneByOne()), {{"x", x}});
        for (const auto& device : TestDevices()) {
          INFO(nodes << " " << activation << " " << type);
          SessionOptions options;
          options.device = device;
          CHECK(DifferenceOf(RunSession(*MakeSession(text, options), {{"x", x}}), expected, 4e-3) == "");
        }
      }
    }
  }
}

const SessionText kProduct = {.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,4] x) => (float[n,4] y) { h = MatMul (x, w) y = Relu (h) })",
                              .constants = {{"w", RandomTensor(DType::kFloat32, {4, 4})}}};

TEST_CASE("device: without its library products are an error, never a run on the processor") {
  SessionOptions options;
  options.device = OpenFakeDevice(nullptr, {.has_products = false});
  const auto session = MakeSession(kProduct, options);
  for (int run = 0; run < 2; ++run) {
    const absl::Status status = session->Run({{"x", RandomTensor(DType::kFloat32, {3, 4})}}).status();
    CHECK(ExitCode(status) == 8);
    CHECK_THAT(std::string(status.message()), Contains("double: the double has no products"));
  }
  const auto without = MakeSession({.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,4] x) => (float[n,4] y) { y = Relu (x) })"},
                                   options);
  CHECK(without->Run({{"x", RandomTensor(DType::kFloat32, {3, 4})}}).ok());  // nobody asks for it
}

TEST_CASE(
    "device: products that its library has no algorithm for stay there, in a kernel of our own, which is said once") {
  SessionOptions options;
  options.device = OpenFakeDevice(nullptr, {.takes_products = false});
  const auto session = MakeSession(kProduct, options);
  const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {3, 4})}};
  const std::vector<Tensor> expected = RunSession(*MakeSession(kProduct), inputs);
  for (int run = 0; run < 3; ++run) CHECK(DifferenceOf(RunSession(*session, inputs), expected, 1e-5) == "");
  CHECK(KernelsOf(*session) == std::vector<std::string>{"device MatMul", "device Relu"});
  // The product and what is behind it are not one where the library lacks the product.
  const Instruction& product = session->program().blocks[kMainGraph][0].unfused[0];
  const absl::MutexLock lock(&product.site->mutex);
  CHECK(product.site->implementation == "kernel of our own: the double takes none");
  CHECK(options.device->TakeWarnings() ==
        std::vector<std::string>{"products of matrices run in a slow kernel of our own: the double takes none"});
  CHECK(options.device->TakeWarnings().empty());
}

TEST_CASE("device: the kernel for products without a library takes all sizes, types, batches and what is added") {
  const std::vector<std::shared_ptr<Accelerator>> devices = {OpenFakeDevice(nullptr, {.takes_products = false})};
  const auto run = [&](const std::string& node, const std::vector<Tensor>& inputs) {
    return RunOnDevice({.node = node, .inputs = inputs, .relative = 1e-5, .absolute = 1e-4}, devices);
  };
  const std::vector<std::pair<Dims, Dims>> shapes = {
      {{5, 7}, {7, 3}},      {{4, 4}, {4, 4}},          {{9, 5}, {5, 17}},  {{2, 4, 5, 7}, {2, 4, 7, 3}},
      {{1, 8}, {8, 1}},      {{2, 1, 5, 7}, {3, 7, 4}}, {{3, 65}, {65, 2}}, {{4, 5, 7}, {1, 7, 3}},
      {{1, 5, 7}, {4, 7, 3}}};
  for (const auto& [a, b] : shapes) {
    for (const DType dtype : kLoopFloats) {
      INFO(DTypeName(dtype));
      CHECK(run("y = MatMul(a, b)", {RandomTensor(dtype, a), RandomTensor(dtype, b)}) == "");
    }
  }
  const Tensor a = RandomTensor(DType::kFloat16, {6, 5}), b = RandomTensor(DType::kFloat16, {5, 9}),
               row = RandomTensor(DType::kFloat16, {9}), ta = RandomTensor(DType::kFloat16, {5, 6}),
               tb = RandomTensor(DType::kFloat16, {9, 5});
  CHECK(run("y = Gemm<alpha = 0.5>(a, b, c)", {a, b, row}) == "");
  CHECK(run("y = Gemm<transA = 1>(a, b, c)", {ta, b, row}) == "");
  CHECK(run("y = Gemm<transA = 1, transB = 1>(a, b)", {ta, tb}) == "");
  CHECK(run("y = Einsum<equation = \"bij,bkj->bik\">(a, b)",
            {RandomTensor(DType::kFloat32, {2, 4, 6}), RandomTensor(DType::kFloat32, {2, 5, 6})}) == "");
  CHECK(run("y = Attention(a, b, c)",
            {RandomTensor(DType::kFloat32, {1, 2, 5, 8}), RandomTensor(DType::kFloat32, {1, 2, 7, 8}),
             RandomTensor(DType::kFloat32, {1, 2, 7, 6})}) == "");
}

TEST_CASE("device: the kernel for products without a library adds what is there, and then does the function") {
  using device::ProductActivation;
  const auto device = OpenFakeDevice();
  const auto on_device = [&](const std::vector<float>& values, Dims dims) {
    const Tensor on_host = *Tensor::Create(DType::kFloat32, std::move(dims));
    Tensor tensor = on_host;
    std::copy(values.begin(), values.end(), tensor.mutable_elements<float>().begin());
    return *device->CopyIn(tensor, nullptr);
  };
  const Tensor a = on_device({1, -2, 3, 4, 5, -6}, {2, 3}), b = on_device({1, 0, 2, -1, 1, 1}, {3, 2}),
               bias = on_device({10, -3}, {2}), addend = on_device({1, 2, 3, 4}, {2, 2});
  for (const auto& [activation, expected] : {std::pair(ProductActivation::kNone, std::vector<float>{11, 1.5, 17, -4.5}),
                                             std::pair(ProductActivation::kRelu, std::vector<float>{11, 1.5, 17, 0})}) {
    Tensor y = *Tensor::Create(DType::kFloat32, {2, 2}, device.get());
    device->Start(device::MultiplyArguments{{.a = a.data(),
                                             .b = b.data(),
                                             .bias = bias.data(),
                                             .addend = addend.data(),
                                             .y = y.mutable_data(),
                                             .storage = device::Storage::kFloat32,
                                             .y_storage = device::Storage::kFloat32,
                                             .m = 2,
                                             .n = 2,
                                             .k = 3,
                                             .batch = 1,
                                             .a_step = 0,
                                             .b_step = 0,
                                             .transposes_a = false,
                                             .transposes_b = false,
                                             .activation = activation,
                                             .allows_tf32 = false,
                                             .alpha = 0.5F}});
    const Tensor found = *device->CopyOut(y, nullptr);
    CHECK(std::vector<float>(found.elements<float>().begin(), found.elements<float>().end()) == expected);
  }
}

}  // namespace
}  // namespace amp
