// Values that are made up for inputs that nobody gave, by what the model says of them.
#include "runtime/random_inputs.h"

#include "absl/algorithm/container.h"
#include "tests/catch2.h"
#include "tests/runtime/session_text.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

constexpr absl::string_view kHead = R"(<ir_version: 10, opset_import: ["" : 23, "com.microsoft" : 1]> g )";

std::unique_ptr<Session> SessionOf(const std::string& graph) {
  absl::StatusOr<std::unique_ptr<Session>> session = CreateSession({.text = absl::StrCat(kHead, graph)}, {});
  INFO(session.status());
  REQUIRE(session.ok());
  return *std::move(session);
}

NamedDatums InputsOf(const std::string& graph, const RandomInputOptions& options = {}) {
  const absl::StatusOr<NamedDatums> inputs = MakeRandomInputs(*SessionOf(graph), options);
  INFO(inputs.status());
  REQUIRE(inputs.ok());
  return *inputs;
}

std::string ErrorOf(const std::string& graph, const RandomInputOptions& options = {}) {
  return std::string(MakeRandomInputs(*SessionOf(graph), options).status().message());
}

std::vector<double> NumbersOf(const NamedDatums& inputs, const std::string& name) {
  return *ReadDoubles(*inputs.at(name).tensor());
}

bool AreOnes(const std::vector<double>& numbers) {
  return absl::c_all_of(numbers, [](double number) { return number == 1; });
}

TEST_CASE("floats are normal, and the same for the same seed") {
  const std::string graph = "(float[100,10] x) => (float[100,10] y) { y = Neg (x) }";
  const std::vector<double> numbers = NumbersOf(InputsOf(graph), "x");
  CHECK(numbers == NumbersOf(InputsOf(graph), "x"));
  CHECK(numbers != NumbersOf(InputsOf(graph, {.seed = 1}), "x"));
  CHECK(absl::c_any_of(numbers, [](double number) { return number < -1; }));
}

TEST_CASE("ids stay within the smallest table that they index, also behind casts and what moves them") {
  const NamedDatums inputs = InputsOf(R"((int32[1,500] ids) => (float[1,500,2] y, float[500,2] z)
      <float[3,2] words = {1, 2, 3, 4, 5, 6}, float[2,2] kinds = {1, 2, 3, 4}, int64[1] first = {0}> {
        wide = Cast <to = 7> (ids)
        y = Gather (words, wide)
        flat = Squeeze (wide, first)
        z = Gather (kinds, flat)
      })");
  const std::vector<double> ids = NumbersOf(inputs, "ids");
  CHECK(absl::c_count(ids, 0) + absl::c_count(ids, 1) == 500);
  CHECK(absl::c_count(ids, 1) > 0);
}

TEST_CASE("masks are ones: integers, and floats that others are multiplied by or that are added to scores") {
  CHECK(AreOnes(
      NumbersOf(InputsOf("(int64[2,4] attention_mask) => (float[2,4] y) { y = Cast <to = 1> (attention_mask) }"),
                "attention_mask")));
  const std::string multiplied = R"((float[2,4] x, float[2] Mask) => (float[2,4] y) <int64[1] last = {1}> {
    column = Unsqueeze (Mask, last)
    y = Mul (x, column)
  })";
  CHECK(AreOnes(NumbersOf(InputsOf(multiplied), "Mask")));
  CHECK_FALSE(AreOnes(NumbersOf(InputsOf(multiplied), "x")));
  CHECK(AreOnes(NumbersOf(InputsOf(R"((float16[2,4] x, float[2,4] mask) => (float16[2,4] y) {
    low = Cast <to = 10> (mask)
    y = Add (x, low)
  })"),
                          "mask")));
  CHECK(AreOnes(NumbersOf(InputsOf(R"((float[1,2,4,8] q, float[4,4] mask) => (float[1,2,4,8] y) {
    y = Attention (q, q, q, mask)
  })"),
                          "mask")));
}

TEST_CASE("floats of such a name that are data are not masks, nor is what is added under another name") {
  const std::string graph = R"((float[1,1,8,8] mask, float[1,2,8,8] x) => (float[1,3,8,8] y, float[1,2,8,8] z) {
    y = Concat <axis = 1> (x, mask)
    z = Add (x, x)
  })";
  CHECK_FALSE(AreOnes(NumbersOf(InputsOf(graph), "mask")));
  CHECK_FALSE(AreOnes(NumbersOf(InputsOf(graph), "x")));
}

