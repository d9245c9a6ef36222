// A few rows times a matrix that comes from memory: its bytes are the time, so that each of them is read once, in the
// order in which they lie there.
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

// So many that their sums stay in registers. What they share of b is read once.
constexpr size_t kMostRows = 4;

template <size_t kCount>
struct Rows {};

// Visits x's rows in groups of nearly one size.
template <typename Visit>
inline void ForRowGroups(size_t rows, Visit visit) {
  size_t row = 0;
  for (size_t left = (rows + kMostRows - 1) / kMostRows; left > 0; --left) {
    const size_t size = (rows - row + left - 1) / left;
    if (size == 1) visit(row, Rows<1>());
    if (size == 2) visit(row, Rows<2>());
    if (size == 3) visit(row, Rows<3>());
    if (size == 4) visit(row, Rows<4>());
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
  constexpr size_t kRegisters = kRows < 4 ? 4 : 3;
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

// Sets y to the products with so many columns of b, which are rows in memory.
template <typename Of, size_t kRows, size_t kColumns>
inline void SetDots(const FewRows<Element<Of>>& of, size_t row, size_t column) {
  const float* const x = of.x + row * of.x_step;
  const Element<Of>* const b = of.b + column * of.b_step;
  Floats sums[kRows][kColumns] = {};
  const auto add = [&](size_t k, const auto& read_some) {
    Floats w[kColumns];
#pragma GCC unroll 8
    for (size_t j = 0; j < kColumns; ++j) w[j] = read_some(b + j * of.b_step + k);
#pragma GCC unroll 8
    for (size_t m = 0; m < kRows; ++m) {
      const Floats factor = Load(x + m * of.x_step + k);
#pragma GCC unroll 8
      for (size_t j = 0; j < kColumns; ++j) sums[m][j] += factor * w[j];
    }
  };
  const auto read = [](const Element<Of>* from) { return Of::Read(from); };
  size_t k = 0;
  for (; k + kInLine<Of> <= of.depth; k += kInLine<Of>) {
#pragma GCC unroll 8
    for (size_t j = 0; j < kColumns; ++j) AskFor(b + j * of.b_step, kColumns * of.b_step + k);
#pragma GCC unroll 8
    for (size_t i = 0; i < kInLine<Of>; i += kLanes) add(k + i, read);
  }
  for (; k + kLanes <= of.depth; k += kLanes) add(k, read);
  const size_t left = of.depth - k;
  if (left > 0) add(k, [left](const Element<Of>* from) { return ReadFew<Of>(from, left); });
  for (size_t m = 0; m < kRows; ++m) {
    for (size_t j = 0; j < kColumns; ++j) of.y[(row + m) * of.y_step + column + j] = SumOfLanes(sums[m][j]);
  }
}

template <typename Of, size_t kRows>
[[gnu::flatten]] void SetColumns(const FewRows<Element<Of>>& of, size_t row, size_t column, size_t end) {
  constexpr size_t kColumns = kRows == 1 ? 8 : kRows < 4 ? 4 : 3;
  for (; column + kColumns <= end; column += kColumns) SetDots<Of, kRows, kColumns>(of, row, column);
  for (; column < end; ++column) SetDots<Of, kRows, 1>(of, row, column);
}

template <typename Of>
void MultiplyTransposed(const FewRows<Element<Of>>& of) {
  constexpr size_t kInCache = 12;  // columns, which several groups of rows read
  const size_t most = of.rows > kMostRows ? kInCache : of.columns;
  for (size_t column = 0; column < of.columns; column += most) {
    const size_t end = column + most < of.columns ? column + most : of.columns;
    ForRowGroups(of.rows, [&]<size_t kRows>(size_t row, Rows<kRows>) { SetColumns<Of, kRows>(of, row, column, end); });
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
