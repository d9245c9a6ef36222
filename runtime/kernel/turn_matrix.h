// Matrices turned in memory, square by square in registers.
//
//   0 1 2      0 3
//   3 4 5  ->  1 4
//              2 5
#ifndef AMP_RUNTIME_KERNEL_TURN_MATRIX_H_
#define AMP_RUNTIME_KERNEL_TURN_MATRIX_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "runtime/kernel/parallel_for.h"

namespace amp {

// A transposition: element from[r + c * from_step] goes to to[r * to_step + c].
struct Turn {
  int64_t rows, columns, from_step, to_step;
};

// n rows of n elements each, as one register holds them.
template <typename T>
struct RegisterSquare {
  static constexpr size_t kSide = 16 / sizeof(T);
  typedef T Row __attribute__((vector_size(16)));  // NOLINT(modernize-use-using): GCC wants it of a template's type

  Row rows[kSide];

  // Rows a and b with their elements in turn: the first halves, or the second ones.
  template <size_t half, size_t... i>
  static Row Interleaved(Row a, Row b, std::index_sequence<i...>) {
    return __builtin_shufflevector(a, b, (half * kSide / 2 + i / 2 + i % 2 * kSide)...);
  }

  // After log2(n) rounds of interleaving every row with the one that is n/2 behind it.
  void Turn() {
    constexpr auto kIndices = std::make_index_sequence<kSide>();
#pragma GCC unroll 4
    for (size_t round = 1; round < kSide; round *= 2) {
      RegisterSquare next;
#pragma GCC unroll 8
      for (size_t i = 0; i < kSide / 2; ++i) {
        next.rows[2 * i] = Interleaved<0>(rows[i], rows[i + kSide / 2], kIndices);
        next.rows[2 * i + 1] = Interleaved<1>(rows[i], rows[i + kSide / 2], kIndices);
      }
      *this = next;
    }
  }
};

template <typename T>
void TurnSquare(const T* from, T* to, const Turn& turn) {
  RegisterSquare<T> square;
  constexpr auto kSide = static_cast<int64_t>(RegisterSquare<T>::kSide);
#pragma GCC unroll 16
  for (int64_t c = 0; c < kSide; ++c) std::memcpy(&square.rows[c], from + c * turn.from_step, sizeof(square.rows[c]));
  square.Turn();
#pragma GCC unroll 16
  for (int64_t r = 0; r < kSide; ++r) std::memcpy(to + r * turn.to_step, &square.rows[r], sizeof(square.rows[r]));
}

template <typename T>
void TurnOneByOne(const T* from, T* to, const Turn& turn) {
  for (int64_t r = 0; r < turn.rows; ++r) {
    for (int64_t c = 0; c < turn.columns; ++c) to[r * turn.to_step + c] = from[r + c * turn.from_step];
  }
}

// Turns fewer columns than a register has elements, which lie one behind the other in `to`. The rest of a register is
// overwritten by the next row.
template <typename T>
void TurnFewColumns(const T* from, T* to, const Turn& turn) {
  constexpr auto kSide = static_cast<int64_t>(RegisterSquare<T>::kSide);
  const T* columns[kSide];  // the last one as often as it takes
  for (int64_t c = 0; c < kSide; ++c) columns[c] = from + std::min(c, turn.columns - 1) * turn.from_step;
  int64_t r = 0;
  for (; (r + kSide - 1) * turn.columns + kSide <= turn.rows * turn.columns; r += kSide) {
    RegisterSquare<T> square;
#pragma GCC unroll 16
    for (int64_t c = 0; c < kSide; ++c) std::memcpy(&square.rows[c], columns[c] + r, sizeof(square.rows[c]));
    square.Turn();
    T* next = to + r * turn.columns;
#pragma GCC unroll 16
    for (int64_t i = 0; i < kSide; ++i, next += turn.columns) {
      std::memcpy(next, &square.rows[i], sizeof(square.rows[i]));
    }
  }
  TurnOneByOne(from + r, to + r * turn.to_step, {turn.rows - r, turn.columns, turn.from_step, turn.to_step});
}

// Turns fewer rows than a register has elements, which lie one behind the other in `from`.
template <typename T>
void TurnFewRows(const T* from, T* to, const Turn& turn) {
  constexpr auto kSide = static_cast<int64_t>(RegisterSquare<T>::kSide);
  int64_t c = 0;
  for (; (c + kSide - 1) * turn.rows + kSide <= turn.rows * turn.columns; c += kSide) {
    RegisterSquare<T> square;
    const T* next = from + c * turn.rows;
#pragma GCC unroll 16
    for (int64_t i = 0; i < kSide; ++i, next += turn.rows) std::memcpy(&square.rows[i], next, sizeof(square.rows[i]));
    square.Turn();
    for (int64_t r = 0; r < turn.rows; ++r)
      std::memcpy(to + r * turn.to_step + c, &square.rows[r], sizeof(square.rows[r]));
  }
  TurnOneByOne(from + c * turn.from_step, to + c, {turn.rows, turn.columns - c, turn.from_step, turn.to_step});
}

// Some columns at a time, so that the lines that are written stay in the cache until they are full.
template <typename T>
void TurnMatrix(const T* from, T* to, const Turn& turn) {
  if constexpr (std::is_integral_v<T>) {
    constexpr auto kSide = static_cast<int64_t>(RegisterSquare<T>::kSide),
                   kTile = std::max<int64_t>(kSide, 64 / sizeof(T));
    if (turn.columns < kSide && turn.to_step == turn.columns) return TurnFewColumns(from, to, turn);
    if (turn.rows < kSide && turn.from_step == turn.rows) return TurnFewRows(from, to, turn);
    const int64_t rows = turn.rows / kSide * kSide, columns = turn.columns / kSide * kSide;
    for (int64_t tile = 0; tile < columns; tile += kTile) {
      for (int64_t r = 0; r < rows; r += kSide) {
        for (int64_t c = tile; c < std::min(tile + kTile, columns); c += kSide) {
          TurnSquare(from + r + c * turn.from_step, to + r * turn.to_step + c, turn);
        }
      }
    }
    TurnOneByOne(from + columns * turn.from_step, to + columns,
                 {rows, turn.columns - columns, turn.from_step, turn.to_step});
    TurnOneByOne(from + rows, to + rows * turn.to_step, {turn.rows - rows, turn.columns, turn.from_step, turn.to_step});
  } else {
    TurnOneByOne(from, to, turn);
  }
}

// Turns a matrix with the threads of the run.
template <typename T>
void TurnMatrixTogether(const T* from, T* to, const Turn& turn) {
  const bool cuts_rows = turn.rows >= turn.columns;
  const auto count = static_cast<size_t>(cuts_rows ? turn.rows : turn.columns),
             other = static_cast<size_t>(cuts_rows ? turn.columns : turn.rows);
  ParallelFor(count, other, [&](const Share& share) {
    const auto first = static_cast<int64_t>(share.first), size = static_cast<int64_t>(share.end - share.first);
    Turn part = turn;
    (cuts_rows ? part.rows : part.columns) = size;
    if (cuts_rows) {
      TurnMatrix(from + first, to + first * turn.to_step, part);
    } else {
      TurnMatrix(from + first * turn.from_step, to + first, part);
    }
  });
}

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_TURN_MATRIX_H_