TEST_CASE("lengths are the longest dimension, also of what is given") {
  const std::string graph =
      "(float[1,n] x, int64[1] x_len) => (float[1,n] y, int64[1] z) { y = Neg (x)  z = Neg (x_len) }";
  CHECK(NumbersOf(InputsOf(graph), "x_len") == std::vector<double>{16});
  CHECK(NumbersOf(InputsOf(graph, {.dims = {{"n", 7}}}), "x_len") == std::vector<double>{7});
  const Tensor x = Tensor::Of<float>(DType::kFloat32, {1, 3}, {1, 2, 3});
  const NamedDatums inputs = InputsOf(graph, {.given = {{"x", x}}});
  CHECK(NumbersOf(inputs, "x_len") == std::vector<double>{3});
  CHECK(NumbersOf(inputs, "x") == std::vector<double>{1, 2, 3});
}

// One head of 4 numbers.
std::string Cached(const std::string& cache) {
  return absl::StrCat(R"((float[batch,tokens,4] q, float[batch,1,past,4] k, float[batch,1,past,4] v,
      int32[batch] lengths, int64[1] all) => (float[batch,tokens,4] y) <int64[0] scalar = {}> {
        narrow = Cast <to = 6> (all)
        total = Reshape (narrow, scalar)
        y = com.microsoft.GroupQueryAttention <num_heads = 1, kv_num_heads = 1> (q, q, q, )",
                      cache, ", lengths, total) }");
}

struct Tokens {
  std::vector<double> lengths, all;
  bool runs;
};

Tokens TokensOf(const std::string& cache, const std::map<std::string, int64_t>& dims) {
  const std::unique_ptr<Session> session = SessionOf(Cached(cache));
  const absl::StatusOr<NamedDatums> inputs = MakeRandomInputs(*session, {.dims = dims});
  INFO(inputs.status());
  REQUIRE(inputs.ok());
  const absl::Status run = session->Run(*inputs).status();
  INFO(run);
  return {NumbersOf(*inputs, "lengths"), NumbersOf(*inputs, "all"), run.ok()};
}

TEST_CASE("attention over a cache is told how many tokens there are: those of the past and the new ones") {
  const Tokens step = TokensOf("k, v", {{"tokens", 1}, {"past", 5}, {"batch", 2}});
  CHECK(step.lengths == std::vector<double>{5, 5});
  CHECK(step.all == std::vector<double>{6});
  CHECK(step.runs);
  const Tokens several = TokensOf("k, v", {{"tokens", 3}, {"past", 5}});
  CHECK(several.lengths == std::vector<double>{7});
  CHECK(several.all == std::vector<double>{8});
  CHECK(several.runs);
  CHECK(TokensOf("k, v", {}).runs);
}

TEST_CASE("attention without a past is told of the new tokens alone, and so are several tokens of several samples") {
  const Tokens prompt = TokensOf(", ", {{"tokens", 3}});
  CHECK(prompt.lengths == std::vector<double>{2});
  CHECK(prompt.all == std::vector<double>{3});
  CHECK(prompt.runs);
  const Tokens samples = TokensOf("k, v", {{"tokens", 3}, {"past", 5}, {"batch", 2}});
  CHECK(samples.lengths == std::vector<double>{2, 2});
  CHECK(samples.all == std::vector<double>{3});
  CHECK(samples.runs);
}

TEST_CASE("what is given does not change what is made up") {
  const std::string graph = "(float[4] a, float[4] b) => (float[4] y) { y = Sub (a, b) }";
  const Tensor a = Tensor::Of<float>(DType::kFloat32, {4}, {1, 2, 3, 4});
  CHECK(NumbersOf(InputsOf(graph, {.given = {{"a", a}}}), "b") == NumbersOf(InputsOf(graph), "b"));
}

TEST_CASE("what is given is not made up, and its shape is looked at before anything is made") {
  const std::string graph =
      "(float[2147483647] x, float[n] b) => (float[2147483647] y, float[n] z) { y = Neg (x)  z = Neg (b) }";
  CHECK(ErrorOf(graph, {.given = {{"x", Tensor::Of<float>(DType::kFloat32, {3}, {1, 2, 3})}}}) ==
        "input 'x': expected float32[2147483647], found float32[3]");
  CHECK(ErrorOf(graph, {.given = {{"x", Tensor::OfInts({1, 2, 3})}}}) ==
        "input 'x': expected float32[2147483647], found int64[3]");
  // All that is given fits, and the other is made up.
  const std::string small = "(float[3] x, float[n] b) => (float[3] y, float[n] z) { y = Neg (x)  z = Neg (b) }";
  const Tensor x = Tensor::Of<float>(DType::kFloat32, {3}, {1, 2, 3});
  const NamedDatums inputs = InputsOf(small, {.given = {{"x", x}}});
  CHECK(inputs.at("x").tensor()->data() == x.data());
  CHECK(inputs.at("b").TypeText() == "float32[16]");
}

