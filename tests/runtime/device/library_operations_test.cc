// Convolutions and attention by a device's library: which nodes it computes together, what is left to kernels of our
// own, and what reports say. The library is the test double's, which computes what it is asked for in plain loops.
#include "absl/strings/match.h"
#include "ir/base/status.h"
#include "tests/catch2.h"
#include "tests/runtime/device/on_fake_device.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;
FuseCase Convolution(const std::string& behind, const std::string& attributes = "pads = [1, 1, 1, 1]") {
  return {.graph = "(T[2,4,6,5] x, T[2,6,6,5] r) => (T[] y) { h = Conv <" + attributes + "> (x, w, b) " + behind + " }",
          .tensors = {{"x", {2, 4, 6, 5}}, {"r", {2, 6, 6, 5}}, {"w", {6, 4, 3, 3}}, {"b", {6}}, {"c", {1, 6, 1, 1}}}};
}

TEST_CASE("device: a convolution with bias, residual and activation is one operation of the library") {
  for (const DType dtype : kLoopFloats) {
    const OnDouble ran(Convolution("s = Add (h, r) y = Relu (s)"), dtype);
    CHECK(ran.kernels() == Kernels{"device Conv"});
    CHECK(ran.state->operations == 2);  // one for each run
    CHECK_THAT(ran.How(), Contains("library of the double"));
  }
}

TEST_CASE("device: what the library does behind a convolution") {
  const char* const kBehind[] = {"y = LeakyRelu <alpha = 0.2> (h)",
                                 "y = Sigmoid (h)",
                                 "y = Tanh (h)",
                                 "y = Elu <alpha = 0.5> (h)",
                                 "y = Gelu (h)",
                                 "y = Gelu <approximate = \"tanh\"> (h)",
                                 "t = Sigmoid (h) y = Mul (h, t)",
                                 "t = Mul (h, c) y = Add (t, r)",
                                 "t = Relu (h) y = Add (r, t)"};
  for (const char* const behind : kBehind) {
    const OnDouble ran(Convolution(behind), DType::kFloat16);
    INFO(behind);
    CHECK(ran.kernels() == Kernels{"device Conv"});
  }
  const OnDouble widened(Convolution("s = Relu (h) y = Cast <to = 1> (s)"), DType::kFloat16);
  CHECK(widened.kernels() == Kernels{"device Conv"});
}

TEST_CASE("device: what the library does not do runs node by node, there") {
  const OnDouble other_function(Convolution("y = HardSwish (h)"), DType::kFloat16);
  CHECK(other_function.kernels() == Kernels{"device Conv", "device HardSwish"});
  CHECK_THAT(other_function.How(), Contains("library of the double"));

  const OnDouble without(Convolution("s = Add (h, r) y = Relu (s)"), DType::kFloat16, {.has_operations = false});
  CHECK(without.kernels() == Kernels{"device Conv", "device Add", "device Relu"});
  CHECK_THAT(without.How(), Contains("direct convolution; device: the double has no library"));

  const FuseCase depthwise = {.graph = "(T[2,6,6,5] x) => (T[] y) { h = Conv <group = 6> (x, w) y = Relu (h) }",
                              .tensors = {{"x", {2, 6, 6, 5}}, {"w", {6, 1, 3, 3}}}};
  const OnDouble by_channel(depthwise, DType::kFloat16);
  CHECK(by_channel.kernels() == Kernels{"device Conv"});
  CHECK_THAT(by_channel.How(), Contains("direct convolution; device: depthwise"));
  CHECK(by_channel.state->operations == 0);
}

TEST_CASE("device: what is behind a depthwise convolution is done by the kernel that computes it") {
  const char* const kBehind[] = {"s = Add (h, r) y = Relu (s)", "y = HardSwish (h)", "t = Mul (h, c) y = Add (t, r)",
                                 "y = Cast <to = 1> (h)", "t = Sigmoid (h) y = Mul (h, t)"};
  for (const char* const behind : kBehind) {
    for (const DType dtype : kLoopFloats) {
      const FuseCase each = {
          .graph = absl::StrCat("(T[2,6,6,5] x, T[2,6,4,3] r) => (", "T[] y) { h = Conv <group = 6> ", "(x, w, b) ",
                                behind, " }"),
          .tensors = {{"x", {2, 6, 6, 5}}, {"r", {2, 6, 4, 3}}, {"w", {6, 1, 3, 3}}, {"b", {6}}, {"c", {1, 6, 1, 1}}}};
      INFO(behind);
      CHECK(OnDouble(each, dtype).kernels()[0] == "device Conv");
      const bool is_cast = absl::StrContains(behind, "Cast");
      if (!is_cast) CHECK(OnDouble(each, dtype).kernels().size() == 1);
    }
  }
}

