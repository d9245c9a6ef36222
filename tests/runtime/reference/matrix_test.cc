// Products of matrices and Einsum: integers, matrices without elements, long sums, shapes that do not fit.
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

TEST_CASE("products of integers wrap around") {
  CHECK(Computed({.given = "int32[1,2] a = {65536, 3}, int32[2,1] b = {65536, -5}",
                  .node = "y = MatMul(a, b)",
                  .output = "int32[1,1]"}) == "int32[1,1]: -15");
  CHECK(Computed({.given = "uint64[1] a = {18446744073709551615}", .node = "y = MatMul(a, a)", .output = "uint64"}) ==
        "uint64[]: 1");
}

TEST_CASE("a product over no elements is zeros") {
  CHECK(
      Computed({.given = "float[2,0] a = {}, float[0,1] b = {}", .node = "y = MatMul(a, b)", .output = "float[2,1]"}) ==
      "float32[2,1]: 0 0");
}

TEST_CASE("a sum longer than a panel of the product is whole") {
  CHECK(Computed({.given = "int64[1] n = {5000}",
                  .node = "one = ConstantOfShape<value = int64[1] {1}>(n) y = MatMul(one, one)",
                  .output = "int64"}) == "int64[]: 5000");
}

TEST_CASE("factors of Gemm that no integer can follow do no harm") {
  const std::string given = "int32[1,1] a = {3}, int32[1,1] c = {7}";
  CHECK(Computed({.given = given, .node = "y = Gemm<alpha = 0.5, beta = 2.0>(a, a, c)", .output = "int32[1,1]"}) ==
        "int32[1,1]: 18");
  CHECK(Computed({.given = given, .node = "y = Gemm<alpha = 1e38, beta = 1.0>(a, a, c)", .output = "int32[1,1]"}) ==
        "int32[1,1]: 7");
}

TEST_CASE("the determinant of a singular matrix is 0, of an empty one 1") {
  CHECK(Computed({.given = "float[2,2] a = {1, 2, 2, 4}", .node = "y = Det(a)", .output = "float"}) == "float32[]: 0");
  CHECK(Computed({.given = "float[2,0,0] a = {}", .node = "y = Det(a)", .output = "float[2]"}) == "float32[2]: 1 1");
}

TEST_CASE("Einsum: diagonals, operands one after another, the ellipsis in front where nothing is said") {
  const std::string given = "float[2,2] a = {1, 2, 3, 4}, float[1,2] b = {10, 20}, float[2] c = {1, -1}";
  const auto einsum = [&](const std::string& equation, const std::string& inputs, const std::string& output) {
    return Computed({.given = given, .node = "y = Einsum<equation = \"" + equation + "\">" + inputs, .output = output});
  };
  CHECK(einsum("ii->i", "(a)", "float[2]") == "float32[2]: 1 4");
  CHECK(einsum("ii", "(a)", "float") == "float32[]: 5");
  CHECK(einsum("ij,jk,k->i", "(a, a, c)", "float[2]") == "float32[2]: -3 -7");
  CHECK(einsum("...i,i", "(a, c)", "float[2]") == "float32[2]: -1 -1");
  CHECK(einsum("ba", "(a)", "float[2,2]") == "float32[2,2]: 1 3 2 4");
  CHECK(einsum("ij,ij->ij", "(a, b)", "float[2,2]") == "float32[2,2]: 10 40 30 80");
  CHECK(absl::StrContains(einsum("ij->k", "(a)", "float[2]"), "expected labels of operands in the output"));
  CHECK(absl::StrContains(einsum("ij,jk", "(a)", "float[2,2]"), "expected 1 terms"));
  CHECK(absl::StrContains(einsum("ijk", "(a)", "float"), "expected axes as in 'ijk'"));
}
