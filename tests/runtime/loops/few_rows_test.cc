// Products of a few rows against the reference kernels: sizes, operands, numbers, steps behind them, threads.
#include "runtime/loops/few_rows.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/catch2.h"
#include "tests/runtime/cpu/library_case.h"
#include "tests/runtime/loops/run_both.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

// Up to 48 rows are taken with every matrix, as long as this lives.
class TakesAll {
 public:
  TakesAll() { TakeAllFewRows(++depth_ > 0); }
  ~TakesAll() { TakeAllFewRows(--depth_ > 0); }

 private:
  inline static int depth_ = 0;
};

// Sums of float32 differ from the reference's in their last bits, beside the largest term.
constexpr double kOfSums = 1e-4;

BothCase Product(const std::string& node, std::vector<Tensor> inputs) {
  return {.node = node, .inputs = std::move(inputs), .relative = 1e-5, .absolute = kOfSums, .family = "few-rows"};
}

std::string MatMul(DType dtype, const Dims& a, const Dims& b, Values values = Values::kPlain) {
  const TakesAll takes_all;
  return RunBoth(Product("y = MatMul(a, b)", {RandomTensor(dtype, a, values), RandomTensor(dtype, b, values)}));
}

// "few-rows" where that ran in all three types and gave the reference's numbers, with one thread and with others.
std::string Ran(LibraryCase each) {
  const TakesAll takes_all;
  each.find = FindAllKernels;
  std::string all;
  for (const DType dtype : kFloats) {
    const std::string family = Family(each, dtype);
    if (family != "few-rows") return absl::StrCat(DTypeName(dtype), ": ", family);
    all = family;
  }
  return all;
}

TEST_CASE("one to 48 rows, sizes beside those of registers") {
  for (const DType dtype : kLoopFloats) {
    for (int64_t m = 1; m <= 4; ++m) {
      for (const int64_t k : {1, 7, 8, 9, 64, 77}) {
        for (const int64_t n : {8, 9, 16, 31, 64, 129, 200}) {
          INFO(m << " " << k << " " << n);
          CHECK(MatMul(dtype, {m, k}, {k, n}).empty());
        }
      }
    }
  }
  for (int64_t m = 5; m <= 48; m += m < 18 ? 1 : 6) {
    INFO(m);
    CHECK(MatMul(DType::kFloat16, {m, 77}, {77, 131}).empty());
  }
}

TEST_CASE("49 rows are the library's") {
  const TakesAll takes_all;
  const TwoSessions sessions({.node = "y = MatMul(a, b)", .inputs = {{49, 33}, {33, 20}}, .find = FindAllKernels},
                             DType::kFloat16);
  CHECK(sessions.Run(RandomInputs({.node = {}, .inputs = {{49, 33}, {33, 20}}}, DType::kFloat16)) == "onednn");
}

TEST_CASE("more columns than a stretch has") {
  for (const int64_t m : {1, 3, 7}) {
    CHECK(MatMul(DType::kFloat32, {m, 20}, {20, 4103}).empty());
    CHECK(MatMul(DType::kBfloat16, {m, 20}, {20, 9001}).empty());
  }
}

TEST_CASE("a transposed matrix deeper than what is multiplied at once") {
  const TakesAll takes_all;
  for (const int64_t m : {1, 3, 4, 5, 8, 9, 16}) {
    for (const int64_t k : {511, 512, 513, 1056, 1100}) {
      for (const int64_t n : {23, 24, 25, 55}) {
        INFO(m << " " << k << " " << n);
        const Tensor a = RandomTensor(DType::kFloat16, {m, k}, Values::kPlain, 0.25);
        CHECK(RunBoth(Product("y = Gemm<transB = 1>(a, b)", {a, RandomTensor(DType::kFloat16, {n, k})})).empty());
      }
    }
  }
}

TEST_CASE("transposed matrices") {
  const TakesAll takes_all;
  for (const DType dtype : kLoopFloats) {
    for (int64_t m = 1; m <= 9; ++m) {
      for (const int64_t k : {8, 15, 16, 33, 130}) {
        for (const int64_t n : {1, 2, 8, 13, 29}) {
          INFO(m << " " << k << " " << n);
          CHECK(
              RunBoth(Product("y = Gemm<transB = 1>(a, b)", {RandomTensor(dtype, {m, k}), RandomTensor(dtype, {n, k})}))
                  .empty());
        }
      }
    }
    CHECK(RunBoth(Product("y = Gemm<transA = 1>(a, b)", {RandomTensor(dtype, {40, 3}), RandomTensor(dtype, {40, 21})}))
              .empty());
    CHECK(RunBoth(Product("y = Gemm<transA = 1, transB = 1>(a, b)",
                          {RandomTensor(dtype, {40, 3}), RandomTensor(dtype, {21, 40})}))
              .empty());
  }
}