TEST_CASE("device: transposed convolutions are the library's, too") {
  const FuseCase transposed = {
      .graph =
          "(T[1,4,5,4] x) => (T[] y) { h = ConvTranspose <strides = [2, 3], pads = [1, 0, 1, 1], "
          "output_padding = [1, 0]> (x, w, b) y = Relu (h) }",
      .tensors = {{"x", {1, 4, 5, 4}}, {"w", {4, 2, 3, 2}}, {"b", {2}}}};
  for (const DType dtype : kLoopFloats) {
    const OnDouble ran(transposed, dtype);
    CHECK(ran.kernels() == Kernels{"device ConvTranspose"});
    CHECK(ran.state->operations == 2);
  }
}

TEST_CASE("device: where the library adds no bias, a kernel of our own does") {
  for (const DType dtype : kLoopFloats) {
    const OnDouble ran(Convolution("y = Relu (h)"), dtype, {.adds_bias = false});
    CHECK(ran.kernels() == Kernels{"device Conv", "device Relu"});
    CHECK(ran.state->operations == 2);
    CHECK_THAT(ran.How(), Contains("library of the double, bias behind it"));
  }
}

// Two convolutions of 8 and 16 channels, and what a network has between and behind them.
FuseCase Network(const std::string& between, const std::string& behind) {
  return {
      .graph = "(T[2,8,6,5] x, T[1,16,1,1] c) => (T[] y) { h = Conv <pads = [1, 1, 1, 1]> (x, w, b) " + between +
               " g = Conv (m, v) " + behind + " }",
      .tensors = {{"x", {2, 8, 6, 5}}, {"w", {16, 8, 3, 3}}, {"b", {16}}, {"v", {16, 16, 1, 1}}, {"c", {1, 16, 1, 1}}}};
}

TEST_CASE("device: channels stay beside each other from one convolution in 16 bits to the next") {
  const char* const kBetween[] = {
      "m = Relu (h)",
      "m = MaxPool <kernel_shape = [2, 2], strides = [2, 1], pads = [0, 1, 1, 0]> (h)",
      "m = AveragePool <kernel_shape = [3, 2], count_include_pad = 1, pads = [1, 1, 1, 1]> (h)",
      "i, j = MaxPool <kernel_shape = [2, 2]> (h) k = Cast <to = 1> (j) l = CastLike (k, i) m = Add (i, l)",
      "t = Tanh (h) u = Mul (t, c) m = Add (u, h)",
      "a = GlobalAveragePool (h) s = Sigmoid (a) m = Mul (h, s)",
      "t = Transpose <perm = [0, 1, 3, 2]> (h) m = HardSwish (t)",
      "axis = Constant <value_int = 2> () t = CumSum (h, axis) m = Neg (t)"};
  const char* const kBehind[] = {"y = Add (g, m)", "y = GlobalMaxPool (g)",
                                 "axes = Constant <value_ints = [1, 3]> () y = ReduceMean <keepdims = 0> (g, axes)",
                                 "f = Flatten (g) y = Softmax (f)", "y = Identity (g)"};
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    for (const char* const between : kBetween) {
      for (const char* const behind : kBehind) {
        INFO(between << " " << behind);
        const OnDouble ran(Network(between, behind), dtype);
        CHECK(ran.state->channels_last == 4);  // two for each run
        const OnDouble by_rows(Network(between, behind), dtype, {.takes_channels_last = false});
        CHECK(by_rows.state->channels_last == 0);
        CHECK(by_rows.state->operations == 4);
        const OnDouble without(Network(between, behind), dtype, {.has_operations = false});
        CHECK(without.state->operations == 0);
      }
    }
  }
}

