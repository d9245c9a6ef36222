// Recurrent layers: activations, types, and inputs that do not fit.
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

namespace {

constexpr char kOneUnit[] = "float[2,1,1] x = {1, -1}, float[1,1,1] w = {2}, float[1,1,1] r = {0.5}";

std::string Rnn(const std::string& attributes, const std::string& more = "", const std::string& inputs = "") {
  return Computed({.given = kOneUnit + more,
                   .node = "y = RNN<hidden_size = 1" + attributes + ">(x, w, r" + inputs + ")",
                   .output = "float[2,1,1,1]"});
}

}  // namespace

TEST_CASE("parameters of activations: those that the operator of that name has") {
  CHECK(Rnn(", activations = [\"Affine\"], activation_alpha = [2.0], activation_beta = [1.0]") ==
        "float32[2,1,1,1]: 5 2");
  CHECK(Rnn(", activations = [\"Relu\"]") == "float32[2,1,1,1]: 2 0");
  CHECK(Rnn(", activations = [\"ThresholdedRelu\"]") == "float32[2,1,1,1]: 2 0");
  CHECK(absl::StrContains(Rnn(", activations = [\"Sine\"]"), "found 'Sine'"));
}

TEST_CASE("parameters go to the activations that have some, or to each in turn") {
  const auto gru = [](const std::string& alphas) {
    return Computed(
        {.given = "double[1,1,1] x = {-1}, double[1,3,1] w = {0, 0, 1}, double[1,3,1] r = {0, 0, 0}",
         .node = "y = GRU<hidden_size = 1, activations = [\"Sigmoid\", \"LeakyRelu\"], activation_alpha = [" + alphas +
                 "]>(x, w, r)",
         .output = "double[1,1,1,1]"});
  };
  CHECK(gru("0.5") == "float64[1,1,1,1]: -0.25");
  CHECK(gru("7.0, 0.5") == "float64[1,1,1,1]: -0.25");
}

TEST_CASE("a parameter that no activation has is ignored, as in ONNX Runtime") {
  CHECK(Rnn(", activation_alpha = [3.0]") == Rnn(""));
  CHECK(Rnn(", activations = [\"Relu\"], activation_alpha = [3.0]") == "float32[2,1,1,1]: 2 0");
}

TEST_CASE("two directions need activations for both") {
  const std::string lstm = Computed(
      {.given =
           "float[1,1,1] x = {1}, float[2,4,1] w = {1, 1, 1, 1, 1, 1, 1, 1}, float[2,4,1] r = {0, 0, 0, 0, 0, 0, 0, 0}",
       .node = "y = LSTM<hidden_size = 1, direction = \"bidirectional\", activations = [\"Sigmoid\", \"Tanh\", "
               "\"Tanh\"]>(x, w, r)",
       .output = "float[1,2,1,1]"});
  INFO(lstm);
  CHECK(absl::StrContains(lstm, "expected 6 activations, found 3"));
}

TEST_CASE("a sequence of no steps keeps its state; steps beyond a length are zeros") {
  const std::string given = std::string(kOneUnit) + ", int32[1] lengths = {0}, float[1,1,1] h = {7}";
  CHECK(Computed({.given = given,
                  .node = "all, y = RNN<hidden_size = 1>(x, w, r, , lengths, h)",
                  .output = "float[1,1,1]"}) == "float32[1,1,1]: 7");
  CHECK(Rnn("", ", int32[1] lengths = {0}", ", , lengths") == "float32[2,1,1,1]: 0 0");
}

TEST_CASE("low types round once, when the layer has ended") {
  // The bits of 3 and 0.25; the hyperbolic tangent of 0.75 is 0.63515.
  CHECK(Computed({.opset = 22,
                  .given = "bfloat16[1,1,1] x = {16448}, bfloat16[1,1,1] w = {16000}, bfloat16[1,1,1] r = {0}",
                  .node = "y = RNN<hidden_size = 1>(x, w, r)",
                  .output = "bfloat16[1,1,1,1]"}) == "bfloat16[1,1,1,1]: 0.636719");
}

