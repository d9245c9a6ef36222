#include "runtime/cpu/tiled_product.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "ir/base/status.h"
#include "runtime/cpu/make_primitive.h"
#include "runtime/cpu/widened_tile.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);
constexpr int64_t kRowGranule = 16, kLeastDepth = 128, kLeastColumns = 192, kMostCuts = 64;
// Elements between rows of x, and between columns of weights, that are widened: their starts do not share the few
// places of a cache that way.
constexpr int64_t kPadding = 16;

std::optional<bool> widens_in_runs;  // by tests

// ---- choosing -------------------------------------------------------------------------------------------------------

// Estimates the time of a tiling: reads of weights, widened elements, and sums that are read again. The factors are
// measured times, relative to that of widening one element.
double CostOf(const ProductSize& size, const Tiling& tiling) {
  constexpr double kOfWeight = 4, kOfSum = 3.5;
  const auto times = [](int64_t whole, int64_t part) {
    const int64_t parts = (whole + part - 1) / part;
    return static_cast<double>(parts);
  };
  const auto m = static_cast<double>(size.m), k = static_cast<double>(size.k), n = static_cast<double>(size.n);
  return times(size.m, tiling.rows) * k * n * kOfWeight + m * k * times(size.n, tiling.columns) +
         m * n * (times(size.k, tiling.depth) - 1) * kOfSum;
}

// Returns the sizes of equal parts of an axis that are multiples of a register and not too small; the whole axis is
// one.
std::vector<int64_t> EqualParts(int64_t whole, int64_t least) {
  constexpr int64_t kRegister = 16;
  std::vector<int64_t> parts = {whole};
  for (int64_t count = 2; count <= kMostCuts && whole / count >= least; ++count) {
    if (whole % (count * kRegister) == 0) parts.push_back(whole / count);
  }
  return parts;
}

std::vector<int64_t> RowParts(int64_t m) {
  std::vector<int64_t> parts = {m};
  for (int64_t count = 2; count <= kMostCuts && m > kRowGranule; ++count) {
    const int64_t rows = (m + count - 1) / count;
    parts.push_back((rows + kRowGranule - 1) / kRowGranule * kRowGranule);
    if (parts.back() == kRowGranule) break;
  }
  return parts;
}

// ---- preparing ------------------------------------------------------------------------------------------------------

enum class DepthPart { kFirst, kMiddle, kLast };

// Elements between rows of x as it is widened.
int64_t StepOfX(const Tiling& tiling, const ProductSize& size) {
  return tiling.has_whole_x ? size.k + kPadding : tiling.depth;
}
// Elements between columns of a tile of weights that is widened.
int64_t StepOfWidened(const Tiling& tiling) { return tiling.depth + kPadding; }

// Operand b of a tile: a part of the weights as they are, to be packed, or one that was widened.
onednn::Operand WeightsOfTile(const TileSpec& spec, int64_t columns) {
  onednn::Operand b{spec.compute, {spec.tiling.depth, columns}, {1, StepOfWidened(spec.tiling)}};
  if (spec.packs && spec.transposes_b) b.strides = {1, spec.size.k};
  if (spec.packs && !spec.transposes_b) b.strides = {spec.size.n, 1};
  return b;
}

absl::StatusOr<std::unique_ptr<onednn::Primitive>> MakeTile(const KernelContext& context, const TileSpec& spec,
                                                            int64_t rows, int64_t columns, DepthPart part,
                                                            TiledProduct& product) {
  const Tiling& tiling = spec.tiling;
  const ProductSize& size = spec.size;
  const bool is_alone = tiling.depth == size.k;
  onednn::MatMulSpec matmul{.a = {spec.compute, {rows, tiling.depth}, {StepOfX(tiling, size), 1}},
                            .b = WeightsOfTile(spec, columns),
                            .y = RowMajorOperand(DType::kFloat32, {rows, columns}),
                            .packs_b = spec.packs,
                            .adds_to_y = part != DepthPart::kFirst && !is_alone};
  if (part == DepthPart::kLast) {
    std::vector<TileOperand> operands;
    const FitOperand fit = [&](const Tensor& operand) -> std::optional<FittedOperand> {
      const std::optional<Dims> view = spec.view_of_operand(operand);
      if (!view.has_value()) return std::nullopt;
      const bool by_row = (*view)[0] != 1, by_column = (*view)[1] != 1;
      operands.push_back({.by_row = by_row, .by_column = by_column});
      return FittedOperand{RowMajorOperand(spec.compute, {by_row ? rows : 1, by_column ? columns : 1}), 0};
    };
    std::optional<LibraryEpilogue> epilogue = FitEpilogue(context, spec.steps, std::nullopt, fit);
    if (!epilogue.has_value()) return Refusal("an operand does not fit the result");
    for (size_t i = 0; i < operands.size(); ++i) operands[i].port = epilogue->ports[i];
    matmul.post_ops = std::move(epilogue->post_ops);
    product.operands = std::move(operands);
  }
  return MakeMatMul(matmul);
}

