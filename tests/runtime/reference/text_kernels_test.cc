// Operators on strings: letters beyond ASCII, and attributes that do not fit.
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

TEST_CASE("letters of every language have an upper and a lower case") {
  const auto normalize = [](const std::string& attributes) {
    return Computed({.given = R"(string[3] x = {"Äpfel", "ИВАН", "straße"})",
                     .node = "y = StringNormalizer" + attributes + "(x)",
                     .output = "string[n]"});
  };
  CHECK(normalize(R"(<case_change_action = "UPPER">)") == "string[3]: ÄPFEL ИВАН STRAßE");
  CHECK(normalize(R"(<case_change_action = "LOWER", stopwords = ["иван"]>)") == "string[2]: äpfel straße");
  CHECK(normalize(R"(<stopwords = ["иван"], is_case_sensitive = 1>)") == "string[3]: Äpfel ИВАН straße");
  CHECK(absl::StrContains(normalize(R"(<locale = "tr_TR", case_change_action = "LOWER">)"),
                          "expected one whose letters have the usual cases"));
}

TEST_CASE("splitting at white space leaves out what is at the ends, at a delimiter nothing") {
  const auto split = [](const std::string& attributes) {
    return Computed({.given = R"(string[2] x = {" a b  c ", ""})",
                     .node = "z, y = StringSplit" + attributes + "(x)",
                     .output = "int64[2]"});
  };
  CHECK(split("") == "int64[2]: 3 0");
  CHECK(split("<maxsplit = 1>") == "int64[2]: 2 0");
  CHECK(split("<maxsplit = 0>") == "int64[2]: 1 0");
  CHECK(split(R"(<delimiter = " ">)") == "int64[2]: 6 1");
}

TEST_CASE("a pattern that is none is refused") {
  CHECK(absl::StrContains(
      Computed(
          {.given = R"(string[1] x = {"a"})", .node = R"(y = RegexFullMatch<pattern = "(">(x))", .output = "bool[1]"}),
      "missing )"));
}

TEST_CASE("a pool of n-grams that does not add up is refused") {
  const auto vectorize = [](const std::string& attributes) {
    return Computed(
        {.given = "int64[4] x = {1, 2, 1, 2}",
         .node = R"(y = TfIdfVectorizer<mode = "TF", min_gram_length = 1, max_gram_length = 2, )" + attributes + ">(x)",
         .output = "float[n]"});
  };
  const std::string fine = "max_skip_count = 9223372036854775807, ngram_counts = [0, 1], pool_int64s = [1, 1, 2], ";
  CHECK(vectorize(fine + "ngram_indexes = [2, 0]") == "float32[3]: 3 0 2");
  CHECK(absl::StrContains(vectorize(fine + "ngram_indexes = [2]"), "expected 2 ngram_indexes"));
  CHECK(absl::StrContains(vectorize(fine + "ngram_indexes = [2, -1]"), "ngram_indexes: expected 0 to"));
  CHECK(absl::StrContains(
      vectorize("max_skip_count = 0, ngram_counts = [0, 7], pool_int64s = [1, 1, 2], ngram_indexes = [0, 1]"),
      "ngram_counts: expected whole 1-grams"));
}
