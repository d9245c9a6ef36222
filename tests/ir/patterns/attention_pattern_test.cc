// The recogniser of attention: text in, the pattern or the reason out.
#include "ir/patterns/attention_pattern.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/ir/patterns/recognised_at.h"

namespace amp {
namespace {

std::string At(const std::string& body, int opset = 17, const std::string& outputs = "y") {
  return RecognisedAt(
      RecogniseAttention,
      absl::StrCat("(float[2, 4, 5, 8] q, float[2, 4, 6, 8] k, float[2, 4, 6, 8] v, float[5, 6] m, "
                   "float[2, 6, 4, 8] inside, bool[5, 6] keep, float[1] r) => (",
                   outputs,
                   R"() <float scale = {0.125}, float root = {8}, float half = {0.5}, float far = {-1e9},
      float zero = {0}, float cap = {50}, float inverse = {0.02}, float[8] each = {1, 2, 3, 4, 5, 6, 7, 8},
      bool no = {0}, bool yes = {1}, int64[1] last = {-1}> {)",
                   body, "}"),
      "y", opset);
}

constexpr char kScores[] = "kt = Transpose <perm = [0, 1, 3, 2]> (k) s = MatMul (q, kt) ";
constexpr char kSoftmax[] = "p = Softmax <axis = -1> (s) y = MatMul (p, v)";

std::string With(const std::string& text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return absl::StrReplaceAll(text, {{from, to}});
}

TEST_CASE("near misses of attention are none") {
  const std::string scores = kScores;
  CHECK(At("y = Add (q, q)") == "no product of two matrices");
  CHECK(At("p = Sigmoid (q) y = MatMul (p, each)") == "what multiplies the values is no softmax");
  CHECK(At(scores + "p = Softmax <axis = 2> (s) y = MatMul (p, v)") == "its softmax is not over the last axis");
  CHECK(At(scores + "p = Softmax (s) y = MatMul (p, v)", 12) == "its softmax is not over the last axis");
  // A mask behind the softmax.
  CHECK(At(scores + "o = Softmax (s) p = Where (keep, o, zero) y = MatMul (p, v)") ==
        "what multiplies the values is no softmax");
  CHECK(At(scores + "o = Softmax (s) p = Mul (o, m) y = MatMul (p, v)") == "what multiplies the values is no softmax");
  CHECK(At(scores + "o = LogSoftmax (s) y = MatMul (o, v)") == "what multiplies the values is no softmax");
  // One that leaves nothing out.
  CHECK(At(scores + "w = Where (keep, s, zero) p = Softmax (w) y = MatMul (p, v)") ==
        "what stands for the scores that are left out is not far below them");
  CHECK(At(scores + "w = Where (keep, s, m) p = Softmax (w) y = MatMul (p, v)") ==
        "what stands for the scores that are left out is not far below them");
  // A scale that multiplies the mask as well, or each element by another number.
  CHECK(At(scores + "a = Add (s, m) b = Mul (a, scale) p = Softmax (b) y = MatMul (p, v)") ==
        "what the softmax takes is no product of queries and keys");
  CHECK(At(scores + "a = Mul (s, m) p = Softmax (a) y = MatMul (p, v)") ==
        "what the softmax takes is no product of queries and keys");
  CHECK(At(scores + "a = Mul (s, zero) p = Softmax (a) y = MatMul (p, v)") ==
        "what the softmax takes is no product of queries and keys");
  // A soft cap whose two factors differ.
  CHECK(At(scores + "a = Div (s, root) t = Tanh (a) c = Mul (t, cap) p = Softmax (c) y = MatMul (p, v)") ==
        "what the softmax takes is no product of queries and keys");
  // A second reader of an inner value.
  CHECK(At(scores + kSoftmax + " o = Neg (p)") == "'p' is read from outside");
  CHECK(At(scores + kSoftmax, 17, "y, s") == "'s' is read from outside");
  // Dropout that trains.
  CHECK(At(scores + "o = Softmax (s) p = Dropout (o, half, yes) y = MatMul (p, v)") ==
        "what multiplies the values is no softmax");
  // Products of other dimensions.
  CHECK(At(With(scores, "s = MatMul (q, kt)", "s = Einsum <equation = \"bhid,bhdj->bhji\"> (q, kt)") + kSoftmax) ==
        "what the softmax takes is no product of queries and keys");
  CHECK(At(With(scores, "s = MatMul (q, kt)", "s = Einsum <equation = \"bhid,bhdj->bhij\"> (q, kt)") +
           "p = Softmax <axis = -1> (s) y = Einsum <equation = \"bhij,bhdj->bhid\"> (p, kt)") ==
        "the values are transposed or scaled");
}

TEST_CASE("attention with scales, masks and caps") {
  const std::string scores = kScores;
  CHECK(At(scores + kSoftmax) == "Attention(q, k, v) keys rows");
  CHECK(At(scores + "p = Softmax <axis = 3> (s) y = MatMul (p, v)", 12) == "Attention(q, k, v) keys rows");
  CHECK(At(scores + "a = Mul (scale, s) p = Softmax (a) y = MatMul (p, v)") ==
        "Attention(q, k, v) keys rows scale 0.125");
  CHECK(At(scores + "a = Div (s, root) b = Add (m, a) p = Softmax (b) y = MatMul (p, v)") ==
        "Attention(q, k, v, m) keys rows scale 0.125 masks added");
  CHECK(At(scores + "a = Div (s, root) b = Where (keep, a, far) p = Softmax (b) y = MatMul (p, v)") ==
        "Attention(q, k, v, keep) keys rows scale 0.125 masks false -1e+09");
  CHECK(At(scores + "a = Add (s, m) b = Where (keep, far, a) p = Softmax (b) y = MatMul (p, v)") ==
        "Attention(q, k, v, m, keep) keys rows masks added, true -1e+09");
  CHECK(At(scores + "a = Mul (s, scale) b = Mul (a, inverse) t = Tanh (b) c = Mul (cap, t) d = Add (c, m) "
                    "p = Softmax (d) y = MatMul (p, v)") ==
        "Attention(q, k, v, m) keys rows scale 0.125 cap 50 masks added");
  // On queries and keys, before or behind the transposition.
  CHECK(At("a = Mul (q, half) b = Mul (k, half) kt = Transpose <perm = [0, 1, 3, 2]> (b) s = MatMul (a, kt) " +
           std::string(kSoftmax)) == "Attention(q, k, v) keys rows scale 0.25");
  CHECK(At("a = Mul (q, half) kt = Transpose <perm = [0, 1, 3, 2]> (k) b = Mul (kt, half) s = MatMul (a, b) " +
           std::string(kSoftmax)) == "Attention(q, k, v) keys rows scale 0.25");
  CHECK(At("a = Div (q, root) kt = Transpose <perm = [0, 1, 3, 2]> (k) s = MatMul (a, kt) " + std::string(kSoftmax)) ==
        "Attention(q, k, v) keys rows scale 0.125");
}

TEST_CASE("what is no part of attention is its input") {
  const std::string softmax = kSoftmax;
  CHECK(At("a = Mul (q, r) kt = Transpose <perm = [0, 1, 3, 2]> (k) s = MatMul (a, kt) " + softmax) ==
        "Attention(a, k, v) keys rows");
  CHECK(At("a = Mul (q, each) kt = Transpose <perm = [0, 1, 3, 2]> (k) s = MatMul (a, kt) " + softmax) ==
        "Attention(a, k, v) keys rows");
  CHECK(At(std::string(kScores) + softmax + " o = Neg (kt)") == "Attention(q, kt, v) keys columns");
  CHECK(At("a = Mul (q, half) kt = Transpose <perm = [0, 1, 3, 2]> (k) s = MatMul (a, kt) " + softmax +
           " o = Neg (a)") == "Attention(a, k, v) keys rows");
  CHECK(At("kt = Transpose <perm = [0, 2, 3, 1]> (inside) s = MatMul (q, kt) " + softmax) ==
        "Attention(q, inside, v) keys before heads");
  CHECK(At("kt = Transpose <perm = [0, 2, 1, 3]> (inside) u = Transpose <perm = [0, 1, 3, 2]> (kt) s = MatMul (q, u) " +
           softmax) == "Attention(q, kt, v) keys rows");
}

TEST_CASE("attention by other products, a softmax by hand, and what may stand between") {
  CHECK(At("s = Einsum <equation = \"b h i d, b h j d -> b h i j\"> (q, k) p = Softmax (s) "
           "y = Einsum <equation = \"b h i j, b h j d -> b h i d\"> (p, v)") == "Attention(q, k, v) keys rows");
  CHECK(At("kt = Transpose <perm = [0, 1, 3, 2]> (k) s = Einsum <equation = \"...id,...dj->...ij\"> (q, kt) " +
           std::string(kSoftmax)) == "Attention(q, k, v) keys rows");
  CHECK(RecognisedAt(RecogniseAttention,
                     "(float[5, 8] q, float[6, 8] k, float[6, 3] v) => (y) { s = Gemm <transB = 1, alpha = 0.5> (q, k) "
                     "p = Softmax (s) y = Gemm (p, v) }",
                     "y") == "Attention(q, k, v) keys rows scale 0.5");
  CHECK(RecognisedAt(RecogniseAttention,
                     "(float[5, 8] q, float[6, 8] k, float[6, 3] v) => (y) { t = Transpose (k) s = MatMul (q, t) "
                     "p = Softmax (s) y = MatMul (p, v) }",
                     "y") == "Attention(q, k, v) keys rows");
  const std::string scores = kScores;
  CHECK(At(scores + "x = ReduceMax <axes = [-1]> (s) d = Sub (s, x) e = Exp (d) t = ReduceSum (e, last) "
                    "p = Div (e, t) y = MatMul (p, v)") == "Attention(q, k, v) keys rows");
  CHECK(At(scores + "o = Softmax (s) n = IsNaN (o) w = Where (n, zero, o) d = Dropout (w, half, no) "
                    "p = Cast <to = 1> (d) y = MatMul (p, v)") == "Attention(q, k, v) keys rows");
  CHECK(RecognisedAt(RecogniseAttention,
                     "(float16[5, 8] q, float16[6, 8] k, float16[6, 3] v) => (y) { t = Transpose (k) s = MatMul (q, t) "
                     "c = Cast <to = 1> (s) o = Softmax (c) p = Cast <to = 10> (o) y = MatMul (p, v) }",
                     "y") == "Attention(q, k, v) keys rows");
  CHECK(RecognisedAt(RecogniseAttention,
                     "(float[5, 8] q, float[6, 8] k, float[6, 3] v) => (y) { t = Transpose (k) s = MatMul (q, t) "
                     "c = Cast <to = 7> (s) d = Cast <to = 1> (c) p = Softmax (d) y = MatMul (p, v) }",
                     "y") == "what the softmax takes is no product of queries and keys");
}

}  // namespace
}  // namespace amp