absl::StatusOr<TilePrimitives> MakeTiles(const KernelContext& context, const TileSpec& spec, int64_t rows,
                                         int64_t columns, TiledProduct& product) {
  TilePrimitives tiles;
  AMP_ASSIGN_OR_RETURN(tiles.last, MakeTile(context, spec, rows, columns, DepthPart::kLast, product));
  if (spec.tiling.depth == spec.size.k) return tiles;
  AMP_ASSIGN_OR_RETURN(tiles.first, MakeTile(context, spec, rows, columns, DepthPart::kFirst, product));
  if (spec.tiling.depth * 2 == spec.size.k) return tiles;
  AMP_ASSIGN_OR_RETURN(tiles.middle, MakeTile(context, spec, rows, columns, DepthPart::kMiddle, product));
  return tiles;
}

absl::Status MakeAllTiles(const KernelContext& context, const TileSpec& spec, TiledProduct& product) {
  const Tiling& tiling = spec.tiling;
  const std::array<int64_t, 2> rows = {tiling.rows, spec.size.m % tiling.rows};
  const std::array<int64_t, 2> columns = {tiling.columns, spec.size.n % tiling.columns};
  for (size_t last_row = 0; last_row < rows.size(); ++last_row) {
    for (size_t last_column = 0; last_column < columns.size(); ++last_column) {
      if (rows[last_row] == 0 || columns[last_column] == 0) continue;
      AMP_ASSIGN_OR_RETURN(product.primitives[last_row][last_column],
                           MakeTiles(context, spec, rows[last_row], columns[last_column], product));
    }
  }
  return absl::OkStatus();
}

std::vector<const onednn::Primitive*> AllTiles(const TiledProduct& product) {
  std::vector<const onednn::Primitive*> all;
  for (const auto& of_rows : product.primitives) {
    for (const TilePrimitives& tiles : of_rows) {
      for (const auto* primitive : {&tiles.first, &tiles.middle, &tiles.last}) {
        if (*primitive != nullptr) all.push_back(primitive->get());
      }
    }
  }
  return all;
}

// One that applies the epilogue, for a whole tile.
const onednn::Primitive& WholeTile(const TiledProduct& product) { return *product.primitives[0][0].last; }

bool WantOnePacking(const TiledProduct& product) {
  const std::vector<const onednn::Primitive*> all = AllTiles(product);
  return std::all_of(all.begin(), all.end(),
                     [&](const onednn::Primitive* tile) { return tile->packing() == all.front()->packing(); });
}

// Packs all tiles of the weights, in the order in which they are read.
absl::StatusOr<std::vector<Tensor>> PackAll(const KernelContext& context, const TileSpec& spec,
                                            const onednn::Primitive& primitive) {
  std::vector<Tensor> tiles;
  AMP_ASSIGN_OR_RETURN(const ConstantHold hold, context.HoldConstant(1, ConstantUse::kOnce));
  AMP_ASSIGN_OR_RETURN(const Tensor plain, Converted(context.Input(1), spec.compute, nullptr));
  const size_t element = ElementBytes(spec.compute);
  for (int64_t column = 0; column < spec.size.n; column += spec.tiling.columns) {
    for (int64_t depth = 0; depth < spec.size.k; depth += spec.tiling.depth) {
      const int64_t place = spec.transposes_b ? column * spec.size.k + depth : depth * spec.size.n + column;
      AMP_ASSIGN_OR_RETURN(Tensor tile,
                           Tensor::Create(DType::kUint8, {static_cast<int64_t>(primitive.packed_bytes())}));
      const std::byte* const from = plain.bytes().data() + static_cast<size_t>(place) * element;
      if (!primitive.Pack(from, tile.mutable_bytes().data())) {
        return Refusal("the library does not pack the weights");
      }
      tiles.push_back(std::move(tile));
    }
  }
  return tiles;
}

