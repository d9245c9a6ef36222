// Norms as other exporters write them: text in, the pattern or the reason out.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ir/patterns/norm_pattern.h"
#include "tests/ir/patterns/recognised_at.h"

namespace amp {
namespace {

// The anchor is `d`, and what is behind it y.
std::string At(const std::string& body, int opset = 13, const std::string& outputs = "y") {
  return RecognisedAt(RecogniseNorm,
                      absl::StrCat("(float[2, 4, 8] x, float[2, 4, 8] z, float[2, N, M] u) => (", outputs,
                                   R"() <int64[1] last = {-1}, int64[1] second = {1}, float eps = {0.01},
      float zero = {0}, float one = {1}, float two = {2}, float eight = {8}, float four = {4}, float eighth = {0.125},
      float minus_half = {-0.5}, float[8] scale = {1, 1, 1, 1, 1, 1, 1, 1}, float[8] shift = {0, 0, 0, 0, 0, 0, 0, 0},
      float[4, 1] rows = {1, 1, 1, 1}> {)",
                                   body, "}"),
                      "d", opset);
}

std::string With(const std::string& text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return absl::StrReplaceAll(text, {{from, to}});
}

const std::string kVariance =
    "m = ReduceMean <axes = [-1]> (x) c = Sub (x, m) q = Mul (c, c) v = ReduceMean <axes = [-1]> (q) e = Add (v, eps) ";
const std::string kInverse = kVariance + "t = Sqrt (e) r = Reciprocal (t) ";
const std::string kWhole = "LayerNorm(x, scale, shift) axes -1 epsilon 0.01";

TEST_CASE("a norm that is spread: x * s + (shift - mean * s)") {
  const std::string spread =
      kInverse + "s = Mul (r, scale) p = Mul (x, s) o = Mul (m, s) b = Sub (shift, o) d = Add (p, b) y = Neg (d)";
  // Another mean, another factor, another sign, what is read from outside.
  const std::string outside = "what is squared is not what is divided";
  CHECK(At(With(spread, "o = Mul (m, s)", "n = ReduceMean <axes = [-1]> (z) o = Mul (n, s)")) == outside);
  CHECK(At(With(spread, "o = Mul (m, s)", "n = ReduceMean <axes = [1]> (x) o = Mul (n, s)")) ==
        "mean and variance are taken over different axes");
  CHECK(At(With(spread, "p = Mul (x, s)", "p = Mul (z, s)")) == outside);
  CHECK(At(With(spread, "o = Mul (m, s)", "o = Mul (m, r)")) == "it divides by no root");
  CHECK(At(With(spread, "b = Sub (shift, o)", "b = Sub (o, shift)")) == "it divides by no root");
  CHECK(At(With(spread, "b = Sub (shift, o)", "b = Add (shift, o)")) == "it divides by no root");
  CHECK(At(With(spread, "s = Mul (r, scale)", "s = Mul (r, rows)")) == "its scale or shift has another shape");
  CHECK(At(With(spread, "s = Mul (r, scale)", "s = Mul (r, two)")) == "its scale or shift has another shape");
  CHECK(At(spread + " w = Neg (s)") == "'s' is read from outside");
  CHECK(At(spread, 13, "y, o") == "'o' is read from outside");

  CHECK(At(spread) == kWhole);
  CHECK(At(With(With(spread, "Mul (x, s)", "Mul (s, x)"), "Mul (m, s)", "Mul (s, m)")) == kWhole);
  CHECK(At(With(spread, "Add (p, b)", "Add (b, p)")) == kWhole);
  CHECK(At(With(spread, "b = Sub (shift, o)", "n = Neg (o) b = Add (n, shift)")) == kWhole);
  CHECK(At(With(spread, "o = Mul (m, s) b = Sub (shift, o)", "n = Neg (m) o = Mul (n, s) b = Add (shift, o)")) ==
        kWhole);
  CHECK(At(With(spread, "b = Sub (shift, o)", "b = Neg (o)")) == "LayerNorm(x, scale, -) axes -1 epsilon 0.01");
  CHECK(At(With(spread, "s = Mul (r, scale)", "s = Identity (r)")) == "LayerNorm(x, -, shift) axes -1 epsilon 0.01");
}

TEST_CASE("a norm whose inverse root is scaled ahead of the product") {
  const std::string scaled = kInverse + "s = Mul (r, scale) d = Mul (c, s) y = Add (d, shift)";
  CHECK(At(With(scaled, "s = Mul (r, scale)", "s = Mul (r, two)")) == "its scale or shift has another shape");
  CHECK(At(With(scaled, "d = Mul (c, s)", "d = Mul (x, s)")) == "what is squared is not what is divided");
  CHECK(At(scaled) == kWhole);
  CHECK(At(With(scaled, "d = Mul (c, s)", "d = Mul (s, c)")) == kWhole);
  CHECK(At(With(scaled, "y = Add (d, shift)", "y = Add (d, rows)")) == "LayerNorm(x, scale, -) axes -1 epsilon 0.01");
  CHECK(At("q = Mul (x, x) v = ReduceMean <axes = [-1]> (q) e = Add (v, eps) r = Pow (e, minus_half) "
           "s = Mul (scale, r) d = Mul (x, s) y = Neg (d)") == "RMSNorm(x, scale) axes -1 epsilon 0.01");
}

TEST_CASE("means that are sums, and such that lost their axes for a while") {
  const std::string body = kVariance + "t = Sqrt (e) d = Div (c, t) w = Mul (d, scale) y = Add (w, shift)";
  const std::string mean = "m = ReduceMean <axes = [-1]> (x)", variance = "v = ReduceMean <axes = [-1]> (q)";
  const std::string none = "no mean is under the root";
  CHECK(At(With(body, variance, "g = ReduceSum (q, last) v = Div (g, four)")) == none);  // not the number of elements
  CHECK(At(With(body, variance, "g = ReduceSum (q, last) v = Mul (g, eight)")) == none);
  CHECK(At(With(body, variance, "g = ReduceSum (q, last) v = Div (eight, g)")) == none);
  CHECK(At(With(body, variance, "v = ReduceSum (q, last)")) == none);
  CHECK(At(With(body, variance, "g = ReduceMean <axes = [-1]> (q) v = Div (g, eight)")) == none);
  CHECK(At(absl::StrReplaceAll(With(body, variance, "g = ReduceSum (q, last) v = Div (g, eight)"), {{"(x", "(u"}})) ==
        none);  // nobody knows how many there are
  CHECK(At(With(body, mean, "g = ReduceSum (x, last) m = Div (g, four)")) == "RMSNorm(c, scale) axes -1 epsilon 0.01");

  CHECK(At(With(body, variance, "g = ReduceSum (q, last) v = Div (g, eight)")) == kWhole);
  CHECK(At(With(With(body, variance, "g = ReduceSum (q, last) v = Mul (eighth, g)"), mean,
                "h = ReduceSum (x, last) m = Mul (h, eighth)")) == kWhole);
  CHECK(At(With(body, variance, "g = ReduceMean <axes = [-1], keepdims = 0> (q) v = Unsqueeze (g, last)")) == kWhole);
  CHECK(At(With(body, variance, "g = ReduceSum <keepdims = 0> (q, last) h = Div (g, eight) v = Unsqueeze (h, last)")) ==
        kWhole);
  CHECK(At(With(body, variance, "g = ReduceMean <axes = [-1], keepdims = 0> (q) v = Unsqueeze (g, second)")) ==
        "the axes of the mean under the root are not known, or not kept");
  CHECK(At(With(body, variance, "g = ReduceMean <axes = [-1]> (q) v = Unsqueeze (g, last)")) ==
        "the axes of the mean under the root are not known, or not kept");
}

TEST_CASE("a variance that is a difference of squares") {
  const std::string body =
      "m = ReduceMean <axes = [-1]> (x) q = Mul (x, x) g = ReduceMean <axes = [-1]> (q) k = Mul (m, m) h = Sub (g, k) "
      "v = Max (h, zero) e = Add (v, eps) t = Sqrt (e) c = Sub (x, m) d = Div (c, t) w = Mul (d, scale) "
      "y = Add (w, shift)";
  const std::string none = "no mean is under the root";
  CHECK(At(With(body, "Sub (g, k)", "Sub (k, g)")) == none);
  CHECK(At(With(body, "Sub (g, k)", "Add (g, k)")) == none);
  CHECK(At(With(body, "k = Mul (m, m)", "k = Mul (m, x)")) == none);
  CHECK(At(With(body, "Max (h, zero)", "Max (h, one)")) == none);
  CHECK(At(With(body, "k = Mul (m, m)", "n = ReduceMean <axes = [-1]> (z) k = Mul (n, n)")) == none);
  CHECK(At(With(body, "k = Mul (m, m)", "n = ReduceMean <axes = [1]> (x) k = Mul (n, n)")) == none);
  CHECK(At(With(body, "d = Div (c, t)", "d = Div (x, t)")) == "what is squared is not what is divided");
  CHECK(At(With(body, "c = Sub (x, m)", "n = ReduceMean <axes = [1]> (x) c = Sub (x, n)")) ==
        "mean and variance are taken over different axes");
  CHECK(At(body + " o = Neg (h)") == "'h' is read from outside");

  CHECK(At(body) == kWhole);
  CHECK(At(With(body, "Max (h, zero)", "Max (zero, h)")) == kWhole);
  CHECK(At(With(body, "v = Max (h, zero)", "v = Relu (h)")) == kWhole);
  CHECK(At(With(body, "v = Max (h, zero) e = Add (v, eps)", "e = Add (h, eps)")) == kWhole);
  CHECK(At(With(body, "k = Mul (m, m)", "k = Pow (m, two)")) == kWhole);
  CHECK(At(With(body, "c = Sub (x, m) d = Div (c, t)",
                "r = Reciprocal (t) p = Mul (x, r) o = Mul (m, r) b = Neg (o) d = Add (p, b)")) == kWhole);
}

TEST_CASE("means whose number of elements is computed") {
  const std::string body = kVariance + "t = Sqrt (e) d = Div (c, t) w = Mul (d, scale) y = Add (w, shift)";
  const std::string variance = "v = ReduceMean <axes = [-1]> (q)";
  const auto counted = [&](const std::string& count) {
    return With(body, variance, count + " g = ReduceSum (q, last) v = Div (g, n)");
  };
  const std::string whole = "h = Shape (x) k = Gather (h, minus) n = Cast <to = 1> (k)";
  const std::string none = "no mean is under the root";
  const auto at = [&](const std::string& text, const std::string& outputs = "y") {
    const std::string constants =
        "minus = Constant <value = int64 {-1}> () third = Constant <value = int64 {2}> () "
        "rest = Constant <value = int64[2] {-2, -1}> () start = Constant <value = int64[1] {1}> () "
        "end = Constant <value = int64[1] {3}> () second_of = Constant <value = int64 {1}> () "
        "both = Constant <value = int64[2] {1, 2}> () ";
    return At(constants + text, 13, outputs);
  };
  // The number is that of another tensor, of another axis, of a list of dimensions, or of all dimensions, and so on.
  CHECK(at(With(counted(whole), "Shape (x)", "Shape (z)")) == none);
  CHECK(at(With(counted(whole), "Gather (h, minus)", "Gather (h, second_of)")) == none);
  CHECK(at(With(counted(whole), "Gather (h, minus)", "Gather (h, rest)")) == none);
  CHECK(at(counted("h = Shape (x) k = ReduceProd (h) n = Cast <to = 1> (k)")) == none);
  CHECK(at(counted("h = Shape (x) k = Gather (h, minus) p = Mul (k, k) n = Cast <to = 1> (p)")) == none);
  CHECK(at(With(counted(whole), "v = Div (g, n)", "v = Div (n, g)")) == none);
  CHECK(at(With(counted(whole), "v = Div (g, n)", "v = Mul (g, n)")) == none);
  CHECK(at(With(counted(whole), "g = ReduceSum (q, last)", "g = ReduceMean <axes = [-1]> (q)")) == none);

  CHECK(at(counted(whole)) == kWhole);
  CHECK(at(counted(whole) + " o = Neg (n)", "y, o") == kWhole);  // others may read it
  CHECK(at(With(counted(whole), "Gather (h, minus)", "Gather (h, third)")) == kWhole);
  CHECK(at(counted("h = Shape (q) k = Gather (h, minus) n = Cast <to = 1> (k)")) == kWhole);
  CHECK(at(counted("h = Shape (x) r = Cast <to = 1> (h) n = Gather (r, minus)")) == kWhole);
  const std::string twice = With(counted(whole), "m = ReduceMean <axes = [-1]> (x)",
                                 "hx = Shape (x) kx = Gather (hx, minus) nx = Cast <to = 1> (kx) "
                                 "gx = ReduceSum (x, last) m = Div (gx, nx)");
  CHECK(at(twice) == kWhole);
  CHECK(at(With(twice, "hx = Shape (x)", "hx = Shape (z)")) == none);

  const std::string plane =
      "q = Mul (x, x) COUNT g = ReduceSum (q, both) v = Div (g, n) e = Add (v, eps) t = Sqrt (e) d = Div (x, t) y = "
      "Neg (d)";
  const std::string rms = "RMSNorm(x, -) axes -2,-1 epsilon 0.01";
  const auto with_count = [&](const std::string& count) { return With(plane, "COUNT", count); };
  CHECK(at(with_count("h = Shape (x) k = Gather (h, minus) n = Cast <to = 1> (k)")) == none);
  CHECK(at(with_count(
            "h = Shape (x) i = Gather (h, minus) j = Gather (h, third) k = Mul (i, j) n = Cast <to = 1> (k)")) ==
        none);  // one axis twice
  CHECK(at(with_count(
            "h = Shape (x) i = Gather (h, minus) j = Gather (h, second_of) k = Mul (i, j) n = Cast <to = 1> (k)")) ==
        rms);
  CHECK(at(with_count("h = Shape (x) i = Gather (h, minus) j = Gather (h, second_of) a = Cast <to = 1> (i) "
                      "b = Cast <to = 1> (j) n = Mul (a, b)")) == rms);
  CHECK(at(with_count("h = Shape (x) i = Gather (h, rest) k = ReduceProd <keepdims = 0> (i) n = Cast <to = 1> (k)")) ==
        rms);
  CHECK(at(with_count("h = Shape (x) i = Slice (h, start, end) k = ReduceProd (i) n = Cast <to = 1> (k)")) == rms);
  CHECK(at(with_count("h = Shape (x) k = ReduceProd (h) n = Cast <to = 1> (k)")) == none);
}

TEST_CASE("means that are reshaped and expanded before they are used") {
  const std::string body =
      "m = ReduceMean <axes = [-1], keepdims = 0> (x) q = Mul (x, x) g = ReduceMean <axes = [-1], keepdims = 0> (q) "
      "k = Mul (m, m) h = Sub (g, k) i = Max (h, zero) v = Reshape (i, ones) n = Reshape (m, ones) c = Sub (x, n) "
      "e = Add (v, eps) t = Sqrt (e) r = Reciprocal (t) s = Mul (r, scale) w = Mul (c, s) y = Add (w, shift)";
  const auto at = [&](const std::string& text, const std::string& outputs = "y") {
    const std::string constants =
        "ones = Constant <value = int64[3] {2, 4, 1}> () full = Constant <value = int64[3] {2, 4, 8}> () "
        "turned = Constant <value = int64[3] {4, 2, 1}> () "
        "more = Constant <value = int64[4] {3, 2, 4, 8}> () ";
    return At(constants + absl::StrReplaceAll(
                              text, {{"w = Mul (c, s)", "d = Mul (c, s)"}, {"Add (w, shift)", "Add (d, shift)"}}),
              13, outputs);
  };
  CHECK(at(With(body, "v = Reshape (i, ones)", "v = Reshape (i, turned)")) == "no mean is under the root");
  CHECK(at(With(body, "n = Reshape (m, ones)", "n = Reshape (m, turned)")) ==
        "mean and variance are taken over different axes");
  const std::string larger = "what is expanded may be larger than what is divided";
  CHECK(at(With(body, "v = Reshape (i, ones)", "o = Reshape (i, ones) v = Expand (o, more)")) == larger);
  const std::string unknown =
      "m = ReduceMean <axes = [-1]> (u) h = Shape (u) o = Expand (m, h) c = Sub (u, o) q = Mul (c, c) "
      "v = ReduceMean <axes = [-1]> (q) e = Add (v, eps) t = Sqrt (e) d = Div (c, t) y = Neg (d)";
  CHECK(At(With(unknown, "h = Shape (u)", "h = Shape (z)")) == larger);
  CHECK(At(With(unknown, "h = Shape (u)", "h = Shape <start = 1> (u)"), 15) == larger);
  CHECK(At(unknown) == "LayerNorm(u, -, -) axes -1 epsilon 0.01");

  CHECK(at(body) == kWhole);
  CHECK(at(With(body, "i = Max (h, zero) v = Reshape (i, ones)", "v = Reshape (h, ones)")) == kWhole);
  CHECK(at(With(body, "c = Sub (x, n)", "o = Expand (n, full) c = Sub (x, o)")) == kWhole);
  CHECK(at(With(body, "c = Sub (x, n)", "hx = Shape (x) o = Expand (n, hx) c = Sub (x, o)")) == kWhole);
  CHECK(at(With(body, "r = Reciprocal (t) s = Mul (r, scale)",
                "r = Reciprocal (t) b = Expand (r, full) s = Mul (b, scale)")) == kWhole);
  CHECK(at(With(body, "s = Mul (r, scale) w", "p = Mul (r, scale) s = Expand (p, full) w")) == kWhole);
  CHECK(at(With(body, "e = Add (v, eps)", "b = Expand (v, full) e = Add (b, eps)")) == kWhole);
}

}  // namespace
}  // namespace amp
