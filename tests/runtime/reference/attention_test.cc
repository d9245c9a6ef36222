// Attention: which keys a query sees, heads that do not fit.
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

namespace {

// Keys that are all alike, so that the output is the mean of the values that a query sees.
std::string Seen(const std::string& attributes, const std::string& inputs) {
  return Computed({.opset = 25,
                   .given = "float[1,1,3,1] q = {0, 0, 0}, float[1,1,4,1] k = {1, 1, 1, 1}, "
                            "float[1,1,4,1] v = {1, 2, 4, 8}, bool[3,2] mask = {1, 0, 0, 0, 1, 1}, "
                            "int64[1] valid = {2}, float[1,1,1,1] past = {16}",
                   .node = "y = Attention<" + attributes + ">(" + inputs + ")",
                   .output = "float[1,1,3,1]"});
}

}  // namespace

TEST_CASE("a query sees the keys that rule, window, mask and padding leave, and zero where none is left") {
  CHECK(Seen("is_causal = 1", "q, k, v") == "float32[1,1,3,1]: 1 1.5 2.33333");
  CHECK(Seen("left_window_size = 1, right_window_size = 0", "q, k, v") == "float32[1,1,3,1]: 1 1.5 3");
  CHECK(Seen("right_window_size = 9223372036854775807", "q, k, v") == "float32[1,1,3,1]: 3.75 3.75 3.75");
  CHECK(Seen("is_causal = 0", "q, k, v, mask") == "float32[1,1,3,1]: 1 0 1.5");  // its end is padded: no
  CHECK(Seen("is_causal = 0", "q, k, v, , , , valid") == "float32[1,1,3,1]: 1.5 1.5 1.5");
  CHECK(Seen("is_causal = 1", "q, k, v, , , , valid") == "float32[1,1,3,1]: 0 1 1.5");
  CHECK(Seen("is_causal = 1", "q, k, v, , past, past") == "float32[1,1,3,1]: 8.5 6.33333 5.75");
}

TEST_CASE("what does not fit an attention is an error") {
  CHECK(absl::StrContains(Seen("is_causal = 0", "q, k, v, , past"), "expected both past_key and past_value"));
  CHECK(absl::StrContains(Seen("is_causal = 0", "q, k, q"), "expected Q [B, Hq, L, E]"));
  CHECK(absl::StrContains(Seen("left_window_size = -2", "q, k, v"), "expected window sizes of at least -1"));
  CHECK(absl::StrContains(Computed({.opset = 23,
                                    .given = "float[1,1,0] x = {}",
                                    .node = "y = Attention<q_num_heads = 4611686018427387904, kv_num_heads = "
                                            "4611686018427387904>(x, x, x)",
                                    .output = "float[A,B,C]"}),
                          "expected [B, L, q_num_heads * E]"));
}

TEST_CASE("a position beyond the caches of angles is an error") {
  CHECK(absl::StrContains(Computed({.opset = 23,
                                    .given = "float[1,1,1,2] x = {1, 2}, float[2,1] c = {1, 1}, int64[1,1] p = {2}",
                                    .node = "y = RotaryEmbedding(x, c, c, p)",
                                    .output = "float[1,1,1,2]"}),
                          "expected numbers in [0, 2), found 2"));
}
