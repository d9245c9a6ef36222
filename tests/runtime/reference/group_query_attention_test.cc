// com.microsoft's GroupQueryAttention and RotaryEmbedding: what the comparison with onnxruntime leaves out, and errors.
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

namespace {

const std::string kImports = R"(, "com.microsoft" : 1)";

// All scores are 0: a query gives the mean of the values that it sees.
std::string Attended(const std::string& inputs, const std::string& attributes = "", const std::string& outputs = "y") {
  return Computed(
      {.imports = kImports,
       .given =
           "float[1,2,1] q = {0, 0}, float[1,2,1] v = {3, 9}, float[1,1,4,1] keys = {0, 0, 7, 7}, float[1,1,4,1] "
           "values = {30, 60, 7, 7}, int32[1] last = {3}, int32[1] first = {1}, int32 four = {4}, int32 two = {2}, "
           "int32[1] far = {9}, float[1,2,3] packed = {0, 0, 3, 0, 0, 9}, float[5,1] angles = {1, 1, 1, 1, 1}",
       .node = outputs + " = com.microsoft.GroupQueryAttention<num_heads = 1, kv_num_heads = 1" + attributes + ">(" +
               inputs + ")",
       .output = "float[a,b,c]"});
}

}  // namespace

TEST_CASE("com.microsoft::GroupQueryAttention: prompts, steps that follow, windows") {
  CHECK(Attended("q, q, v, , , first, two") == "float32[1,2,1]: 3 6");
  CHECK(Attended("packed, , , , , first, two") == "float32[1,2,1]: 3 6");
  CHECK(Attended("q, q, v, keys, values, first, two") == "float32[1,2,1]: 3 6");
  CHECK(Attended("q, q, v, keys, values, last, four") == "float32[1,2,1]: 31 25.5");
  CHECK(Attended("q, q, v, keys, values, last, four", ", local_window_size = 2") == "float32[1,2,1]: 31.5 6");
  CHECK(Attended("q, q, v, , , first, two", ", causal = 0") == "float32[1,2,1]: 6 6");
  CHECK(Attended("q, q, v, , , first, two", ", smooth_softmax = 1") == "float32[1,2,1]: 1.5 4");
}

TEST_CASE("com.microsoft::GroupQueryAttention: what is present is the past that counts, this step and zeros") {
  const auto present = [](const std::string& inputs) {
    return Computed(
        {.imports = kImports,
         .given = "float[1,1,1] q = {5}, float[1,1,4,1] past = {1, 2, 7, 7}, int32[1] last = {2}, int32 "
                  "three = {3}",
         .node = "a, y = com.microsoft.GroupQueryAttention<num_heads = 1, kv_num_heads = 1>(" + inputs + ")",
         .output = "float[1,1,n,1]"});
  };
  CHECK(present("q, q, q, past, past, last, three") == "float32[1,1,4,1]: 1 2 5 0");
}

TEST_CASE("com.microsoft::GroupQueryAttention: lengths and operands that do not fit") {
  const std::string too_far = "seqlens_k: expected lengths that fit 2 new tokens, a past of 4 and 4 in all, found 9";
  CHECK_THAT(Attended("q, q, v, keys, values, far, four"), Catch::Matchers::Contains(too_far));
  CHECK(absl::StrContains(Attended("q, q, v, , , last, four"), "expected lengths that fit 2 new tokens, a past of 0"));
  CHECK(absl::StrContains(Attended("q, q, v, keys, , first, two"), "both or none, found one"));
  CHECK(absl::StrContains(Attended("q, q, , , , first, two"), "both or none, found one"));
  CHECK(absl::StrContains(Attended("q, q, v, , , first, two", ", do_rotary = 1"), "expected cos_cache and sin_cache"));
  CHECK(absl::StrContains(Attended("q, q, v, , , first, two, angles, angles", ", do_rotary = 1"),
                          "expected caches of at most 0 angles for a token of 1 elements, found 1"));
  CHECK(absl::StrContains(Attended("q, q, v, , , first, two", ", sliding_window_cache = 1"),
                          "sliding_window_cache: expected 0: no kernel for it"));
}

TEST_CASE("com.microsoft::RotaryEmbedding: positions of each token or of the first") {
  const auto rotated = [](const std::string& positions, const std::string& attributes = "") {
    return Computed(
        {.imports = kImports,
         .given = "float[1,2,2] x = {1, 2, 3, 4}, int64[1] first = {1}, int64[1,2] each = {1, 0}, int64[1,2] "
                  "far = {0, 3}, float[3,1] cosines = {1, 0, -1}, float[3,1] sines = {0, 1, 0}",
         .node = "y = com.microsoft.RotaryEmbedding" + attributes + "(x, " + positions + ", cosines, sines)",
         .output = "float[1,2,2]"});
  };
  CHECK(rotated("first") == "float32[1,2,2]: -2 1 -3 -4");
  CHECK(rotated("each") == "float32[1,2,2]: -2 1 3 4");
  CHECK(absl::StrContains(rotated("far"), "position_ids: expected numbers in [0, 3), found 3"));
  CHECK(absl::StrContains(rotated("each", "<is_packed_batching = 1>"), "is_packed_batching: expected 0: no kernel"));
}
