// com.microsoft's Attention, MultiHeadAttention and EmbedLayerNormalization: masks, widths, and what they do not cover.
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

namespace {

const std::string kImports = R"(, "com.microsoft" : 1)";

// Two keys with equal scores, whose values are 0 and 10.
std::string Attended(const std::string& inputs, const std::string& attributes = "") {
  return Computed({.imports = kImports,
                   .given =
                       "float[1,2,1] q = {0, 0}, float[1,2,1] v = {0, 10}, int32[1] one = {1}, int32[1,2] last = {0, "
                       "1}, int32[1,2] none = {0, 0}, float[1,1,2,2] high = {0, 0, 0, 99}, float[3] b = {0, 0, 5}, "
                       "float[4] wide = {0, 0, 5, 0}, float[1,3,1] keys = {0, 0, 0}, float[1,3,1] ramp = {0, 1, 5}, "
                       "float[1,1,1,1] past = {0}, "
                       "float[1,1,1,1] old = {20}, float[1,2,1,1] heads = {0, 0}",
                   .node = "y = com.microsoft.MultiHeadAttention<num_heads = 1" + attributes + ">(" + inputs + ")",
                   .output = "float[1,2,1]"});
}

}  // namespace

TEST_CASE("com.microsoft::MultiHeadAttention: masks by length and by key, and what is added to scores") {
  CHECK(Attended("q, q, v") == "float32[1,2,1]: 5 5");
  CHECK(Attended("q, q, v, b") == "float32[1,2,1]: 10 10");
  CHECK(Attended("q, q, v, , one") == "float32[1,2,1]: 0 0");
  CHECK(Attended("q, q, v, , last") == "float32[1,2,1]: 10 10");
  CHECK(Attended("q, q, v, , none") == "float32[1,2,1]: 5 5");
  CHECK(Attended("q, q, v, , , high") == "float32[1,2,1]: 5 10");
  CHECK(Attended("q, q, v", ", unidirectional = 1") == "float32[1,2,1]: 0 5");
  CHECK(Attended("q, keys, ramp", ", unidirectional = 1") == "float32[1,2,1]: 0 2");
  CHECK(absl::StrContains(Attended("q, q, v, wide"),
                          "expected a bias as wide as query, key and value, found float32[4]"));
  CHECK(absl::StrContains(Attended("q"), "found packed operands: no kernel for them"));
  CHECK(absl::StrContains(Attended("q, q, v, , , , , , one"), "input 8: expected none, found one: no kernel for it"));
}

TEST_CASE("com.microsoft::MultiHeadAttention: keys and values of earlier steps come first") {
  CHECK(Attended("q, q, v, , , , past, old") == "float32[1,2,1]: 10 10");
  CHECK(Attended("q, q, v, , , , past, old", ", unidirectional = 1") == "float32[1,2,1]: 10 10");
  CHECK(absl::StrContains(Attended("q, q, v, , , , past"), "expected both past_key and past_value, found one"));
  CHECK(absl::StrContains(Attended("q, q, v, , , , heads, heads"),
                          "expected a past as float64[1,1,2,1] but for axis 2, found float64[1,2,1,1]"));
  const auto present = [](const std::string& outputs) {
    return Computed({.imports = kImports,
                     .given = "float[1,2,1] q = {1, 2}, float[1,2,1] v = {3, 4}, float[1,1,1,1] past = {5}, "
                              "float[1,1,1,1] old = {6}",
                     .node = outputs + " = com.microsoft.MultiHeadAttention<num_heads = 1>(q, q, v, , , , past, old)",
                     .output = "float[1,1,n,1]"});
  };
  CHECK(present("a, y") == "float32[1,1,3,1]: 5 1 2");
  CHECK(present("a, b, y") == "float32[1,1,3,1]: 6 3 4");
  CHECK(present("a, b, c, y") == "float32[1,1,2,3]: 5 1 2 10 2 4");
}

TEST_CASE("com.microsoft::Attention: a past of keys and values on top of each other") {
  const auto attended = [](const std::string& outputs, const std::string& past, const std::string& type) {
    return Computed({.imports = kImports,
                     .given = "float[1,2,1] x = {0, 10}, float[1,3] w = {0, 0, 1}, float[2,1,1,1,1] past = {0, 20}, "
                              "float[1,1,1,1,1] half = {0}, int32[2] between = {2, 1}",
                     .node = outputs + " = com.microsoft.Attention<num_heads = 1>(x, w, , " + past + ")",
                     .output = type});
  };
  CHECK(attended("y, p", ", past", "float[1,2,1]") == "float32[1,2,1]: 10 10");
  CHECK(attended("a, y", ", past", "float[2,1,1,3,1]") == "float32[2,1,1,3,1]: 0 0 0 20 0 10");
  CHECK(attended("y", "between", "float[1,2,1]") == "float32[1,2,1]: 10 10");
  CHECK(absl::StrContains(attended("y, p", ", half", "float[1,2,1]"), "past: expected [2, B, N, P, E], found float32"));
}

TEST_CASE("com.microsoft::Attention: weights of q, k and v beside each other, of widths of their own") {
  const auto attended = [](const std::string& weights, const std::string& attributes) {
    return Computed({.imports = kImports,
                     .given = "float[1,2,1] x = {0, 10}, float[1,3] w = {0, 0, 1}, float[1,4] wide = {0, 0, 1, 2}",
                     .node = "y = com.microsoft.Attention<num_heads = 1" + attributes + ">(x, " + weights + ")",
                     .output = "float[1,2,n]"});
  };
  CHECK(attended("w", "") == "float32[1,2,1]: 5 5");
  CHECK(attended("wide", ", qkv_hidden_sizes = [1, 1, 2]") == "float32[1,2,2]: 5 10 5 10");
  CHECK(absl::StrContains(attended("wide", ""), "expected widths of q, k and v that make 4"));
}

TEST_CASE("com.microsoft::EmbedLayerNormalization: tables, positions, counts of a mask") {
  const auto embedded = [](const std::string& outputs, const std::string& ids, const std::string& type) {
    return Computed(
        {.imports = kImports,
         .given = "int32[1,2] ids = {1, 0}, int32[1,2] far = {1, 2}, int32[1,2] mask = {1, 0}, float[2,2] words "
                  "= {0, 2, 2, 0}, float[2,2] places = {0, 0, 9, 9}, float[2] one = {1, 1}, float[2] half = "
                  "{0.5, 0.5}",
         .node = outputs + " = com.microsoft.EmbedLayerNormalization(" + ids + ", , words, places, , one, half, mask)",
         .output = type});
  };
  CHECK(embedded("y, z", "ids", "float[1,2,2]") == "float32[1,2,2]: 1.5 -0.5 -0.5 1.5");
  CHECK(embedded("z, y", "ids", "int32[1]") == "int32[1]: 1");
  CHECK(Computed({.imports = kImports,
                  .given =
                      "int32[0,3] ids = {}, float[2,2] words = {0, 2, 2, 0}, float[3,2] places = {0, 0, 9, 9, 1, 1}, "
                      "float[2] one = {1, 1}",
                  .node = "y, z = com.microsoft.EmbedLayerNormalization(ids, , words, places, , one, one)",
                  .output = "float[0,3,2]"}) == "float32[0,3,2]:");
  CHECK(absl::StrContains(embedded("y, z", "far", "float[1,2,2]"), "input 2: expected a row below 2, found 2"));
}
