// Products in tiles of rows, columns and depth: which tiles, what they compute against the reference, what they hold.
#include "runtime/cpu/tiled_product.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "runtime/onednn/open_library.h"
#include "tests/catch2.h"
#include "tests/runtime/cpu/library_case.h"

namespace amp {
namespace {

std::string TextOf(const Tiling& tiling) {
  return absl::StrCat(tiling.rows, " x ", tiling.depth, " x ", tiling.columns);
}

TEST_CASE("tiles are within the budget, cut alike, and read weights as rarely as may be") {
  constexpr int64_t kKib = 1024;
  const auto choose = [](const ProductSize& size, int64_t of_tiles, int64_t of_rows) {
    const TileBudget budget{of_tiles, of_rows};
    const Tiling tiling = ChooseTiling(size, budget);
    CHECK(size.k % tiling.depth == 0);
    CHECK(size.n % tiling.columns == 0);
    CHECK(tiling.Bytes(size) <=
          std::max({tiling.HasWholeRows(size) ? of_rows : of_tiles, Tiling{16, size.k, size.n}.Bytes(size)}));
    return TextOf(tiling);
  };
  CHECK(choose({128, 3072, 768}, 1 << 30, 1 << 30) == "128 x 3072 x 768");
  CHECK(choose({128, 3072, 768, 1}, 393 * kKib, 393 * kKib) == "128 x 384 x 192");
  CHECK(choose({128, 768, 3072}, 327 * kKib, 327 * kKib) == "128 x 384 x 256");
  CHECK(choose({1, 3072, 768}, 256 * kKib, 256 * kKib) == "1 x 3072 x 768");
  // Rows alone may have more, or nothing else may be cut.
  CHECK(choose({256, 4096, 4096}, 0, 2048 * kKib) == "64 x 4096 x 4096");
  CHECK(choose({100, 3001, 769}, 256 * kKib, 256 * kKib) == "16 x 3001 x 769");
  CHECK(choose({1000, 1001, 64}, 0, 256 * kKib) == "48 x 1001 x 64");
}

TEST_CASE(
    "tiles of weights that runs widen stay in a cache where depth divides, and hundreds of rows are computed at once") {
  const auto choose = [](const ProductSize& size) {
    const Tiling tiling = ChooseWidenedTiling(size);
    CHECK(size.k % tiling.depth == 0);
    CHECK(tiling.rows <= size.m);
    return absl::StrCat(TextOf(tiling), tiling.has_whole_x ? ", whole x" : "");
  };
  CHECK(choose({128, 768, 768}) == "128 x 768 x 192, whole x");
  CHECK(choose({128, 3072, 768, 1}) == "128 x 768 x 192, whole x");
  CHECK(choose({1000, 4096, 4096}) == "512 x 512 x 288");
  CHECK(choose({2500, 768, 3072}) == "512 x 768 x 192, whole x");
  CHECK(choose({17, 256, 256}) == "17 x 256 x 256, whole x");
  CHECK(choose({256, 25088, 512}) == "256 x 512 x 288");
  CHECK(choose({64, 1001, 50257}) == "64 x 1001 x 144, whole x");
  CHECK(choose({64, 100003, 10}) == "64 x 100003 x 10");
}

// By both ways of weights of 16 bits, whichever this processor takes.
class EitherWay {
 public:
  explicit EitherWay(bool widens) { WidenInRuns(widens); }
  ~EitherWay() { WidenInRuns(std::nullopt); }
  EitherWay(const EitherWay&) = delete;
  EitherWay& operator=(const EitherWay&) = delete;
};

TEST_CASE("products with weights of odd sizes, widened by runs or kept") {
  const bool widens = GENERATE(false, true);
  const EitherWay way(widens);
  INFO(widens);
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    for (const Dims& b : {Dims{1001, 173}, Dims{1536, 1000}, Dims{260, 777}, Dims{4096, 20}}) {
      for (const int64_t rows : {17, 100, 517}) {
        INFO(DTypeName(dtype) << " [" << rows << "," << b[0] << "] x [" << b[0] << "," << b[1] << "]");
        const Dims a = {rows, b[0]}, y = {rows, b[1]};
        CHECK(Family({.node = "h = MatMul(a, b) i = Add(h, c) j = Mul(i, d) y = Relu(j)",
                      .inputs = {a, b, {b[1]}, y},
                      .constants = "bc",
                      .scale = 0.3},
                     dtype) == "onednn");
        CHECK(
            Family({.node = "y = Gemm<transB = 1>(a, b)", .inputs = {a, {b[1], b[0]}}, .constants = "b", .scale = 0.3},
                   dtype) == "onednn");
      }
    }
  }
}

TEST_CASE("what there is of weights in tiles is kept") {
  const ProductSize size{200, 3072, 768, 1};
  const TileBudget budget{400 << 10, 400 << 10};
  const Tiling kept{128, 384, 192};
  const Tiling chosen = ChooseTiling(size, budget, &kept);
  CHECK((chosen.HasWholeRows(size) || (chosen.depth == 384 && chosen.columns == 192)));
}

DType WidenedType() {
  const onednn::Library* library = onednn::OpenLibrary().library;
  return library != nullptr && library->ComputesIn(DType::kFloat16) ? DType::kBfloat16 : DType::kFloat16;
}

TEST_CASE("products in tiles, with everything that comes behind them") {
  const bool widens = GENERATE(false, true);
  const EitherWay way(widens);
  INFO(widens);
  const Dims a = {130, 1536}, b = {1536, 384};
  const auto family = [&](const std::string& node, const std::vector<Dims>& more = {},
                          const std::string& constants = "b") {
    LibraryCase each = {.node = node, .inputs = {a, b}, .constants = constants};
    each.inputs.insert(each.inputs.end(), more.begin(), more.end());
    return Family(each, WidenedType());
  };
  CHECK(family("y = MatMul(a, b)") == "onednn");
  CHECK(family("h = MatMul(a, b) y = Relu(h)") == "onednn");
  for (const Dims& c : {Dims{384}, Dims{1}, Dims{130, 1}, Dims{130, 384}, Dims{1, 384}}) {
    CHECK(family("h = MatMul(a, b) y = Add(h, c)", {c}, "bc") == "onednn");
    CHECK(family("h = MatMul(a, b) i = Add(h, c) j = Mul(i, d) y = Tanh(j)", {c, {130, 384}}) == "onednn");
    CHECK(family("y = Gemm<alpha = 0.5>(a, b, c)", {c}) == "onednn");
  }
  CHECK(
      Family({.node = "y = Gemm<transB = 1>(a, b, c)", .inputs = {{100, 1536}, {384, 1536}, {384}}, .constants = "bc"},
             WidenedType()) == "onednn");
  CHECK(Family({.node = "h = MatMul(a, b) y = Add(h, c)",
                .inputs = {{3, 50, 1536}, {1536, 384}, {3, 50, 384}},
                .constants = "b"},
               WidenedType()) == "onednn");
}

TEST_CASE("a product in tiles knows how large its elements may be") {
  for (const bool widens : {false, true}) {
    const EitherWay way(widens);
    const LibraryCase each = {
        .node = "h = MatMul(a, b) y = Relu(h)", .inputs = {{130, 1536}, {1536, 384}}, .constants = "b"};
    const TwoSessions sessions(each, WidenedType());
    const auto outputs = sessions.library().Run(RandomInputs(each, WidenedType()));
    REQUIRE(outputs.ok());
    CHECK(std::isfinite((*outputs)[0].tensor()->magnitude_bound()));
  }
}

TEST_CASE("one node with any number of rows, in tiles and whole") {
  const bool widens = GENERATE(false, true);
  const EitherWay way(widens);
  INFO(widens);
  const LibraryCase each = {
      .node = "h = MatMul(a, b) y = Add(h, c)", .inputs = {{128, 1536}, {1536, 768}, {768}}, .constants = "bc"};
  const TwoSessions sessions(each, WidenedType());
  for (const int64_t rows : {128, 300, 1, 17, 64, 128}) {
    LibraryCase of_rows = each;
    of_rows.inputs[0][0] = rows;
    CHECK(sessions.Run(RandomInputs(of_rows, WidenedType())) == "onednn");
  }
}

// Bytes of a run, in units of all operands and results in float32.
double ShareOfAll(const LibraryCase& each, int64_t elements) {
  const TwoSessions sessions(each, WidenedType());
  const NamedDatums inputs = RandomInputs(each, WidenedType());
  for (int run = 0; run < 2; ++run) CHECK(sessions.Run(inputs) == "loops");  // its first node
  return static_cast<double>(sessions.library().ActivationBytes()) / static_cast<double>(4 * elements);
}

TEST_CASE("a run holds tiles in float32, and the result may take a residual's place") {
  // h [256, 1024] and g [256, 3072] are the run's own, and so is y until it is copied out.
  const LibraryCase each = {.node = "h = Neg(a) f = MatMul(h, b) g = Relu(f) i = MatMul(g, c) y = Add(i, h)",
                            .inputs = {{256, 1024}, {1024, 3072}, {3072, 1024}},
                            .constants = "bc",
                            .scale = 0.1};
  // Square: every row of the result takes the place of the operand's.
  const LibraryCase square = {.node = "h = Neg(a) f = MatMul(h, b) g = Relu(f) i = MatMul(g, c) y = Neg(i)",
                              .inputs = {{512, 2048}, {2048, 2048}, {2048, 2048}},
                              .constants = "bc",
                              .scale = 0.1};
  constexpr int64_t kAll = 256 * (1024 + 3072), kAllOfSquare = 512 * 2048;
  {
    const EitherWay packed(false);
    CHECK(ShareOfAll(each, kAll) < 0.5 + 0.2);
    CHECK(ShareOfAll(square, kAllOfSquare) < 0.5 + 0.55);
  }
  // Beside them a tile of weights, and x stays until the result is there: the square has more than float32 would, and
  // far less than its weights in float32, which are eight times that.
  const EitherWay widened(true);
  CHECK(ShareOfAll(each, kAll) < 0.5 + 0.36);
  CHECK(ShareOfAll(square, kAllOfSquare) < 0.5 + 1.05);
}

}  // namespace
}  // namespace amp