TEST_CASE("vectors, and batches that broadcast") {
  const TakesAll takes_all;
  const std::pair<Dims, Dims> shapes[] = {{{9}, {9, 12}},
                                          {{9}, {9}},
                                          {{4, 9}, {9}},
                                          {{2, 4, 9}, {9, 12}},
                                          {{2, 4, 9}, {2, 9, 12}},
                                          {{3, 1, 4, 9}, {2, 9, 12}},
                                          {{1, 3, 4, 9}, {2, 1, 9, 12}},
                                          {{4, 9}, {5, 9, 12}},
                                          {{9}, {3, 9, 12}},
                                          {{2, 3, 2, 9}, {9}}};
  for (const DType dtype : kLoopFloats) {
    for (const auto& [a, b] : shapes) {
      INFO(DimsText(a) << " " << DimsText(b));
      CHECK(MatMul(dtype, a, b).empty());
    }
    CHECK(RunBoth(Product("y = com.microsoft.FusedMatMul<alpha = -0.5, transA = 1, transB = 1>(a, b)",
                          {RandomTensor(dtype, {3, 9, 4}), RandomTensor(dtype, {3, 12, 9})}))
              .empty());
  }
}

TEST_CASE("numbers that are not finite, and subnormal ones") {
  const TakesAll takes_all;
  for (const DType dtype : kLoopFloats) {
    for (const int64_t m : {1, 2, 5}) {
      INFO(DTypeName(dtype) << " " << m);
      const auto compare = [&](const std::string& node, const Dims& b) {
        BothCase each = Product(node, {RandomTensor(dtype, {m, 21}, Values::kPlain, 1e-3), RandomTensor(dtype, b)});
        for (const double special : std::vector<double>{NAN, INFINITY, -INFINITY, 6e-8, 1e-40}) {
          std::vector<double> numbers = *ReadDoubles(each.inputs[1]);
          numbers[numbers.size() / 2] = special;
          REQUIRE(WriteDoubles(numbers, each.inputs[1]).ok());
          INFO(node << " " << special);
          CHECK(RunBoth(each).empty());
        }
        std::vector<double> numbers = *ReadDoubles(each.inputs[0]);
        numbers[3] = NAN;
        REQUIRE(WriteDoubles(numbers, each.inputs[0]).ok());
        CHECK(RunBoth(each).empty());
      };
      compare("y = MatMul(a, b)", {21, 19});
      compare("y = Gemm<transB = 1>(a, b)", {19, 21});
    }
  }
}

TEST_CASE("C of every shape that broadcasts, factors") {
  for (const std::string factors : {"", "alpha = 0.5", "beta = 0.0", "alpha = -2.0, transB = 1"}) {
    const Dims b = absl::StrContains(factors, "transB") ? Dims{12, 9} : Dims{9, 12};
    for (const Dims& c : {Dims{}, Dims{1}, Dims{12}, Dims{1, 12}, Dims{4, 1}, Dims{1, 1}, Dims{4, 12}}) {
      INFO(factors << DimsText(c));
      const std::string node = absl::StrCat("y = Gemm", factors.empty() ? "" : "<" + factors + ">", "(a, b, c)");
      CHECK(Ran({.node = node, .inputs = {{4, 9}, b, c}}) == "few-rows");
      CHECK(Ran({.node = node, .inputs = {{4, 9}, b, c}, .constants = "bc"}) == "few-rows");
    }
  }
  CHECK(Ran({.node = "y = Gemm<beta = 3.0>(a, b, c)", .inputs = {{4, 9}, {9, 12}, {12}}}) == "float32: reference");
}

TEST_CASE("C that does not fit is an error, also where it counts for nothing") {
  for (const Dims& c : {Dims{3}, Dims{4}, Dims{1, 4, 12}, Dims{12, 4}, Dims{4, 12, 1}, Dims{2, 12}}) {
    for (const std::string factors : {"", "<beta = 0.0>"}) {
      INFO(factors << DimsText(c));
      const LibraryCase each = {
          .node = "y = Gemm" + factors + "(a, b, c)", .inputs = {{4, 9}, {9, 12}, c}, .find = FindAllKernels};
      CHECK(absl::StartsWith(Family(each, DType::kFloat32), "both: "));
    }
  }
}