absl::Status PackTiles(KernelContext& context, const TileSpec& spec, TiledProduct& product) {
  const onednn::Primitive& primitive = WholeTile(product);
  if (primitive.packed_bytes() == 0) return Refusal("weights that are not packed");
  auto& state = context.State<TiledWeights>();
  const absl::MutexLock lock(&state.mutex);
  if (state.tiles == nullptr) {
    AMP_ASSIGN_OR_RETURN(std::vector<Tensor> tiles, PackAll(context, spec, primitive));
    state.tiles = std::make_shared<const std::vector<Tensor>>(std::move(tiles));
    state.tiling = spec.tiling;
    state.packing = primitive.packing();
  }
  const bool has_one_cut = state.tiling.depth == spec.tiling.depth && state.tiling.columns == spec.tiling.columns;
  if (!has_one_cut || state.packing != primitive.packing()) return Refusal("weights in other tiles");
  product.weights = state.tiles;
  return absl::OkStatus();
}

// ---- running --------------------------------------------------------------------------------------------------------

// A block of rows and columns of a matrix.
struct Patch {
  int64_t row = 0, column = 0, rows = 1, columns = 1;
};

std::byte* At(Tensor& tensor, int64_t element) {
  return tensor.mutable_bytes().data() + static_cast<size_t>(element) * ElementBytes(tensor.dtype());
}
const std::byte* At(const Tensor& tensor, int64_t element) {
  return tensor.bytes().data() + static_cast<size_t>(element) * ElementBytes(tensor.dtype());
}

template <typename Visit>
void ForEachRow(const Patch& patch, const Visit& visit) {
  ParallelFor(static_cast<size_t>(patch.rows), static_cast<size_t>(patch.columns), [&](const Share& share) {
    for (size_t row = share.first; row < share.end; ++row) visit(static_cast<int64_t>(row));
  });
}

// Copy a patch of a matrix with rows of `width` elements to a matrix of its own, of another type, and back. `step`:
// elements between rows of that matrix.
void ReadPatch(const Tensor& from, int64_t width, const Patch& patch, Tensor& to, int64_t step) {
  ForEachRow(patch, [&](int64_t row) {
    ConvertLine(At(from, (patch.row + row) * width + patch.column), from.dtype(), At(to, row * step), to.dtype(),
                static_cast<size_t>(patch.columns));
  });
}
void ReadPatch(const Tensor& from, int64_t width, const Patch& patch, Tensor& to) {
  ReadPatch(from, width, patch, to, patch.columns);
}
void WritePatch(const Tensor& from, const Patch& patch, int64_t width, Tensor& to) {
  ForEachRow(patch, [&](int64_t row) {
    ConvertLine(At(from, row * patch.columns), from.dtype(), At(to, (patch.row + row) * width + patch.column),
                to.dtype(), static_cast<size_t>(patch.columns));
  });
}

class TileRun {
 public:
  TileRun(KernelContext& context, const TiledProduct& product)
      : context_(context), product_(product), size_(product.size), tiling_(product.tiling) {}

  absl::Status Run(DType stored_as, const Dims& y_dims) {
    AMP_RETURN_IF_ERROR(MakeResult(stored_as, y_dims));
    AMP_RETURN_IF_ERROR(MakeMemory());
    Patch patch;
    for (patch.row = 0; patch.row < size_.m; patch.row += tiling_.rows) {
      patch.rows = std::min(tiling_.rows, size_.m - patch.row);
      if (tiling_.has_whole_x) {
        ReadPatch(context_.Input(0), size_.k, {.row = patch.row, .rows = patch.rows, .columns = size_.k}, x_part_,
                  StepOfX(tiling_, size_));
      }
      for (patch.column = 0; patch.column < size_.n; patch.column += tiling_.columns) {
        patch.columns = std::min(tiling_.columns, size_.n - patch.column);
        AMP_RETURN_IF_ERROR(RunPatch(patch));
      }
    }
    context_.Report(WholeTile(product_).implementation(), product_.compute);
    return absl::OkStatus();
  }

 private:
  // The result may reuse a residual's memory: each patch of the residual is read before the result's patch is stored.
  absl::Status MakeResult(DType stored_as, const Dims& y_dims) {
    for (const TileOperand& operand : product_.operands) {
      const Tensor& x = context_.Input(operand.port);
      const bool fits = context_.MayReuseInput(operand.port) && x.dtype() == stored_as && x.dims() == y_dims &&
                        operand.by_row && operand.by_column;
      if (!fits) continue;
      AMP_ASSIGN_OR_RETURN(y_, context_.MakeOutputLike(0, operand.port));
      return absl::OkStatus();
    }
    AMP_ASSIGN_OR_RETURN(y_, context_.MakeOutput(0, stored_as, y_dims));
    return absl::OkStatus();
  }