// The numbers are those of ONNX Runtime 1.31 with one thread: more share a batch out, each with scales of its own.
TEST_CASE("DynamicQuantizeLSTM: 8-bit weights, states quantised step by step") {
  const std::string weights =
      "float[2,2,2] x = {1, -0.5, 0.25, 2, -1, 0.5, 3, 0.125}, "
      "int8[1,2,8] w = {10, -20, 30, 40, -50, 60, 70, -80, 5, 15, -25, 35, 45, -55, 65, 75}, "
      "int8[1,2,8] r = {100, 20, -30, 40, 50, 60, -70, 80, -5, 90, 25, -35, 45, 55, 65, -75}, "
      "float[1,16] b = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0, 0, 0, 0, 0, 0, 0, 0}, ";
  CHECK(Computed({.imports = ", \"com.microsoft\" : 1",
                  .given = weights + "float[1] ws = {0.02}, int8[1] wz = {3}, float[1] rs = {0.01}, int8[1] rz = {-2}",
                  .node = "y = com.microsoft.DynamicQuantizeLSTM<hidden_size = 2>(x, w, r, b, , , , , ws, wz, rs, rz)",
                  .output = "float[2,1,2,2]"}) ==
        "float32[2,1,2,2]: 0.256752 -0.22431 0.146778 0.447505 -0.0301453 0.237195 0.510237 0.250505");
  CHECK(Computed({.imports = ", \"com.microsoft\" : 1",
                  .given = weights + "float[1,8] s = {0.01, 0.02, 0.03, 0.01, 0.02, 0.03, 0.01, 0.02}, "
                                     "int8[1,8] z = {0, 0, 0, 0, 0, 0, 0, 0}, int32[2] lengths = {2, 1}, "
                                     "float[1,2,2] h = {0.5, -0.25, 0.75, 1}",
                  .node = "all, last, y = com.microsoft.DynamicQuantizeLSTM<hidden_size = 2, direction = \"reverse\">"
                          "(x, w, r, b, lengths, h, , , s, z, s, z)",
                  .output = "float[1,2,2]"}) == "float32[1,2,2]: 0.2194 0.065123 0.669356 0.92116");
  // Elements of x behind the end of the longest sequence do not count for the scale of x. The last state of a sequence
  // counts for the scale of one more step behind its end.
  const std::string padded = absl::StrReplaceAll(
      weights, {{"float[2,2,2] x = {1, -0.5, 0.25, 2, -1, 0.5, 3, 0.125}",
                 "float[4,2,2] x = {1, -0.5, 0.25, 2, -1, 0.5, 30, 12, 2, 1, 40, -50, 70, -60, 80, 90}"}});
  CHECK(
      Computed(
          {.imports = ", \"com.microsoft\" : 1",
           .given = padded + "float[1] ws = {0.02}, int8[1] wz = {3}, float[1] rs = {0.01}, int8[1] rz = {-2}, "
                             "int32[2] lengths = {3, 1}",
           .node = "y = com.microsoft.DynamicQuantizeLSTM<hidden_size = 2>(x, w, r, b, lengths, , , , ws, wz, rs, rz)",
           .output = "float[4,1,2,2]"}) ==
      "float32[4,1,2,2]: 0.293247 -0.235619 0.146548 0.456729 -0.0346844 0.219016 0 0 0.346988 0.0534133 0 0 0 0 0 0");
  CHECK(absl::StrContains(
      Computed({.imports = ", \"com.microsoft\" : 1",
                .given = weights + "float[2] ws = {1, 1}, int8[1] wz = {3}, float[1] rs = {1}, int8[1] rz = {0}",
                .node = "y = com.microsoft.DynamicQuantizeLSTM<hidden_size = 2>(x, w, r, b, , , , , ws, wz, rs, rz)",
                .output = "float[2,1,2,2]"}),
      "input 8: expected shape [1] or [1,8], found float32[2]"));
}

TEST_CASE("inputs and attributes that do not fit are errors") {
  CHECK(absl::StrContains(Rnn(", direction = \"sideways\""), "found 'sideways'"));
  CHECK(absl::StrContains(Rnn(", direction = \"bidirectional\""), "input 1: expected shape [2,1,1]"));
  CHECK(absl::StrContains(Rnn("", ", int32[1] lengths = {3}", ", , lengths"), "expected lengths in [0, 2], found 3"));
  CHECK(absl::StrContains(Rnn("", ", float[1] b = {0}", ", b"), "input 3: expected shape [1,2]"));
  CHECK(absl::StrContains(
      Computed({.given = kOneUnit, .node = "y = RNN<hidden_size = 2>(x, w, r)", .output = "float[2,1,1,1]"}),
      "expected hidden_size 1 as R has it, found 2"));
}
