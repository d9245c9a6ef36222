// Recurrent layers: activations, types, and inputs that do not fit.
#include "absl/strings/match.h"
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

TEST_CASE("inputs and attributes that do not fit are errors") {
  CHECK(absl::StrContains(Rnn(", direction = \"sideways\""), "found 'sideways'"));
  CHECK(absl::StrContains(Rnn(", direction = \"bidirectional\""), "input 1: expected shape [2,1,1]"));
  CHECK(absl::StrContains(Rnn("", ", int32[1] lengths = {3}", ", , lengths"), "expected lengths in [0, 2], found 3"));
  CHECK(absl::StrContains(Rnn("", ", float[1] b = {0}", ", b"), "input 3: expected shape [1,2]"));
  CHECK(absl::StrContains(
      Computed({.given = kOneUnit, .node = "y = RNN<hidden_size = 2>(x, w, r)", .output = "float[2,1,1,1]"}),
      "expected hidden_size 1 as R has it, found 2"));
}
