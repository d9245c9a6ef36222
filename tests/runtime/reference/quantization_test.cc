// Quantization: halves, saturation, blocks, and scales that do not fit; windows.
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

TEST_CASE("halves go to even, what is beyond saturates") {
  CHECK(Computed({.given = "float[6] x = {1, 3, 5, -1, 900, -900}, float s = {2}, uint8 z = {10}",
                  .node = "y = QuantizeLinear(x, s, z)",
                  .output = "uint8[6]"}) == "uint8[6]: 10 12 12 10 255 0");
}

TEST_CASE("a quotient is rounded to the scale's type before it is rounded to an integer") {
  // 0.35 / 0.1 is a little below 3.5 with the float32 numbers nearest to these, and 3.5 as a float32: 4, not 3.
  CHECK(Computed({.given = "float[1] x = {0.35}, float s = {0.1}",
                  .node = "y = QuantizeLinear(x, s)",
                  .output = "uint8[1]"}) == "uint8[1]: 4");
}

TEST_CASE("blocks along an axis, the last one smaller") {
  const std::string given = "float[5] x = {1, 2, 3, 4, 5}, float[3] s = {1, 10, 0.5}";
  const auto quantize = [&](const std::string& attributes) {
    return Computed(
        {.given = given, .node = "y = QuantizeLinear<axis = 0" + attributes + ">(x, s)", .output = "uint8[5]"});
  };
  CHECK(quantize(", block_size = 2") == "uint8[5]: 1 2 0 0 10");
  CHECK(absl::StrContains(quantize(", block_size = 3"), "expected scales [2], found [3]"));
  CHECK(absl::StrContains(quantize(", block_size = -1"), "expected a block_size of at least 1, found -1"));
  CHECK(absl::StrContains(quantize(""), "expected one scale, or 5 along axis 0, found [3]"));
}

TEST_CASE("zero points follow the scales and the type that is stated") {
  CHECK(absl::StrContains(Computed({.given = "float[2] x = {1, 2}, float s = {1}, int8[2] z = {1, 2}",
                                    .node = "y = QuantizeLinear(x, s, z)",
                                    .output = "int8[2]"}),
                          "expected zero points [] as the scales, found [2]"));
  CHECK(absl::StrContains(Computed({.given = "float[2] x = {1, 2}, float s = {1}, int8 z = {1}",
                                    .node = "y = QuantizeLinear<output_dtype = 2>(x, s, z)",
                                    .output = "int8[2]"}),
                          "expected output_dtype int8"));
  CHECK(absl::StrContains(Computed({.given = "int8[2] x = {1, 2}, float s = {1}, uint8 z = {1}",
                                    .node = "y = DequantizeLinear(x, s, z)",
                                    .output = "float[2]"}),
                          "expected operands of one type, found int8 and uint8"));
}

TEST_CASE("DynamicQuantizeLinear of zeros") {
  CHECK(
      Computed({.given = "float[2] x = {0, 0}", .node = "y, s, z = DynamicQuantizeLinear(x)", .output = "uint8[2]"}) ==
      "uint8[2]: 0 0");
}

TEST_CASE("windows: of one element, and of sizes that cannot be") {
  CHECK(Computed({.given = "int64 n = {1}", .node = "y = HannWindow<periodic = 0>(n)", .output = "float[1]"}) ==
        "float32[1]: 1");
  CHECK(absl::StrContains(Computed({.given = "int64 n = {-3}", .node = "y = HannWindow(n)", .output = "float[1]"}),
                          "expected dimensions of at least 0"));
}