TEST_CASE("inputs of more bytes than the limit are refused before they are made") {
  CHECK(ErrorOf("(float[2147483648] x) => (float[2147483648] y) { y = Neg (x) }") ==
        "input 'x': expected at most 1073741824 bytes of inputs that are made up, found 8589934592 of "
        "float32[2147483648]; to give it: --input x=FILE.npy");
  const std::string two = "(float[4] x, double[4] w) => (float[4] y, double[4] z) { y = Neg (x)  z = Neg (w) }";
  CHECK(InputsOf(two, {.most_bytes = 48}).size() == 2);
  CHECK(ErrorOf(two, {.most_bytes = 47}) ==
        "input 'w': expected at most 47 bytes of inputs that are made up, found 32 of float64[4], 48 with those ahead "
        "of it; to give it: --input w=FILE.npy");
  const Tensor w = *Tensor::Create(DType::kFloat64, {4});
  CHECK(InputsOf(two, {.given = {{"w", w}}, .most_bytes = 16}).size() == 2);
}

TEST_CASE("named dimensions are as large as those that are given; --dim wins") {
  const std::string graph = "(float[n,k] x, float[n,k] m) => (float[n,k] y) { y = Sub (x, m) }";
  const Tensor x = *Tensor::Create(DType::kFloat32, {3, 5});
  CHECK(InputsOf(graph, {.given = {{"x", x}}}).at("m").TypeText() == "float32[3,5]");
  CHECK(InputsOf(graph, {.dims = {{"k", 2}}, .given = {{"x", x}}}).at("m").TypeText() == "float32[3,2]");
}

TEST_CASE("what has one name has one size: that of a batch wherever it comes first of several") {
  const std::string graph =
      R"((int64[batch] labels, float[batch,n] x, float[n] w) => (float[batch,n] y, int64[batch] z) {
    y = Mul (x, w)
    z = Neg (labels)
  })";
  const NamedDatums inputs = InputsOf(graph);
  CHECK(inputs.at("labels").TypeText() == "int64[1]");
  CHECK(inputs.at("x").TypeText() == "float32[1,16]");
  CHECK(inputs.at("w").TypeText() == "float32[16]");
  CHECK(InputsOf(graph, {.other_dim = 64}).at("w").TypeText() == "float32[64]");
  CHECK(InputsOf(graph, {.dims = {{"batch", 3}}}).at("labels").TypeText() == "int64[3]");
}

TEST_CASE("what nobody sizes is told by name") {
  const std::string graph = "(float[n,k,2] x, float[k,m] w, float[p] b) => (float[p] y) { y = Neg (b) }";
  const std::unique_ptr<Session> session = SessionOf(graph);
  CHECK(UnsizedSymbols(*session, {}) == std::vector<std::string>{"n", "k", "m", "p"});
  const Tensor b = *Tensor::Create(DType::kFloat32, {3});
  CHECK(UnsizedSymbols(*session, {.dims = {{"k", 2}}, .given = {{"b", b}}}) == std::vector<std::string>{"n", "m"});
}

TEST_CASE("what cannot be made up is named, with how to give it, and may be given") {
  const std::string sequence =
      "(seq(float[2]) parts, float[2] x) => (float[m] y) { y = ConcatFromSequence <axis = 0> (parts) }";
  CHECK(ErrorOf(sequence) ==
        "input 'parts': expected a tensor of known rank and type to make up, found sequence; to give it: --input "
        "parts=FILE.pb");
  const NamedDatums inputs = InputsOf(sequence, {.given = {{"parts", Datum(Sequence{})}}});
  CHECK(inputs.at("parts").sequence() != nullptr);
  CHECK(inputs.contains("x"));
  CHECK_THAT(ErrorOf("(float[] x) => (float[] y) { y = Neg (x) }"),
             Contains("input 'x'") && Contains("found float32; to give it: --input x=FILE.npy or FILE.pb"));
  CHECK_THAT(ErrorOf("(complex64[2] c) => (complex64[2] d) { d = Identity (c) }"),
             Contains("input 'c'") && Contains("found complex64[2]"));
}

}  // namespace
}  // namespace amp
