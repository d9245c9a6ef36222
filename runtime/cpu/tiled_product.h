// Products with constant weights of operands that are stored in another type than the library computes in, where not
// even some rows of them fit what may be held in that type: cut along rows, columns and depth.
//
//   x float16[128,3072], w [3072,768] in tiles of [256,256]
//     for each 256 columns:  for each 256 of the depth:  y float32[128,256] += x float32[128,256] tile     y float16[...]
//
// Weights are read once for as many rows as a tile has, which is what cutting along rows alone, finely, would not do.
#ifndef AMP_RUNTIME_CPU_TILED_PRODUCT_H_
#define AMP_RUNTIME_CPU_TILED_PRODUCT_H_

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

// [m, k] times [k, n]. `residuals`: operands of the epilogue that have the result's shape.
struct ProductSize {
  int64_t m = 1, k = 1, n = 1;
  int64_t residuals = 0;
};

// Of a tile; depth and columns divide k and n.
struct Tiling {
  int64_t rows = 1, depth = 1, columns = 1;

  // What parts of operands and result take that are held in float32.
  int64_t Bytes(const ProductSize& size) const;
  // Whether it is cut along rows alone.
  bool HasWholeRows(const ProductSize& size) const { return depth == size.k && columns == size.n; }
};
// In float32, of tiles and of whole rows.
struct TileBudget {
  int64_t of_tiles = 0, of_rows = 0;
};
// The tiling that is expected to take least time; where none is within the budget, a few whole rows. `kept`: one whose
// depth and columns it is to have, unless it has whole rows; null: any.
Tiling ChooseTiling(const ProductSize& size, const TileBudget& budget, const Tiling* kept = nullptr);

// An operand of the epilogue: by which of the result's axes it varies.
struct TileOperand {
  size_t port = 0;
  bool by_row = false, by_column = false;
};

// For so many rows: the first of the depth, those in the middle, the last, which has the epilogue.
struct TilePrimitives {
  std::unique_ptr<onednn::Primitive> first, middle, last;
};

struct TiledProduct {
  ProductSize size;
  Tiling tiling;
  DType compute = DType::kUndefined;
  TilePrimitives of_rows, of_last_rows;
  // Packed: one block of columns after the other, each through the depth.
  std::shared_ptr<const std::vector<Tensor>> weights;
  std::vector<TileOperand> operands;
};

// The tiles of a node's weights, for products of any number of rows.
struct TiledWeights : KernelState {
  absl::Mutex mutex;
  Tiling tiling ABSL_GUARDED_BY(mutex);  // but for the rows
  std::string packing ABSL_GUARDED_BY(mutex);
  std::shared_ptr<const std::vector<Tensor>> tiles ABSL_GUARDED_BY(mutex);  // null: none yet
};
// The tiling of what there is already.
std::optional<Tiling> KeptTiling(KernelContext& context);

// What is asked for: how operands of an epilogue look to the library, in the shape [m, n] with ones.
struct TileSpec {
  ProductSize size;
  Tiling tiling;
  DType compute = DType::kUndefined;
  bool transposes_b = false;
  const std::vector<EpilogueStep>& steps;
  std::function<std::optional<Dims>(const Tensor&)> view_of_operand;
};
// Errors: kUnimplemented, the library's, or weights that it wants differently from tile to tile.
absl::StatusOr<std::shared_ptr<const TiledProduct>> PrepareTiles(KernelContext& context, const TileSpec& spec);

// Makes output 0 of these dims, in the elements of a residual where nobody else needs them. Errors: kInternal, the
// library's; memory.
absl::Status RunTiles(KernelContext& context, const TiledProduct& product, DType stored_as, const Dims& y_dims);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_TILED_PRODUCT_H_
