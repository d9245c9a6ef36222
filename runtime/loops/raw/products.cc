// A few rows times a matrix that comes from memory: its bytes are the time. Each of them is read from there once, in
// the order in which they lie, or in stretches of it where more of the rows would not stay in the nearest cache.
#include "runtime/loops/raw/halves.h"
#include "runtime/loops/raw/lanes.h"
#include "runtime/loops/raw/loops.h"

namespace amp::AMP_LOOPS_ISA {

extern const ProductLoops kProducts;

namespace {

// ---- how elements are read ------------------------------------------------------------------------------------------

struct Float32 {
  using Element = float;
  static Floats Read(const float* from) { return Load(from); }
};
struct Float16 {
  using Element = uint16_t;
  static Floats Read(const uint16_t* from) { return WidenFloat16(LoadAs<Halves>(from)); }
};
struct Bfloat16 {
  using Element = uint16_t;
  static Floats Read(const uint16_t* from) { return WidenBfloat16(LoadAs<Halves>(from)); }
};

template <typename Of>
using Element = typename Of::Element;

// Elements of a cache line. What is read next is asked for a while before, as processors foresee nothing beyond the end
// of a page.
template <typename Of>
constexpr size_t kInLine = 64 / sizeof(Element<Of>);
template <typename T>
inline void AskFor(const T* read_now, size_t elements_further) {
  const auto address = reinterpret_cast<uintptr_t>(read_now) + elements_further * sizeof(T);  // perhaps outside of b
  __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 2);
}

// The first `count` elements, with zeros behind them.
template <typename Of>
inline Floats ReadFew(const Element<Of>* from, size_t count) {
  Element<Of> few[kLanes] = {};
  __builtin_memcpy(few, from, count * sizeof(few[0]));
  return Of::Read(few);
}

// ---- how many rows of x at once -------------------------------------------------------------------------------------

// So many that their sums stay in registers: AVX-512 has 32 of them. What they share of b is read and widened once.
constexpr size_t kMostRows = kLanes == 16 ? 8 : 4;
// Registers of b that are multiplied with so many rows at once.
template <size_t kRows>
constexpr size_t kRegistersOfB = kRows < 4 ? 4 : 3;

template <size_t kCount>
struct Rows {};

template <size_t kMost, typename Visit>
inline void VisitGroup(size_t row, size_t size, Visit visit) {
  if (size == kMost) {
    visit(row, Rows<kMost>());
  } else if constexpr (kMost > 1) {
    VisitGroup<kMost - 1>(row, size, visit);
  }
}

// Visits x's rows in groups of nearly one size.
template <typename Visit>
inline void ForRowGroups(size_t rows, Visit visit) {
  size_t row = 0;
  for (size_t left = (rows + kMostRows - 1) / kMostRows; left > 0; --left) {
    const size_t size = (rows - row + left - 1) / left;
    VisitGroup<kMostRows>(row, size, visit);
    row += size;
  }
}

// ---- y += x b -------------------------------------------------------------------------------------------------------

// So many rows of b are read side by side: more of them, a multiple of 4 KiB apart, would push each other out of the
// nearest cache.
constexpr size_t kDepth = 8;

// Adds the products with so many rows of b to some registers of columns, and asks for as many rows behind them.
// x: [rows, depth] without gaps.
template <typename Of, size_t kRows, size_t kRegisters, size_t kOfDepth>
inline void AddPanel(const float* x, const Element<Of>* b, size_t b_step, float* y, size_t y_step) {
  Floats sums[kRows][kRegisters];
#pragma GCC unroll 8
  for (size_t m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (size_t j = 0; j < kRegisters; ++j) sums[m][j] = Load(y + m * y_step + j * kLanes);
  }
#pragma GCC unroll 8
  for (size_t k = 0; k < kOfDepth; ++k) {
    Floats w[kRegisters];
#pragma GCC unroll 8
    for (size_t j = 0; j < kRegisters; ++j) w[j] = Of::Read(b + k * b_step + j * kLanes);
#pragma GCC unroll 8
    for (size_t j = 0; j < kRegisters * kLanes; j += kInLine<Of>) AskFor(b + k * b_step, kOfDepth * b_step + j);
#pragma GCC unroll 8
    for (size_t m = 0; m < kRows; ++m) {
      const Floats factor = Splat(x[m * kOfDepth + k]);
#pragma GCC unroll 8
      for (size_t j = 0; j < kRegisters; ++j) sums[m][j] += factor * w[j];
    }
  }
#pragma GCC unroll 8
  for (size_t m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (size_t j = 0; j < kRegisters; ++j) Store(sums[m][j], y + m * y_step + j * kLanes);
  }
}

template <typename Of, size_t kRows, size_t kOfDepth>
[[gnu::flatten]] void AddRowsOfB(const FewRows<Element<Of>>& of, size_t row, size_t depth) {
  float x[kRows * kOfDepth];
  for (size_t m = 0; m < kRows; ++m) {
    for (size_t k = 0; k < kOfDepth; ++k) x[m * kOfDepth + k] = of.x[(row + m) * of.x_step + depth + k];
  }
  const Element<Of>* const b = of.b + depth * of.b_step;
  float* const y = of.y + row * of.y_step;
  constexpr size_t kRegisters = kRegistersOfB<kRows>;
  size_t column = 0;
  for (; column + kRegisters * kLanes <= of.columns; column += kRegisters * kLanes) {
    AddPanel<Of, kRows, kRegisters, kOfDepth>(x, b + column, of.b_step, y + column, of.y_step);
  }
  for (; column + kLanes <= of.columns; column += kLanes) {
    AddPanel<Of, kRows, 1, kOfDepth>(x, b + column, of.b_step, y + column, of.y_step);
  }
  if (column == of.columns) return;
  Element<Of> few[kOfDepth * kLanes] = {};
  for (size_t k = 0; k < kOfDepth; ++k) {
    __builtin_memcpy(few + k * kLanes, b + k * of.b_step + column, (of.columns - column) * sizeof(few[0]));
  }
  AddPanel<Of, kRows, 1, kOfDepth>(x, few, kLanes, y + column, of.y_step);
}

template <typename Of>
void Multiply(const FewRows<Element<Of>>& of) {
  for (size_t m = 0; m < of.rows; ++m) {
    for (size_t j = 0; j < of.columns; j += kLanes) Store(Floats{}, of.y + m * of.y_step + j);
  }
  size_t depth = 0;
  for (; depth + kDepth <= of.depth; depth += kDepth) {
    ForRowGroups(of.rows,
                 [&]<size_t kRows>(size_t row, Rows<kRows>) { AddRowsOfB<Of, kRows, kDepth>(of, row, depth); });
  }
  for (; depth < of.depth; ++depth) {
    ForRowGroups(of.rows, [&]<size_t kRows>(size_t row, Rows<kRows>) { AddRowsOfB<Of, kRows, 1>(of, row, depth); });
  }
}

// ---- y = x b, b transposed ------------------------------------------------------------------------------------------

inline float SumOfLanes(Floats x) {
  float lanes[kLanes];
  Store(x, lanes);
#pragma GCC unroll 4
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

// So much of x's rows is multiplied with several columns of b before what follows: it stays in the nearest cache.
constexpr size_t kDepthInCache = 512;
// Columns, which are rows in memory, that meet it.
constexpr size_t kColumnsInCache = 24;

// The lanes of sums of rows and columns, until all of the depth is in them.
struct DotSums {
  Floats lanes[kMostRows][kColumnsInCache];
};

// Adds the products with some columns of b over some of the depth, and asks for as many at `next`. `column` counts from
// where the sums begin.
template <typename Of, size_t kRows, size_t kColumns>
inline void AddDots(const float* x, size_t x_step, const Element<Of>* b, const Element<Of>* next, size_t b_step,
                    size_t depth, DotSums& of, size_t column) {
  Floats sums[kRows][kColumns];
#pragma GCC unroll 8
  for (size_t m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (size_t j = 0; j < kColumns; ++j) sums[m][j] = of.lanes[m][column + j];
  }
  const auto add = [&](size_t k, const auto& read_some) {
    Floats w[kColumns];
#pragma GCC unroll 8
    for (size_t j = 0; j < kColumns; ++j) w[j] = read_some(b + j * b_step + k);
#pragma GCC unroll 8
    for (size_t m = 0; m < kRows; ++m) {
      const Floats factor = Load(x + m * x_step + k);
#pragma GCC unroll 8
      for (size_t j = 0; j < kColumns; ++j) sums[m][j] += factor * w[j];
    }
  };
  const auto read = [](const Element<Of>* from) { return Of::Read(from); };
  size_t k = 0;
  for (; k + kInLine<Of> <= depth; k += kInLine<Of>) {
#pragma GCC unroll 8
    for (size_t j = 0; j < kColumns; ++j) AskFor(next, j * b_step + k);
#pragma GCC unroll 8
    for (size_t i = 0; i < kInLine<Of>; i += kLanes) add(k + i, read);
  }
  for (; k + kLanes <= depth; k += kLanes) add(k, read);
  const size_t left = depth - k;
  if (left > 0) add(k, [left](const Element<Of>* from) { return ReadFew<Of>(from, left); });
#pragma GCC unroll 8
  for (size_t m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (size_t j = 0; j < kColumns; ++j) of.lanes[m][column + j] = sums[m][j];
  }
}

// Sets y to the products with so many columns.
template <typename Of, size_t kRows>
[[gnu::flatten]] void SetColumns(const FewRows<Element<Of>>& of, size_t row, size_t first, size_t columns) {
  constexpr size_t kColumns = kRows == 1 ? 8 : kRegistersOfB<kRows>;
  const float* const x = of.x + row * of.x_step;
  const Element<Of>* const b = of.b + first * of.b_step;
  DotSums sums;
  for (size_t m = 0; m < kRows; ++m) {
    for (size_t j = 0; j < columns; ++j) sums.lanes[m][j] = Floats{};
  }
  const size_t most = kRows < 4 ? of.depth : kDepthInCache;  // a few rows stay there whole
  for (size_t k = 0; k < of.depth; k += most) {
    const size_t depth = of.depth - k < most ? of.depth - k : most;
    // Where a column goes on; beyond the last one, what is read afterwards.
    const auto at = [&](size_t column) {
      if (column < columns) return b + column * of.b_step + k;
      return k + most < of.depth ? b + k + most : b + columns * of.b_step;
    };
    size_t column = 0;
    for (; column + kColumns <= columns; column += kColumns) {
      AddDots<Of, kRows, kColumns>(x + k, of.x_step, at(column), at(column + kColumns), of.b_step, depth, sums, column);
    }
    for (; column < columns; ++column) {
      AddDots<Of, kRows, 1>(x + k, of.x_step, at(column), at(column + 1), of.b_step, depth, sums, column);
    }
  }
  for (size_t m = 0; m < kRows; ++m) {
    float* const y = of.y + (row + m) * of.y_step + first;
    for (size_t j = 0; j < columns; ++j) y[j] = SumOfLanes(sums.lanes[m][j]);
  }
}

template <typename Of>
void MultiplyTransposed(const FewRows<Element<Of>>& of) {
  for (size_t column = 0; column < of.columns; column += kColumnsInCache) {
    const size_t count = of.columns - column < kColumnsInCache ? of.columns - column : kColumnsInCache;
    ForRowGroups(of.rows,
                 [&]<size_t kRows>(size_t row, Rows<kRows>) { SetColumns<Of, kRows>(of, row, column, count); });
  }
}

}  // namespace

const ProductLoops kProducts = {.of_float32 = Multiply<Float32>,
                                .of_transposed_float32 = MultiplyTransposed<Float32>,
                                .of_float16 = Multiply<Float16>,
                                .of_transposed_float16 = MultiplyTransposed<Float16>,
                                .of_bfloat16 = Multiply<Bfloat16>,
                                .of_transposed_bfloat16 = MultiplyTransposed<Bfloat16>};

}  // namespace amp::AMP_LOOPS_ISA