TEST_CASE("device: the commonest chains are kernels that know what they are to do") {
  const auto ran_as = [](const FuseCase& each, DType dtype, device::Kernel kernel) {
    const OnDouble ran(each, dtype);
    const auto count = [&](device::Kernel of) { return ran.state->kernels[static_cast<size_t>(of)]; };
    return count(kernel) > 0 && count(device::Kernel::kChain) == 0;
  };
  const FuseCase behind_product = {.graph = "(T[4,8] x) => (T[] y) { h = MatMul (x, w) y = Gelu (h) }",
                                   .tensors = {{"x", {4, 8}}, {"w", {8, 16}}},
                                   .opset = 20};
  const FuseCase gradient = {
      .graph = "(T[4,8] x, T[4,8] g, T[1] one) => (T[] y) { p = Greater (x, one) y = Where (p, g, one) }",
      .tensors = {{"x", {4, 8}}, {"g", {4, 8}}, {"one", {1}}}};
  for (const DType dtype : kLoopFloats) {
    CHECK(ran_as(behind_product, dtype, device::Kernel::kMap));
    CHECK(ran_as(gradient, dtype, device::Kernel::kCompareAndChoose));
  }
  const FuseCase longer = {.graph = "(T[4,8] x) => (T[] y) { h = Exp (x) y = Sub (h, x) }", .tensors = {{"x", {4, 8}}}};
  CHECK_FALSE(ran_as(longer, DType::kFloat32, device::Kernel::kMap));
}

TEST_CASE("device: what Tensor Cores cannot read so stays row by row") {
  const FuseCase network = Network("m = Relu (h)", "y = Identity (g)");
  CHECK(OnDouble(network, DType::kFloat32).state->channels_last == 0);
  const FuseCase odd = {.graph = "(T[2,7,6,5] x) => (T[] y) { y = Conv (x, w) }",
                        .tensors = {{"x", {2, 7, 6, 5}}, {"w", {16, 7, 3, 3}}}};
  CHECK(OnDouble(odd, DType::kFloat16).state->channels_last == 0);
  const FuseCase picture = {.graph = "(T[2,3,6,5] x) => (T[] y) { y = Conv (x, w) }",
                            .tensors = {{"x", {2, 3, 6, 5}}, {"w", {16, 3, 3, 3}}}};
  CHECK(OnDouble(picture, DType::kFloat16).state->channels_last == 2);
  const FuseCase list = {.graph = "(T[2,8,6] x) => (T[] y) { y = Conv (x, w) }",
                         .tensors = {{"x", {2, 8, 6}}, {"w", {16, 8, 3}}}};
  CHECK(OnDouble(list, DType::kFloat16).state->channels_last == 0);
}

TEST_CASE("device: weights with channels beside each other, given anew or replayed") {
  const FuseCase each = {
      .graph =
          "(T[2,8,6,5] x, T[16,8,3,3] w) => (T[] y) { h = Conv (x, w) g = Relu (h) i = Conv (g, v) j = Tanh (i) k = "
          "Conv (j, u) y = Sigmoid (k) }",
      .tensors = {{"x", {2, 8, 6, 5}}, {"w", {16, 8, 3, 3}}, {"v", {8, 16, 2, 2}}, {"u", {16, 8, 1, 1}}}};
  const auto state = std::make_shared<FakeDeviceState>();
  SessionOptions options;
  options.device = OpenFakeDevice(state);
  const SessionText text = TextOf(each, DType::kFloat16);
  const auto session = MakeSession(text, options);
  for (int run = 0; run < 5; ++run) {
    // So small that Tanh sees numbers around 1: it makes much of how larger ones were rounded.
    const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat16, {2, 8, 6, 5}, Values::kPlain, 0.3)},
                                {"w", RandomTensor(DType::kFloat16, {16, 8, 3, 3}, Values::kPlain, 0.1)}};
    CHECK(DifferenceOf(RunSession(*session, inputs), RunSession(*MakeSession(text), inputs), 2e-2) == "");
  }
  CHECK(state->replays > 1);
  CHECK(state->channels_last == 5 + 2 * 2);  // of what is behind the first, in the first run and the recording
}

TEST_CASE("device: float32 is strict, unless TF32 is allowed") {
  const OnDouble strict(Convolution("y = Relu (h)"), DType::kFloat32);
  CHECK_THAT(strict.How(), !Contains("TF32"));
  SessionOptions options;
  options.allow_tf32 = true;
  const OnDouble allowed(Convolution("y = Relu (h)"), DType::kFloat32, {}, options);
  CHECK_THAT(allowed.How(), Contains("TF32 allowed"));
  const FuseCase product = {.graph = "(T[2,8] x) => (T[] y) { y = MatMul (x, w) }",
                            .tensors = {{"x", {2, 8}}, {"w", {8, 4}}}};
  CHECK_THAT(OnDouble(product, DType::kFloat32).How(), !Contains("TF32"));
  CHECK_THAT(OnDouble(product, DType::kFloat32, {}, options).How(), Contains("TF32 allowed"));
}