TEST_CASE("every step that may come behind a product") {
  const TakesAll takes_all;
  const std::vector<std::string> steps = {
      "y = Relu(m)",
      "y = LeakyRelu<alpha = 0.1>(m)",
      "y = Sigmoid(m)",
      "y = Tanh(m)",
      "y = Gelu(m)",
      "y = Gelu<approximate = \"tanh\">(m)",
      "y = HardSwish(m)",
      "y = HardSigmoid<alpha = 0.3, beta = 0.4>(m)",
      "y = Elu<alpha = 0.7>(m)",
      "y = Add(m, c)",
      "y = Mul(m, c)",
      "s = Add(m, c) r = Relu(s) y = Mul(r, d)",
  };
  const std::vector<Dims> operands = {{}, {30}, {1}, {3, 30}, {3, 1}, {2, 1, 30}, {2, 3, 30}};
  for (const std::string& step : steps) {
    for (const Dims& c : operands) {
      const bool reads_c = absl::StrContains(step, "c)");
      if (!reads_c && !c.empty()) continue;
      LibraryCase each = {.node = "m = MatMul(a, b) " + step, .inputs = {{2, 3, 17}, {17, 30}}, .constants = "b"};
      if (reads_c) each.inputs.push_back(c);
      if (absl::StrContains(step, "d)")) each.inputs.push_back({30});
      INFO(each.node << " " << DimsText(c));
      CHECK(Ran(each) == "few-rows");
      each.find = FindAllKernels;
      const TwoSessions sessions(each, DType::kFloat16);
      CHECK(sessions.Run(RandomInputs(each, DType::kFloat16)) == "few-rows");
      CHECK(KernelsOf(sessions.library()).size() == 1);
    }
  }
}

TEST_CASE("one session on several numbers of rows in turn") {
  const TakesAll takes_all;
  const LibraryCase each = {
      .node = "y = MatMul(a, b)", .inputs = {{1, 33}, {33, 20}}, .constants = "b", .find = FindAllKernels};
  for (const DType dtype : kFloats) {
    const TwoSessions sessions(each, dtype);
    for (const int64_t m : {1, 60, 3, 49, 24, 1}) {
      LibraryCase resized = each;
      resized.inputs[0][0] = m;
      CHECK(sessions.Run(RandomInputs(resized, dtype)) == (m > 48 ? "onednn" : "few-rows"));
    }
  }
}

TEST_CASE("as many rows are taken as were measured to be as fast, and no more") {
  const auto family = [](DType dtype, int64_t rows, bool is_transposed) {
    const std::string node = is_transposed ? "y = Gemm<transB = 1>(a, b)" : "y = MatMul(a, b)";
    const Dims b = is_transposed ? Dims{48, 64} : Dims{64, 48};
    return Family({.node = node, .inputs = {{rows, 64}, b}, .find = FindAllKernels}, dtype);
  };
  for (const DType dtype : kFloats) {
    for (const bool is_transposed : {false, true}) {
      const int64_t most = MostFewRows(dtype, is_transposed, size_t{64} * 48 * ElementBytes(dtype));
      INFO(DTypeName(dtype) << (is_transposed ? " transposed " : " ") << most);
      CHECK(most >= 1);
      CHECK(family(dtype, most, is_transposed) == "few-rows");
      CHECK(family(dtype, most + 1, is_transposed) == "onednn");
      CHECK(MostFewRows(dtype, is_transposed, size_t{64} << 20) >= 4);
    }
  }
}

TEST_CASE("what is left to others") {
  const auto family = [](const Dims& a, const Dims& b) {
    const LibraryCase each = {.node = "y = MatMul(a, b)", .inputs = {a, b}, .find = FindAllKernels};
    return Family(each, DType::kFloat32);
  };
  CHECK(family({2, 9}, {9, 5}) == "onednn");  // columns that leave a register empty
  CHECK(family({0, 9}, {9, 12}) == "reference");
  CHECK(family({2, 17, 9}, {2, 9, 12}) == "onednn");
  CHECK(absl::StrContains(family({2, 9}, {8, 12}), "both: "));
}

TEST_CASE("operands that share elements") {
  CHECK(Ran({.node = "y = MatMul(a, a)", .inputs = {{9, 9}}}) == "few-rows");
  CHECK(Ran({.node = "m = MatMul(a, a) y = Add(m, a)", .inputs = {{9, 9}}}) == "few-rows");
}

}  // namespace
}  // namespace amp
