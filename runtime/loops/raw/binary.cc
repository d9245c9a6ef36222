// Functions of two elements.
#include "runtime/loops/raw/lanes.h"
#include "runtime/loops/raw/loops.h"
#include "runtime/loops/raw/power.h"

namespace amp::AMP_LOOPS_ISA {

extern const BinaryLoops kBinary;

namespace {

// ---- numbers ------------------------------------------------------------------------------------------------------

template <auto kOf>
constexpr BinaryLoop FormsOf() {
  return {
      .of_both = [](const float* a, const float* b, float* y,
                    size_t count) { Zip(a, b, y, count, [](Floats x, Floats z) { return kOf(x, z); }); },
      .of_one_a =
          [](const float* a, const float* b, float* y, size_t count) {
            const Floats one = Splat(*a);
            Map(b, y, count, [one](Floats z) { return kOf(one, z); });
          },
      .of_one_b =
          [](const float* a, const float* b, float* y, size_t count) {
            const Floats one = Splat(*b);
            Map(a, y, count, [one](Floats x) { return kOf(x, one); });
          },
  };
}

Floats Plus(Floats a, Floats b) { return a + b; }
Floats Minus(Floats a, Floats b) { return a - b; }
Floats Times(Floats a, Floats b) { return a * b; }
Floats Over(Floats a, Floats b) { return a / b; }
Floats PRelu(Floats a, Floats b) { return a < 0 ? a * b : a; }

// ---- truth values -------------------------------------------------------------------------------------------------

using Bytes = uint8_t __attribute__((vector_size(kLanes)));

// An operand's register full from i on; of less than that at the end, with zeros behind.
struct Many {
  const float* first;
  Floats At(size_t i) const { return Load(first + i); }
  Floats FewAt(size_t i, size_t count) const { return LoadFew(first + i, count); }
};
struct One {
  Floats all;
  Floats At(size_t) const { return all; }
  Floats FewAt(size_t, size_t) const { return all; }
};

template <auto kOf, typename A, typename B>
[[gnu::flatten]] void Compare(A a, B b, uint8_t* y, size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Store(__builtin_convertvector(kOf(a.At(i), b.At(i)) & 1, Bytes), y + i);
  }
  const Bytes few = __builtin_convertvector(kOf(a.FewAt(i, count - i), b.FewAt(i, count - i)) & 1, Bytes);
  __builtin_memcpy(y + i, &few, count - i);
}

template <auto kOf>
constexpr CompareLoop ComparisonsOf() {
  return {
      .of_both = [](const float* a, const float* b, uint8_t* y,
                    size_t count) { Compare<kOf>(Many{a}, Many{b}, y, count); },
      .of_one_a = [](const float* a, const float* b, uint8_t* y,
                     size_t count) { Compare<kOf>(One{Splat(*a)}, Many{b}, y, count); },
      .of_one_b = [](const float* a, const float* b, uint8_t* y,
                     size_t count) { Compare<kOf>(Many{a}, One{Splat(*b)}, y, count); },
  };
}

Ints Equal(Floats a, Floats b) { return a == b; }
Ints Unequal(Floats a, Floats b) { return a != b; }
Ints Greater(Floats a, Floats b) { return a > b; }
Ints GreaterOrEqual(Floats a, Floats b) { return a >= b; }
Ints Less(Floats a, Floats b) { return a < b; }
Ints LessOrEqual(Floats a, Floats b) { return a <= b; }

}  // namespace

const BinaryLoops kBinary = {
    .add = FormsOf<Plus>(),
    .subtract = FormsOf<Minus>(),
    .multiply = FormsOf<Times>(),
    .divide = FormsOf<Over>(),
    .max = FormsOf<Max>(),
    .min = FormsOf<Min>(),
    .power = FormsOf<Power>(),
    .prelu = FormsOf<PRelu>(),
    .equal = ComparisonsOf<Equal>(),
    .unequal = ComparisonsOf<Unequal>(),
    .greater = ComparisonsOf<Greater>(),
    .greater_or_equal = ComparisonsOf<GreaterOrEqual>(),
    .less = ComparisonsOf<Less>(),
    .less_or_equal = ComparisonsOf<LessOrEqual>(),
};

}  // namespace amp::AMP_LOOPS_ISA
