// Work of the library that is cut into parts, against the reference, and the memory that it takes.
#include "runtime/cpu/parts.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/onednn/open_library.h"
#include "tests/catch2.h"
#include "tests/runtime/cpu/library_case.h"

namespace amp {
namespace {

TEST_CASE("an axis is cut into parts of a granule's multiples, all but the last one alike") {
  const auto cut = [](int64_t total, int64_t of_index, int64_t granule) {
    const Parts parts = CutAxis(total, {.of_index = of_index, .of_all = total * of_index}, granule);
    return absl::StrCat(parts.count(), " x ", parts.size, ", last ", parts.last());
  };
  CHECK(cut(1000, 16, 64) == "1 x 1000, last 1000");
  CHECK(cut(1, 1'000'000'000, 64) == "1 x 1, last 1");
  CHECK(cut(64, 1'000'000'000, 64) == "1 x 64, last 64");
  CHECK(cut(65, 1'000'000'000, 64) == "2 x 64, last 1");
  CHECK(cut(256, 8192, 16) == "8 x 32, last 32");
  CHECK(cut(1024, 8192, 16) == "32 x 32, last 32");
  CHECK(cut(197, 1536, 16) == "13 x 16, last 5");
  CHECK(cut(16, 100'000, 1) == "8 x 2, last 2");
  CHECK(cut(100, 0, 1) == "1 x 100, last 100");
  CHECK(PartBytes(0) == 64 << 10);
  CHECK(PartBytes(6 << 20) == 768 << 10);
  CHECK(PartBytes(int64_t{1} << 40) == 1 << 20);
}

// A type that the library does not compute in here: of float16, bfloat16 the first that it widens.
DType WidenedType() {
  const onednn::Library* library = onednn::OpenLibrary().library;
  return library != nullptr && library->ComputesIn(DType::kFloat16) ? DType::kBfloat16 : DType::kFloat16;
}

// Returns the largest memory of a run, in units of float32 copies of `elements`.
double FloatCopies(const LibraryCase& each, int64_t elements) {
  const TwoSessions sessions(each, WidenedType());
  const NamedDatums inputs = RandomInputs(each, WidenedType());
  for (int run = 0; run < 2; ++run) CHECK(sessions.Run(inputs) == "onednn");
  return static_cast<double>(sessions.library().ActivationBytes()) / static_cast<double>(4 * elements);
}

TEST_CASE("products in parts of rows") {
  for (const int64_t rows : {64, 65, 200}) {
    const Dims a = {rows, 2100}, b = {2100, 5};
    INFO(rows);
    CHECK(Families({.node = "y = MatMul(a, b)", .inputs = {a, b}}) == "onednn");
    CHECK(Families({.node = "y = MatMul(a, b)", .inputs = {a, b}, .constants = "b"}) == "onednn");
    for (const Dims& c : {Dims{5}, Dims{1}, Dims{rows, 1}, Dims{rows, 5}}) {
      CHECK(Families({.node = "y = Gemm(a, b, c)", .inputs = {a, b, c}, .constants = "bc"}) == "onednn");
      CHECK(Families({.node = "h = MatMul(a, b) i = Add(h, c) y = Relu(i)", .inputs = {a, b, c}, .constants = "b"}) ==
            "onednn");
    }
  }
}

TEST_CASE("products in parts: rows of several matrices, weights turned, a result wider than its operand") {
  CHECK(Families({.node = "y = MatMul(a, b)", .inputs = {{3, 50, 2100}, {2100, 9}}, .constants = "b"}) == "onednn");
  CHECK(Families({.node = "y = Gemm<transB = 1>(a, b)", .inputs = {{150, 9}, {2100, 9}}, .constants = "b"}) ==
        "onednn");
  CHECK(Families({.node = "y = Gemm<transA = 1>(a, b)", .inputs = {{2100, 150}, {2100, 9}}}) == "onednn");
  CHECK(Families({.node = "h = MatMul(a, b) y = Mul(h, c)",
                  .inputs = {{3, 50, 9}, {9, 2100}, {50, 2100}},
                  .constants = "b"}) == "onednn");
  CHECK(Families({.node = "h = MatMul(a, b) y = Add(h, c)",
                  .inputs = {{3, 50, 9}, {9, 2100}, {3, 50, 2100}},
                  .constants = "b"}) == "onednn");
}

TEST_CASE("gradients of weights in parts of rows, added up, and the memory that they take") {
  const auto node = [](absl::string_view attributes) {
    return absl::StrCat("y = ai.amp.MatrixWeightGradient <to = 1, ", attributes, "> (a, b)");
  };
  for (const int64_t rows : {1, 255, 256, 512, 700}) {
    INFO(rows);
    CHECK(Families({.node = node("alpha = 1.0, transA = 1"),
                    .inputs = {{rows, 600}, {rows, 5}},
                    .gives = DType::kFloat32}) == "onednn");
    CHECK(Families({.node = node("alpha = 1.0, transA = 1"),
                    .inputs = {{rows, 3}, {rows, 2100}},
                    .gives = DType::kFloat32}) == "onednn");
    CHECK(Families({.node = node("alpha = 0.5, transA = 1"),
                    .inputs = {{rows, 600}, {rows, 5}},
                    .gives = DType::kFloat32}) == "onednn");
  }
  const LibraryCase large = {.node = node("alpha = 1.0, transA = 1"),
                             .inputs = {{8192, 256}, {8192, 256}},
                             .scale = 0.1,
                             .gives = DType::kFloat32};
  CHECK(FloatCopies(large, 8192 * 256) < 0.2);
}

TEST_CASE("large weights that no model has as constants, in blocks") {
  const std::string node = "y = Gemm <transB = 1> (a, b)";
  CHECK(Family({.node = node, .inputs = {{520, 2100}, {2200, 2100}}}, WidenedType()) == "onednn");
  CHECK(Families({.node = node, .inputs = {{3, 2100}, {2200, 2100}}}) == "onednn");
  CHECK(Families({.node = node, .inputs = {{3, 2100}, {2201, 2100}}}) == "onednn");
  CHECK(Families({.node = "h = Gemm <transB = 1> (a, b) y = Relu (h)", .inputs = {{3, 2100}, {2200, 2100}}}) ==
        "onednn");
  CHECK(FloatCopies({.node = node, .inputs = {{5, 2100}, {2200, 2100}}}, 2200 * 2100) < 0.3);
}

TEST_CASE("products in parts of batches") {
  const Dims a = {5, 200, 40}, b = {5, 40, 330};
  CHECK(Families({.node = "y = MatMul(a, b)", .inputs = {a, b}}) == "onednn");
  CHECK(Families({.node = "y = MatMul(a, b)", .inputs = {a, b}, .constants = "b"}) == "onednn");
  CHECK(Families({.node = "y = MatMul(a, b)", .inputs = {{1, 200, 40}, b}}) == "onednn");
  CHECK(Families({.node = "y = MatMul(a, b)", .inputs = {{5, 2, 200, 40}, {5, 1, 40, 330}}}) == "onednn");
  CHECK(Families({.node = "y = MatMul(a, b)", .inputs = {{5, 1, 200, 40}, {1, 3, 40, 330}}}) == "onednn");
  CHECK(Families({.node = "y = com.microsoft.FusedMatMul<transA = 1, transB = 1>(a, b)",
                  .inputs = {{5, 40, 200}, {5, 330, 40}}}) == "onednn");
  for (const Dims& c : {Dims{5, 200, 330}, Dims{1, 200, 330}, Dims{330}, Dims{5, 1, 1}}) {
    CHECK(Families({.node = "h = MatMul(a, b) y = Add(h, c)", .inputs = {a, b, c}}) == "onednn");
  }
}

std::string Convolved(const std::string& node, const std::vector<Dims>& inputs) {
  const std::string of_computed = Families({.node = node, .inputs = inputs});
  const std::string of_constant = Families({.node = node, .inputs = inputs, .constants = "b"});
  return of_computed == of_constant ? of_computed : absl::StrCat(of_computed, ", of constant weights ", of_constant);
}

TEST_CASE("convolutions in parts of images") {
  const Dims x = {5, 4, 120, 110}, w = {8, 4, 3, 3};
  CHECK(Convolved("y = Conv<pads = [1, 1, 1, 1]>(a, b)", {x, w}) == "onednn");
  CHECK(Convolved("y = Conv<pads = [1, 0, 2, 1], strides = [2, 1]>(a, b, c)", {x, w, {8}}) == "onednn");
  CHECK(Convolved("h = Conv<pads = [1, 1, 1, 1]>(a, b) y = Add(h, c)", {x, w, {5, 8, 120, 110}}) == "onednn");
  CHECK(Convolved("y = Conv(a, b)", {{7, 4, 14000}, {8, 4, 5}}) == "onednn");
  CHECK(Convolved("y = ConvTranspose<strides = [2, 2]>(a, b, c)", {{5, 4, 50, 60}, {4, 8, 2, 2}, {8}}) == "onednn");
}

TEST_CASE("one image in bands of rows: windows that reach beyond them, pads of each side") {
  const Dims x = {1, 8, 150, 130}, w = {8, 8, 3, 3};
  for (const std::string attributes :
       {"", "<pads = [1, 1, 1, 1]>", "<pads = [2, 0, 0, 1]>", "<strides = [2, 2], pads = [0, 1, 1, 0]>",
        "<dilations = [5, 2], pads = [5, 2, 5, 2]>", "<strides = [3, 1], dilations = [2, 1], pads = [1, 0, 4, 0]>",
        "<auto_pad = \"SAME_LOWER\">", "<group = 8>"}) {
    INFO(attributes);
    const Dims of_groups = absl::StrContains(attributes, "group") ? Dims{8, 1, 3, 3} : w;
    CHECK(Convolved(absl::StrCat("y = Conv", attributes, "(a, b, c)"), {x, of_groups, {8}}) == "onednn");
  }
  CHECK(Convolved("y = Conv(a, b)", {{1, 8, 150, 130}, {16, 8, 1, 1}}) == "onednn");
  CHECK(Convolved("y = Conv<strides = [2, 2]>(a, b)", {{1, 8, 150, 130}, {16, 8, 1, 1}}) == "onednn");
  CHECK(Convolved("y = Conv<pads = [40, 0, 60, 0]>(a, b)", {{1, 8, 90, 130}, {16, 8, 3, 1}}) == "onednn");
  CHECK(Convolved("h = Conv<pads = [1, 1, 1, 1]>(a, b) i = Add(h, c) y = Relu(i)", {x, w, x}) == "onednn");
  CHECK(Convolved("h = Conv<pads = [1, 1, 1, 1]>(a, b) y = Mul(h, c)", {x, w, {1, 8, 1, 1}}) == "onednn");
}

TEST_CASE("bands of images of one and three axes, and of one column") {
  CHECK(Convolved("y = Conv<pads = [3, 1]>(a, b)", {{1, 8, 20000}, {16, 8, 5}}) == "onednn");
  CHECK(Convolved("y = Conv<strides = [2], pads = [0, 7]>(a, b)", {{1, 8, 20000}, {16, 8, 9}}) == "onednn");
  CHECK(Convolved("y = Conv<pads = [1, 1, 1, 1, 1, 1]>(a, b)", {{1, 4, 30, 40, 31}, {8, 4, 3, 3, 3}}) == "onednn");
  CHECK(Convolved("y = Conv<pads = [2, 0, 1, 0]>(a, b)", {{1, 8, 20000, 1}, {16, 8, 5, 1}}) == "onednn");
}

TEST_CASE("a run holds operands and results in 16 bits, and parts of them in float32") {
  const int64_t elements = 2048 * 512;
  // The result is not in the run's memory at its end, when it is copied out of it, but while it is made.
  CHECK(FloatCopies({.node = "y = MatMul(a, b)", .inputs = {{2048, 512}, {512, 512}}, .constants = "b"}, elements) <
        0.85);
  CHECK(FloatCopies({.node = "y = Conv<pads = [1, 1, 1, 1]>(a, b)",
                     .inputs = {{1, 16, 256, 256}, {16, 16, 3, 3}},
                     .constants = "b"},
                    elements) < 1.6);
  CHECK(FloatCopies({.node = "y = Conv<pads = [1, 1, 1, 1]>(a, b)",
                     .inputs = {{16, 16, 64, 64}, {16, 16, 3, 3}},
                     .constants = "b"},
                    elements) < 1.6);
}

TEST_CASE("a run with fewer rows than the one before, and with more") {
  const LibraryCase each = {.node = "y = MatMul(a, b)", .inputs = {{300, 2100}, {2100, 9}}, .constants = "b"};
  for (const DType dtype : kFloats) {
    const TwoSessions sessions(each, dtype);
    for (const int64_t rows : {300, 65, 1, 128, 300}) {
      LibraryCase of_rows = each;
      of_rows.inputs[0][0] = rows;
      CHECK(sessions.Run(RandomInputs(of_rows, dtype)) == "onednn");
    }
  }
}

}  // namespace
}  // namespace amp
