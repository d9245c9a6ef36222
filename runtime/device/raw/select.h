// Kernels that find the largest or smallest elements of rows: their indices, or the first few of them in order.
//
// Elements are compared by keys, integers that differ for all elements of a row: the upper half orders the numbers, the
// lower half has the index. Both zeros are equal.
#ifndef AMP_RUNTIME_DEVICE_RAW_SELECT_H_
#define AMP_RUNTIME_DEVICE_RAW_SELECT_H_

#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/kernels.h"

namespace amp::device {

// Returns an integer that is larger for larger numbers, and the largest of all for NaN.
AMP_BOTH inline uint32_t OrderOf(float x) {
  if (x != x) return 0xffffffffu;
  const uint32_t bits = BitsOf(x == 0 ? 0.0f : x);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// The element that is looked for; of equal elements the first one, or the last one.
enum class Extreme : int32_t { kFirstLargest, kLastLargest, kFirstSmallest, kLastSmallest };

AMP_BOTH inline bool IsFirst(Extreme extreme) {
  return extreme == Extreme::kFirstLargest || extreme == Extreme::kFirstSmallest;
}
// Returns a key that is the row's largest for the element that is looked for. The lower half of a key is never 0.
AMP_BOTH inline uint64_t KeyOf(Extreme extreme, float x, uint32_t place) {
  const bool is_largest = extreme == Extreme::kFirstLargest || extreme == Extreme::kLastLargest;
  const bool is_first = IsFirst(extreme);
  const uint32_t order = is_largest ? OrderOf(x) : ~OrderOf(x);
  return static_cast<uint64_t>(order) << 32 | (is_first ? ~place : place + 1);
}
AMP_BOTH inline uint32_t PlaceOfKey(Extreme extreme, uint64_t key) {
  const auto low = static_cast<uint32_t>(key);
  return IsFirst(extreme) ? ~low : low - 1;
}

// Rows of `size` elements that lie `inner` elements apart.
struct SelectRows {
  const void* x;
  Storage storage;
  uint32_t rows, size, inner;

  // Returns the offset of the row's first element, for rows with `of` elements.
  AMP_BOTH int64_t First(uint32_t row, uint32_t of) const {
    return static_cast<int64_t>(row / inner) * of * inner + row % inner;
  }
};

// ---- indices of extremes --------------------------------------------------------------------------------------------

struct FindExtremesArguments {
  static constexpr Kernel kKernel = Kernel::kFindExtremes;
  SelectRows from;
  int64_t* places;  // by row
  Extreme extreme;
};

// In a row with NaN, the index of a NaN is found, as for comparisons with NaN.
struct FindExtremesBody {
  FindExtremesArguments find;

  AMP_BOTH uint64_t Key(float x, uint32_t place) const {
    if (x == x) return KeyOf(find.extreme, x, place);
    return KeyOf(IsFirst(find.extreme) ? Extreme::kFirstLargest : Extreme::kLastLargest, x, place);
  }

  template <typename Team>
  AMP_BOTH void operator()(uint32_t row, Team& team) const {
    const SelectRows& from = find.from;
    const int64_t first = from.First(row, from.size);
    const uint64_t best = team.MaxKey(from.size, [=, this](uint32_t i) {
      const int64_t at = first + static_cast<int64_t>(i) * find.from.inner;
      return Key(LoadFloat(find.from.x, find.from.storage, at), i);
    });
    if (team.IsFirst()) find.places[row] = PlaceOfKey(find.extreme, best);
  }
};

template <typename Runner>
int Start(Runner& runner, const FindExtremesArguments& find) {
  return runner.ForRows(find.from.rows, FindExtremesBody{find});
}

// ---- the first k of an order ----------------------------------------------------------------------------------------

inline constexpr uint32_t kShortRow = 4096;

// Finds the first k elements of an order in which NaN is the largest number. In short rows, each element counts the
// elements ahead of it. In long rows, or for a small k, the elements are found one after another. Rows of integers must
// be short.
struct SelectTopArguments {
  static constexpr Kernel kKernel = Kernel::kSelectTop;
  SelectRows from;
  void* values;  // of x's type
  int64_t* places;
  uint32_t k;
  bool is_largest;
};

struct SelectTopBody {
  SelectTopArguments top;

  AMP_BOTH Extreme Wanted() const { return top.is_largest ? Extreme::kFirstLargest : Extreme::kFirstSmallest; }
  AMP_BOTH float At(int64_t first, uint32_t i) const {
    return LoadFloat(top.from.x, top.from.storage, first + static_cast<int64_t>(i) * top.from.inner);
  }
  AMP_BOTH uint64_t Key(int64_t first, uint32_t i) const { return KeyOf(Wanted(), At(first, i), i); }
  AMP_BOTH void Store(uint32_t row, uint32_t rank, int64_t first, uint32_t place) const {
    const int64_t at = top.from.First(row, top.k) + static_cast<int64_t>(rank) * top.from.inner;
    StoreFloat(top.values, top.from.storage, at, At(first, place));
    top.places[at] = place;
  }

  AMP_BOTH int64_t IntegerAt(int64_t first, uint32_t i) const {
    return LoadInteger(top.from.x, top.from.storage, first + static_cast<int64_t>(i) * top.from.inner);
  }
  AMP_BOTH bool IsAhead(int64_t first, uint32_t i, uint32_t other) const {
    const int64_t own = IntegerAt(first, i), of_other = IntegerAt(first, other);
    if (own == of_other) return other < i;
    return top.is_largest ? of_other > own : of_other < own;
  }

  template <typename Team>
  AMP_BOTH void SelectIntegers(uint32_t row, int64_t first, Team& team) const {
    team.ForEach(top.from.size, [=, this](uint32_t i) {
      uint32_t rank = 0;
      for (uint32_t other = 0; other < top.from.size && rank < top.k; ++other) rank += IsAhead(first, i, other) ? 1 : 0;
      if (rank >= top.k) return;
      const int64_t at = top.from.First(row, top.k) + static_cast<int64_t>(rank) * top.from.inner;
      StoreInteger(top.values, top.from.storage, at, IntegerAt(first, i));
      top.places[at] = i;
    });
  }

  template <typename Team>
  AMP_BOTH void operator()(uint32_t row, Team& team) const {
    constexpr uint32_t kFewRounds = 8;
    const int64_t first = top.from.First(row, top.from.size);
    if (!IsFloat(top.from.storage)) return SelectIntegers(row, first, team);
    const uint32_t size = top.from.size;
    if (top.k > kFewRounds && size <= kShortRow) {
      team.ForEach(size, [=, this](uint32_t i) {
        const uint64_t own = Key(first, i);
        uint32_t rank = 0;
        for (uint32_t other = 0; other < size && rank < top.k; ++other) rank += Key(first, other) > own ? 1 : 0;
        if (rank < top.k) Store(row, rank, first, i);
      });
      return;
    }
    uint64_t before = ~uint64_t{0};
    for (uint32_t rank = 0; rank < top.k; ++rank) {
      before = team.MaxKey(size, [=, this](uint32_t i) {
        const uint64_t key = Key(first, i);
        return key < before ? key : 0;
      });
      if (team.IsFirst()) Store(row, rank, first, PlaceOfKey(Wanted(), before));
    }
  }
};

template <typename Runner>
int Start(Runner& runner, const SelectTopArguments& top) {
  return runner.ForRows(top.from.rows, SelectTopBody{top});
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_SELECT_H_
