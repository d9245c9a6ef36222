// Products with constant weights whose operands are stored in another type than the library computes in. They are cut
// along rows, columns and depth, if not even a few whole rows fit the memory that may hold converted elements.
//
//   x float16[128,3072], w [3072,768] in tiles of [256,256]
//     for each 256 columns:  for each 256 of the depth:  y float32[128,256] += x float32[128,256] tile   y float16[...]
//
// Weights are then read once per tile's rows. Cutting finely along rows alone would read them more often.
//
// Weights of 16 bits stay as they are where the library packs float32 in every run, which it does with AVX2 alone: each
// run widens one tile after another into a cache. Elsewhere all tiles are widened and packed once, and kept.
#ifndef AMP_RUNTIME_CPU_TILED_PRODUCT_H_
#define AMP_RUNTIME_CPU_TILED_PRODUCT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/cpu/library_epilogue.h"
#include "runtime/cpu/prepared.h"
#include "runtime/kernel/kernel.h"
#include "runtime/onednn/interface.h"

namespace amp {

// The sizes of [m, k] times [k, n]. `residuals`: number of epilogue operands that have the result's shape.
struct ProductSize {
  int64_t m = 1, k = 1, n = 1;
  int64_t residuals = 0;
};

// The size of a tile. Depth divides k; columns divides n, but where weights are widened in every run.
struct Tiling {
  int64_t rows = 1, depth = 1, columns = 1;
  bool has_whole_x = false;  // whole rows of x are widened once for all tiles, not a tile of x for each

  // Returns the bytes of a tile's operands and result in float32.
  int64_t Bytes(const ProductSize& size) const;
  // Whether the product is cut along rows alone.
  bool HasWholeRows(const ProductSize& size) const { return depth == size.k && columns == size.n; }
};
// The most bytes in float32 for tiles, and for whole rows.
struct TileBudget {
  int64_t of_tiles = 0, of_rows = 0;
};
// Returns the tiling that is expected to be fastest within the budget; if there is none, a few whole rows. `kept`: a
// tiling whose depth and columns must be used, unless whole rows are; null: any.
Tiling ChooseTiling(const ProductSize& size, const TileBudget& budget, const Tiling* kept = nullptr);
// Returns the tiling for weights that every run widens: a tile of them stays in a cache where k has a divisor that
// allows it. Hundreds of rows are computed at once, as each part of them widens the weights again. The last tile of
// columns may be narrower.
Tiling ChooseWidenedTiling(const ProductSize& size);
// Whether weights of 16 bits are rather widened in every run than kept in float32: the library packs float32 in every
// run anyway, and they are not few.
bool IsBetterWidenedInRuns(const ProductSize& size);
// For tests: all weights of 16 bits are widened so, or none are. Nothing: as measured. Not while anything runs.
void WidenInRuns(std::optional<bool> widens);

// An operand of the epilogue, and the axes of the result along which it varies.
struct TileOperand {
  size_t port = 0;
  bool by_row = false, by_column = false;
};

// The primitives for one number of rows and columns: for the first tile of the depth, those in the middle, and the last
// one, which applies the epilogue.
struct TilePrimitives {
  std::unique_ptr<onednn::Primitive> first, middle, last;
};

struct TiledProduct {
  ProductSize size;
  Tiling tiling;
  DType compute = DType::kUndefined;
  // By whether the rows are the last ones, and the columns, where those are fewer.
  std::array<std::array<TilePrimitives, 2>, 2> primitives;
  bool transposes_b = false;
  // Packed tiles: for each block of columns, all tiles of the depth. Null: each run widens one tile after another.
  std::shared_ptr<const std::vector<Tensor>> weights;
  std::vector<TileOperand> operands;
};

// The tiles of a node's weights, for products with any number of rows.
struct TiledWeights : KernelState {
  absl::Mutex mutex;
  Tiling tiling ABSL_GUARDED_BY(mutex);  // its rows do not matter
  std::string packing ABSL_GUARDED_BY(mutex);
  std::shared_ptr<const std::vector<Tensor>> tiles ABSL_GUARDED_BY(mutex);  // null: none yet
};
// Returns the tiling of the tiles that the node has kept.
std::optional<Tiling> KeptTiling(KernelContext& context);

// The requested product. `view_of_operand`: returns the dims of an epilogue's operand, as m, n or ones.
struct TileSpec {
  ProductSize size;
  Tiling tiling;
  DType compute = DType::kUndefined;
  bool transposes_b = false;
  bool packs = false;  // all tiles once, to keep them
  const std::vector<EpilogueStep>& steps;
  std::function<std::optional<Dims>(const Tensor&)> view_of_operand;
};
// Errors: the library's refusal, or if it wants several packings for the tiles.
absl::StatusOr<std::shared_ptr<const TiledProduct>> PrepareTiles(KernelContext& context, const TileSpec& spec);

// Computes output 0 with these dims. It reuses the memory of a residual that nobody else needs. Errors: kInternal from
// the library; no memory.
absl::Status RunTiles(KernelContext& context, const TiledProduct& product, DType stored_as, const Dims& y_dims);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_TILED_PRODUCT_H_
