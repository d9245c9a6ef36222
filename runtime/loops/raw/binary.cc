// Functions of two elements.
#include "runtime/loops/raw/halves.h"
#include "runtime/loops/raw/lanes.h"
#include "runtime/loops/raw/loops.h"
#include "runtime/loops/raw/power.h"

namespace amp::AMP_LOOPS_ISA {

extern const BinaryLoops kBinary, kRoundedFloat16, kRoundedBfloat16;
extern const NarrowBinaryLoops kNarrowFloat16, kNarrowBfloat16;

namespace {

// ---- numbers ------------------------------------------------------------------------------------------------------

using RoundTo = Floats (*)(Floats);
inline Floats AsItIs(Floats x) { return x; }

template <auto kOf, RoundTo kRound>
constexpr BinaryLoop FormsOf() {
  return {
      .of_both = [](const float* a, const float* b, float* y,
                    size_t count) { Zip(a, b, y, count, [](Floats x, Floats z) { return kRound(kOf(x, z)); }); },
      .of_one_a =
          [](const float* a, const float* b, float* y, size_t count) {
            const Floats one = Splat(*a);
            Map(b, y, count, [one](Floats z) { return kRound(kOf(one, z)); });
          },
      .of_one_b =
          [](const float* a, const float* b, float* y, size_t count) {
            const Floats one = Splat(*b);
            Map(a, y, count, [one](Floats x) { return kRound(kOf(x, one)); });
          },
  };
}

Floats Plus(Floats a, Floats b) { return a + b; }
Floats Minus(Floats a, Floats b) { return a - b; }
Floats Times(Floats a, Floats b) { return a * b; }
Floats Over(Floats a, Floats b) { return a / b; }
Floats PRelu(Floats a, Floats b) { return a < 0 ? a * b : a; }

// ---- operands ---------------------------------------------------------------------------------------------------

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

// ---- numbers of 16 bits -------------------------------------------------------------------------------------------

template <Floats (*kWiden)(Halves)>
struct ManyHalves {
  const uint16_t* first;
  Floats At(size_t i) const { return kWiden(LoadAs<Halves>(first + i)); }
  Floats FewAt(size_t i, size_t count) const {
    Halves few = {};
    __builtin_memcpy(&few, first + i, count * sizeof(uint16_t));
    return kWiden(few);
  }
};

template <auto kOf, Halves (*kNarrow)(Floats), typename A, typename B>
[[gnu::flatten]] void ZipHalves(A a, B b, uint16_t* y, size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(kNarrow(kOf(a.At(i), b.At(i))), y + i);
  if (i == count) return;
  const Halves few = kNarrow(kOf(a.FewAt(i, count - i), b.FewAt(i, count - i)));
  __builtin_memcpy(y + i, &few, (count - i) * sizeof(uint16_t));
}

template <auto kOf, Floats (*kWiden)(Halves), Halves (*kNarrow)(Floats)>
constexpr NarrowBinaryForms NarrowFormsOf() {
  using ManyOf = ManyHalves<kWiden>;
  return {
      .of_both = [](const uint16_t* a, const uint16_t* b, uint16_t* y,
                    size_t count) { ZipHalves<kOf, kNarrow>(ManyOf{a}, ManyOf{b}, y, count); },
      .of_one_a = [](const uint16_t* a, const uint16_t* b, uint16_t* y,
                     size_t count) { ZipHalves<kOf, kNarrow>(One{kWiden(Halves{} + *a)}, ManyOf{b}, y, count); },
      .of_one_b = [](const uint16_t* a, const uint16_t* b, uint16_t* y,
                     size_t count) { ZipHalves<kOf, kNarrow>(ManyOf{a}, One{kWiden(Halves{} + *b)}, y, count); },
  };
}

template <Floats (*kWiden)(Halves), Halves (*kNarrow)(Floats)>
constexpr NarrowBinaryLoops NarrowLoopsOf() {
  return {
      .add = NarrowFormsOf<Plus, kWiden, kNarrow>(),
      .subtract = NarrowFormsOf<Minus, kWiden, kNarrow>(),
      .multiply = NarrowFormsOf<Times, kWiden, kNarrow>(),
      .divide = NarrowFormsOf<Over, kWiden, kNarrow>(),
      .max = NarrowFormsOf<Max, kWiden, kNarrow>(),
      .min = NarrowFormsOf<Min, kWiden, kNarrow>(),
  };
}

// ---- truth values -------------------------------------------------------------------------------------------------

using Bytes = uint8_t __attribute__((vector_size(kLanes)));

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

template <RoundTo kRound>
constexpr BinaryLoops LoopsOf() {
  return {
      .add = FormsOf<Plus, kRound>(),
      .subtract = FormsOf<Minus, kRound>(),
      .multiply = FormsOf<Times, kRound>(),
      .divide = FormsOf<Over, kRound>(),
      .max = FormsOf<Max, kRound>(),
      .min = FormsOf<Min, kRound>(),
      .power = FormsOf<Power, kRound>(),
      .prelu = FormsOf<PRelu, kRound>(),
      .equal = ComparisonsOf<Equal>(),
      .unequal = ComparisonsOf<Unequal>(),
      .greater = ComparisonsOf<Greater>(),
      .greater_or_equal = ComparisonsOf<GreaterOrEqual>(),
      .less = ComparisonsOf<Less>(),
      .less_or_equal = ComparisonsOf<LessOrEqual>(),
  };
}

}  // namespace

const BinaryLoops kBinary = LoopsOf<AsItIs>(), kRoundedFloat16 = LoopsOf<RoundToFloat16>(),
                  kRoundedBfloat16 = LoopsOf<RoundToBfloat16>();
const NarrowBinaryLoops kNarrowFloat16 = NarrowLoopsOf<WidenFloat16, NarrowToFloat16>(),
                        kNarrowBfloat16 = NarrowLoopsOf<WidenBfloat16, NarrowToBfloat16>();

}  // namespace amp::AMP_LOOPS_ISA