  absl::Status MakeMemory() {
    AMP_ASSIGN_OR_RETURN(x_part_, context_.MakeScratch(product_.compute, {tiling_.rows * StepOfX(tiling_, size_)}));
    AMP_ASSIGN_OR_RETURN(y_part_, context_.MakeScratch(DType::kFloat32, {tiling_.rows * tiling_.columns}));
    if (Widens()) {
      AMP_ASSIGN_OR_RETURN(w_part_, context_.MakeScratch(product_.compute, {tiling_.columns * StepOfWidened(tiling_)}));
    }
    for (const TileOperand& operand : product_.operands) {
      const Tensor& x = context_.Input(operand.port);
      const bool is_cut = operand.by_row && operand.by_column;
      Tensor part;
      if (is_cut) {
        AMP_ASSIGN_OR_RETURN(part, context_.MakeScratch(product_.compute, {tiling_.rows * tiling_.columns}));
      } else {
        AMP_ASSIGN_OR_RETURN(part, Converted(x, product_.compute, context_.memory()));
      }
      operand_parts_.push_back(std::move(part));
    }
    size_t bytes = 0;
    for (const onednn::Primitive* tile : AllTiles(product_)) bytes = std::max(bytes, tile->scratch_bytes());
    AMP_ASSIGN_OR_RETURN(scratch_, context_.MakeScratch(DType::kUint8, {static_cast<int64_t>(bytes)}));
    return absl::OkStatus();
  }

  const void* ReadOperand(size_t i, const Patch& patch) {
    const TileOperand& operand = product_.operands[i];
    Tensor& part = operand_parts_[i];
    if (!operand.by_row || !operand.by_column) {
      return At(part, operand.by_row ? patch.row : operand.by_column ? patch.column : 0);
    }
    ReadPatch(context_.Input(operand.port), size_.n, patch, part);
    return part.bytes().data();
  }

  bool Widens() const { return product_.weights == nullptr; }

  const void* WidenWeights(int64_t depth, const Patch& patch) {
    const Tensor& b = context_.Input(1);
    const bool is_transposed = product_.transposes_b;
    const int64_t step = is_transposed ? size_.k : size_.n;
    const int64_t place = is_transposed ? patch.column * step + depth : depth * step + patch.column;
    WidenTile({.first = reinterpret_cast<const uint16_t*>(At(b, place)),
               .dtype = b.dtype(),
               .step = step,
               .is_transposed = is_transposed,
               .depth = tiling_.depth,
               .columns = patch.columns},
              w_part_.mutable_elements<float>().data(), StepOfWidened(tiling_));
    return w_part_.bytes().data();
  }

  absl::Status RunPatch(const Patch& patch) {
    const bool is_last_row = patch.rows != tiling_.rows, is_last_column = patch.columns != tiling_.columns;
    const TilePrimitives& tiles = product_.primitives[is_last_row ? 1 : 0][is_last_column ? 1 : 0];
    const int64_t depths = size_.k / tiling_.depth;
    const auto first_tile = static_cast<size_t>(patch.column / tiling_.columns * depths);
    onednn::Primitive::Arguments arguments;
    arguments.a = x_part_.bytes().data();
    arguments.y = y_part_.mutable_bytes().data();
    arguments.scratch = scratch_.mutable_bytes().data();
    for (int64_t i = 0; i < depths; ++i) {
      const bool is_last = i + 1 == depths;
      const onednn::Primitive& tile = is_last ? *tiles.last : i == 0 ? *tiles.first : *tiles.middle;
      const int64_t depth = i * tiling_.depth;
      if (tiling_.has_whole_x) {
        arguments.a = At(x_part_, depth);
      } else {
        ReadPatch(context_.Input(0), size_.k,
                  {.row = patch.row, .column = depth, .rows = patch.rows, .columns = tiling_.depth}, x_part_);
      }
      arguments.b = Widens() ? WidenWeights(depth, patch)
                             : (*product_.weights)[first_tile + static_cast<size_t>(i)].bytes().data();
      for (size_t operand = 0; is_last && operand < operand_parts_.size(); ++operand) {
        arguments.post_operands.push_back(ReadOperand(operand, patch));
      }
      if (tile.Run(arguments)) continue;
      return absl::InternalError(absl::StrCat("oneDNN failed (", tile.implementation(), ")"));
    }
    WritePatch(y_part_, patch, size_.n, *y_);
    return absl::OkStatus();
  }

  KernelContext& context_;
  const TiledProduct& product_;
  const ProductSize& size_;
  const Tiling& tiling_;
  Tensor* y_ = nullptr;
  Tensor x_part_, w_part_, y_part_, scratch_;
  std::vector<Tensor> operand_parts_;
};

}  // namespace

