// The recogniser of rotary embeddings: text in, the pattern or the reason out.
#include "ir/patterns/rotary_pattern.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/ir/patterns/recognised_at.h"

namespace amp {
namespace {

// The anchor is `a`; what y is of is the last value, `f` where there is one behind `a`.
std::string At(const std::string& body, int opset = 17, const std::string& outputs = "y") {
  return RecognisedAt(
      RecogniseRotary,
      absl::StrCat(
          "(float[2, 4, 5, 8] x, float[2, 4, 5, 8] z, float[5, 8] c, float[5, 8] s, float[5, 4] hc, "
          "float[5, 4] hs, float[2, 4, 5, 4, 2] xp, float[5, 2] qc, float[5, 2] qs, float[2, 4, 5, D] xd) => (",
          outputs, R"() <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3},
      int64[1] four = {4}, int64[1] eight = {8}, int64[1] last = {-1}, int64[1] end = {9223372036854775807},
      int64[2] halves = {4, 4}, int64[2] uneven = {3, 5}, int64[4] flat = {0, 0, 0, -1}, int64 i0 = {0}, int64 i1 = {1},
      int64 i2 = {2}, int64 i3 = {3}, float minus = {-1}> {)",
          body, absl::StrContains(body, " f = ") ? " y = Identity (f) }" : " y = Identity (a) }"),
      "a", opset);
}

std::string With(const std::string& text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return absl::StrReplaceAll(text, {{from, to}});
}

const std::string kHalves =
    "x1 = Slice (x, zero, four, last) x2 = Slice (x, four, end, last) n = Neg (x2) "
    "r = Concat <axis = -1> (n, x1) p = Mul (x, c) t = Mul (r, s) a = Add (p, t)";
const std::string kByParts =
    "x1, x2 = Split <axis = -1> (x, halves) ac = Mul (x1, hc) bs = Mul (x2, hs) re = Sub (ac, bs) "
    "as = Mul (x1, hs) bc = Mul (x2, hc) im = Add (as, bc) a = Concat <axis = -1> (re, im)";
const std::string kStack = "u = Unsqueeze (re, last) w = Unsqueeze (im, last) a = Concat <axis = -1> (u, w)";

TEST_CASE("near misses of rotary embeddings are none") {
  const std::string no_rotation = "no summand is a product with the second half, negated, ahead of the first";
  CHECK(At("a = Mul (x, c)") == "no sum and no concatenation");
  CHECK(At("a = Add (x, z)") == no_rotation);
  CHECK(At(With(kHalves, "(n, x1)", "(x2, x1)")) == no_rotation);   // none is negated
  CHECK(At(With(kHalves, "(n, x1)", "(x1, n)")) == no_rotation);    // not exchanged
  CHECK(At(With(kHalves, "Neg (x2)", "Neg (x1)")) == no_rotation);  // the same half twice
  CHECK(At(With(kHalves, "Neg (x2)", "Abs (x2)")) == no_rotation);
  CHECK(At(With(kHalves, "Slice (x, four, end, last)", "Slice (z, four, end, last)")) == no_rotation);
  CHECK(At(With(kHalves, "Slice (x, four, end, last)", "Slice (x, three, end, last)")) == no_rotation);
  CHECK(At(With(kHalves, "Concat <axis = -1>", "Concat <axis = 2>")) == no_rotation);  // another axis
  CHECK(At(With(kHalves, "last)", "two)")) == no_rotation);
  CHECK(At(With(kHalves, "Mul (x, c)", "Mul (z, c)")) == "the other summand is not of what is rotated");
  CHECK(At(With(kHalves, "Mul (x, c)", "Sub (x, c)")) == "the other summand is no product");
  CHECK(At(With(kHalves, "Add (p, t)", "Sub (p, t)")) == "no sum and no concatenation");
  CHECK(At(kHalves + " o = Neg (t)") == "'t' is read from outside");
  CHECK(At(kHalves, 17, "y, r") == "'r' is read from outside");

  CHECK(At(With(kByParts, "(ac, bs)", "(bs, ac)")) ==
        "difference and sum are not of products with both parts of one value");
  CHECK(At(With(kByParts, "Sub (ac, bs)", "Add (ac, bs)")) == "it does not join a difference and a sum");
  CHECK(At(With(kByParts, "(re, im)", "(im, re)")) == "it does not join a difference and a sum");
  CHECK(At(With(kByParts, "Mul (x1, hs)", "Mul (x1, hc)")) ==
        "sum and difference do not have the same cosine and sine");
  CHECK(At(With(kByParts, "halves", "uneven")) ==
        "difference and sum are not of products with both parts of one value");
  CHECK(At(With(kByParts, "Concat <axis = -1>", "Concat <axis = 1>")) ==
        "it does not join two values along the last axis");
  CHECK(At(With(kByParts, "a = Concat <axis = -1> (re, im)", kStack)) ==
        "its pairs are put together in another way than they are taken apart");
  CHECK(At(With(kByParts, "x2 = Split <axis = -1> (x, halves)",
                "e = Split <axis = -1> (x, halves) "
                "g, x2 = Split <axis = -1> (z, halves)")) == "its parts are not of one value");
}

TEST_CASE("rotary embeddings of halves") {
  const std::string whole = "Rotary(x, c, s) halves whole angles";
  CHECK(At(kHalves) == whole);
  CHECK(At(With(kHalves, "Add (p, t)", "Add (t, p)")) == whole);
  CHECK(At(With(With(kHalves, "Mul (x, c)", "Mul (c, x)"), "Mul (r, s)", "Mul (s, r)")) == whole);
  CHECK(At(With(kHalves, "Neg (x2)", "Mul (x2, minus)")) == whole);
  CHECK(At(With(kHalves, "Slice (x, four, end, last)", "Slice (x, four, eight, three)")) == whole);
  CHECK(At(With(kHalves, "x1 = Slice (x, zero, four, last) x2 = Slice (x, four, end, last)",
                "x1, x2 = Split <axis = 3> (x, halves)")) == whole);
  CHECK(At(With(kHalves, "x1 = Slice (x, zero, four, last) x2 = Slice (x, four, end, last)",
                "x1 = Slice <axes = [-1], starts = [0], ends = [4]> (x) "
                "x2 = Slice <axes = [-1], starts = [4], ends = [2147483647]> (x)"),
           9) == whole);
  CHECK(At(kByParts) == "Rotary(x, hc, hs) halves");
  CHECK(At(With(With(kByParts, "Mul (x1, hs)", "Mul (hs, x1)"), "(as, bc)", "(bc, as)")) == "Rotary(x, hc, hs) halves");

  // The size of the axis is known at run time alone; then a border is half of it only where it is computed so.
  const std::string computed =
      "shape = Shape (xd) d = Gather (shape, i3) h = Div (d, i2) b = Unsqueeze (h, zero) "
      "x1 = Slice (xd, zero, b, last) x2 = Slice (xd, b, end, last) n = Neg (x2) "
      "r = Concat <axis = -1> (n, x1) p = Mul (xd, c) t = Mul (r, s) a = Add (p, t)";
  CHECK(At(computed) == "Rotary(xd, c, s) halves whole angles");
  const std::string unknown = "no summand is a product with the second half, negated, ahead of the first";
  CHECK(At(With(computed, "Gather (shape, i3)", "Gather (shape, i1)")) == unknown);
  CHECK(At(With(computed, "Div (d, i2)", "Div (d, i3)")) == unknown);
  CHECK(At(With(kHalves, "x,", "xd,")) == unknown);
}

TEST_CASE("rotary embeddings of neighbours") {
  const std::string every_other = "e = Slice (x, zero, end, last, two) o = Slice (x, one, end, last, two) ";
  const std::string rotated = every_other +
                              "n = Neg (o) u = Unsqueeze (n, last) w = Unsqueeze (e, last) "
                              "k = Concat <axis = -1> (u, w) r = Reshape (k, flat) p = Mul (x, c) t = Mul (r, s) "
                              "a = Add (p, t)";
  CHECK(At(rotated) == "Rotary(x, c, s) interleaved whole angles");
  CHECK(At(With(rotated, "r = Reshape (k, flat)", "shape = Shape (x) r = Reshape (k, shape)")) ==
        "Rotary(x, c, s) interleaved whole angles");
  const std::string unknown = "no summand is a product with the second half, negated, ahead of the first";
  CHECK(At(With(rotated, "Neg (o)", "Neg (e)")) == unknown);
  CHECK(At(With(rotated, "Slice (x, one, end, last, two)", "Slice (x, two, end, last, two)")) == unknown);

  const std::string turned =
      "ac = Mul (e, hc) bs = Mul (o, hs) re = Sub (ac, bs) as = Mul (e, hs) bc = Mul (o, hc) im = Add (as, bc) ";
  CHECK(At(every_other + turned + kStack + " f = Reshape (a, flat)") == "Rotary(x, hc, hs) interleaved");
  CHECK(At(every_other + turned + kStack) == "its pairs do not become one axis again");
  CHECK(At(every_other + turned + "a = Concat <axis = -1> (re, im)") ==
        "its pairs are put together in another way than they are taken apart");
  CHECK(At("es, os = Split <axis = 4> (xp) e = Squeeze (es, last) o = Squeeze (os, last) " + turned + kStack) ==
        "Rotary(xp, hc, hs) last axis");
  CHECK(At("e = Gather <axis = -1> (xp, i0) o = Gather <axis = -1> (xp, i1) " + turned + kStack) ==
        "Rotary(xp, hc, hs) last axis");
  CHECK(At("e = Gather <axis = -1> (xp, i1) o = Gather <axis = -1> (xp, i0) " + turned + kStack) ==
        "difference and sum are not of products with both parts of one value");
}

TEST_CASE("rotary embeddings of a part of the axis") {
  const std::string part =
      "h = Slice (x, zero, four, last) rest = Slice (x, four, end, last) "
      "x1 = Slice (h, zero, two, last) x2 = Slice (h, two, end, last) n = Neg (x2) "
      "r = Concat <axis = -1> (n, x1) p = Mul (h, hc) t = Mul (r, hs) a = Add (p, t) ";
  CHECK(At(part + "f = Concat <axis = -1> (a, rest)") == "Rotary(x, hc, hs) halves whole angles rotated 4");
  // The other operand of the last Concat is not the rest of x, so that the pattern is the part that turns alone.
  const std::string alone = "Rotary(h, hc, hs) halves whole angles";
  CHECK(At(part + "f = Concat <axis = -1> (rest, a)") == alone);
  CHECK(At(part + "f = Concat <axis = -1> (a, z)") == alone);
  CHECK(At(part + "f = Concat <axis = 2> (a, rest)") == alone);
  CHECK(At(With(part, "rest = Slice (x, four", "rest = Slice (x, three") + "f = Concat <axis = -1> (a, rest)") ==
        alone);
  CHECK(At(With(part, "h = Slice (x, zero, four, last) rest = Slice (x, four, end, last)",
                "h, rest = Split <axis = -1> (x, halves)") +
           "f = Concat <axis = -1> (a, rest)") == "Rotary(x, hc, hs) halves whole angles rotated 4");
}

}  // namespace
}  // namespace amp