// As BERT has it: heads beside each other in rows, a mask that is added.
const FuseCase kAttention = {
    .graph =
        "(T[2,5,24] x, T[2,5,24] r, T[2,5,24] s) => (T[] y) { q = Reshape (x, d) k = Reshape (r, d) "
        "v = Reshape (s, d) qt = Transpose <perm = [0, 2, 1, 3]> (q) kt = Transpose <perm = [0, 2, 3, 1]> (k) "
        "vt = Transpose <perm = [0, 2, 1, 3]> (v) a = MatMul (qt, kt) f = Mul (a, scale) g = Add (f, m) "
        "p = Softmax (g) o = MatMul (p, vt) z = Transpose <perm = [0, 2, 1, 3]> (o) y = Reshape (z, e) }",
    .tensors = {{"x", {2, 5, 24}}, {"r", {2, 5, 24}}, {"s", {2, 5, 24}}, {"m", {2, 1, 1, 5}}, {"scale", {1}}}};

FuseCase WithShapes(FuseCase each) {
  const size_t begin = each.graph.find("{ ") + 2;
  each.graph.insert(begin, "d = Constant <value_ints = [0, 0, 3, 8]> () e = Constant <value_ints = [0, 0, 24]> () ");
  return each;
}

TEST_CASE("device: attention in 16 bits is one operation of the library, with its transpositions") {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    const OnDouble ran(WithShapes(kAttention), dtype);
    const Kernels kernels = ran.kernels();
    CHECK(std::count(kernels.begin(), kernels.end(), "device Attention") == 1);
    CHECK(std::count(kernels.begin(), kernels.end(), "device Softmax") == 0);
    CHECK(ran.state->operations == 2);
  }
}

TEST_CASE("device: attention of heads that share keys, and without heads") {
  const FuseCase shared = {
      .graph =
          "(T[2,3,5,8] x, T[2,1,7,8] r, T[2,1,7,6] s) => (T[] y) { t = Transpose <perm = [0, 1, 3, 2]> (r) "
          "a = MatMul (x, t) p = Softmax (a) y = MatMul (p, s) }",
      .tensors = {{"x", {2, 3, 5, 8}}, {"r", {2, 1, 7, 8}}, {"s", {2, 1, 7, 6}}}};
  const FuseCase alone = {
      .graph =
          "(T[2,5,8] x, T[2,7,8] r, T[2,7,6] s) => (T[] y) { "
          "t = Transpose <perm = [0, 2, 1]> (r) a = MatMul (x, t) p = Softmax (a) y = MatMul (p, s) }",
      .tensors = {{"x", {2, 5, 8}}, {"r", {2, 7, 8}}, {"s", {2, 7, 6}}}};
  for (const FuseCase& each : {shared, alone}) {
    CHECK(OnDouble(each, DType::kFloat16).kernels() == Kernels{"device Attention"});
  }
}

TEST_CASE("device: attention in float32, and without a library, is computed by its nodes, there") {
  for (const bool has_library : {true, false}) {
    const DType dtype = has_library ? DType::kFloat32 : DType::kFloat16;
    const OnDouble ran(WithShapes(kAttention), dtype, {.has_operations = has_library});
    const Kernels kernels = ran.kernels();
    CHECK(std::count(kernels.begin(), kernels.end(), "device MatMul") == 2);
    CHECK(std::count(kernels.begin(), kernels.end(), "device Softmax") == 1);
    CHECK(ran.state->operations == 0);
    const std::vector<std::string> warnings = ran.device.lock()->TakeWarnings();
    CHECK(warnings == (has_library
                           ? std::vector<std::string>{}
                           : std::vector<std::string>{"attention runs node by node: the double has no library"}));
  }
}

TEST_CASE("device: attention that the library never takes leaves its nodes to epilogues and chains") {
  const OnDouble ran(WithShapes(kAttention), DType::kFloat32);
  const Kernels kernels = ran.kernels();
  CHECK(std::count(kernels.begin(), kernels.end(), "device Mul") == 0);  // behind the product of queries and keys
  CHECK(std::count(kernels.begin(), kernels.end(), "device Add") == 0);
  CHECK(std::count(kernels.begin(), kernels.end(), "device MatMul") == 2);
}

}  // namespace
}  // namespace amp