int64_t Tiling::Bytes(const ProductSize& size) const {
  return rows * (depth + columns * (1 + size.residuals)) * kFloatBytes;
}

std::optional<Tiling> KeptTiling(KernelContext& context) {
  auto& state = context.State<TiledWeights>();
  const absl::MutexLock lock(&state.mutex);
  return state.tiles == nullptr ? std::nullopt : std::optional<Tiling>(state.tiling);
}

Tiling ChooseTiling(const ProductSize& size, const TileBudget& budget, const Tiling* kept) {
  Tiling best{.rows = std::min(kRowGranule, size.m), .depth = size.k, .columns = size.n};
  double least = std::numeric_limits<double>::infinity();
  const std::vector<int64_t> depths = EqualParts(size.k, kLeastDepth), columns = EqualParts(size.n, kLeastColumns);
  for (const int64_t rows : RowParts(size.m)) {
    for (const int64_t depth : depths) {
      for (const int64_t column : columns) {
        const Tiling tiling{rows, depth, column};
        const bool has_rows = tiling.HasWholeRows(size);
        if (kept != nullptr && !has_rows && (depth != kept->depth || column != kept->columns)) continue;
        const int64_t most = has_rows ? budget.of_rows : budget.of_tiles;
        const double cost = CostOf(size, tiling);
        if (tiling.Bytes(size) > most || cost >= least) continue;
        best = tiling;
        least = cost;
      }
    }
  }
  return best;
}

Tiling ChooseWidenedTiling(const ProductSize& size) {
  constexpr int64_t kMostDepth = 768, kTileElements = 144 << 10, kNarrowest = 64;
  constexpr int64_t kMostWholeX = 6 << 20, kPartOfWeights = 4;  // bytes
  constexpr int64_t kMostOfTile = 2 << 20, kFewRows = 128;      // bytes of x and y; rows that are not cut
  const auto rounded_up = [](int64_t count) { return (count + kRowGranule - 1) / kRowGranule * kRowGranule; };
  Tiling tiling{.depth = size.k};
  for (const int64_t depth : EqualParts(size.k, kLeastDepth)) {
    if (tiling.depth > kMostDepth) tiling.depth = depth;  // the largest comes first
  }
  tiling.columns = std::min(size.n, std::max(kTileElements / tiling.depth / kRowGranule * kRowGranule, kNarrowest));
  const int64_t of_row = (tiling.depth + tiling.columns * (1 + size.residuals)) * kFloatBytes;
  const int64_t most_rows = std::max(kMostOfTile / of_row, kFewRows), row_parts = (size.m + most_rows - 1) / most_rows;
  tiling.rows = std::min(size.m, rounded_up((size.m + row_parts - 1) / row_parts));
  const int64_t of_weights = size.k * size.n * kFloatBytes / kPartOfWeights;
  tiling.has_whole_x = tiling.rows * (size.k + kPadding) * kFloatBytes <= std::min(of_weights, kMostWholeX);
  return tiling;
}

void WidenInRuns(std::optional<bool> widens) { widens_in_runs = widens; }

bool IsBetterWidenedInRuns(const ProductSize& size) {
  constexpr int64_t kFewWeights = 1 << 16;
  static const bool packs_in_runs = [] {
    const onednn::Operand square = RowMajorOperand(DType::kFloat32, {128, 128});
    const auto product = MakeMatMul({.a = square, .b = square, .y = square});
    return product.ok() && absl::StartsWith((*product)->implementation(), "gemm:");
  }();
  return widens_in_runs.value_or(packs_in_runs && size.k * size.n >= kFewWeights);
}

absl::StatusOr<std::shared_ptr<const TiledProduct>> PrepareTiles(KernelContext& context, const TileSpec& spec) {
  auto product = std::make_shared<TiledProduct>();
  product->size = spec.size;
  product->tiling = spec.tiling;
  product->compute = spec.compute;
  product->transposes_b = spec.transposes_b;
  AMP_RETURN_IF_ERROR(MakeAllTiles(context, spec, *product));
  if (!spec.packs) return product;
  if (!WantOnePacking(*product)) return Refusal("weights that are packed in several ways");
  AMP_RETURN_IF_ERROR(PackTiles(context, spec, *product));
  return product;
}

absl::Status RunTiles(KernelContext& context, const TiledProduct& product, DType stored_as, const Dims& y_dims) {
  return TileRun(context, product).Run(stored_as, y_dims);
}

}  // namespace amp
