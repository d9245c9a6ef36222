// Functions of one element.
#include "runtime/loops/raw/functions.h"
#include "runtime/loops/raw/lanes.h"
#include "runtime/loops/raw/loops.h"
#include "runtime/loops/raw/trigonometry.h"

namespace amp::AMP_LOOPS_ISA {

extern const UnaryLoops kUnary;

namespace {

template <Floats (*kOf)(Floats)>
void Simple(const float* x, float* y, size_t count, UnaryParameters) {
  Map(x, y, count, [](Floats v) { return kOf(v); });
}

template <Floats (*kOf)(Floats, UnaryParameters)>
void WithParameters(const float* x, float* y, size_t count, UnaryParameters parameters) {
  Map(x, y, count, [parameters](Floats v) { return kOf(v, parameters); });
}

Floats Positive(Floats x) { return x < 0 ? Floats{} : x; }
Floats BetweenZeroAndOne(Floats x) {
  x = x < 0 ? Floats{} : x;
  return x > 1 ? Splat(1) : x;
}

// ---- mathematics --------------------------------------------------------------------------------------------------

Floats Clip(Floats x, UnaryParameters p) {
  x = x < p.a ? Splat(p.a) : x;
  return x > p.b ? Splat(p.b) : x;
}
Floats Negate(Floats x) { return Bits<Floats>(Bits<Words>(x) ^ 0x80000000u); }
Floats Reciprocal(Floats x) { return 1 / x; }
Floats Sign(Floats x) { return x > 0 ? Splat(1) : x < 0 ? Splat(-1) : x; }
Floats Square(Floats x) { return x * x; }
Floats Cube(Floats x) { return x * x * x; }
// Unlike the square root, of -0 it is 0 and of minus infinity infinity.
Floats PowerHalf(Floats x) { return x == -kInfinity ? Splat(kInfinity) : Sqrt(x) + 0.0f; }
Floats PowerMinusHalf(Floats x) { return 1 / PowerHalf(x); }
Floats Plus(Floats x, UnaryParameters p) { return x + p.a; }
Floats Times(Floats x, UnaryParameters p) { return x * p.a; }

// ---- activations --------------------------------------------------------------------------------------------------

Floats Celu(Floats x, UnaryParameters p) { return x < 0 ? p.a * ExpMinus1(x / p.a) : x; }
Floats Elu(Floats x, UnaryParameters p) { return x < 0 ? p.a * ExpMinus1(x) : x; }
Floats Gelu(Floats x) {
  const Floats complement = ErfComplement(Abs(x) * 0.70710678118654752f);
  return 0.5f * x * (x < 0 ? complement : 2 - complement);
}
Floats Swish(Floats x, UnaryParameters p) { return x * Sigmoid(p.a * x); }
Floats GeluTanh(Floats x) { return x * Sigmoid(x * (x * x * 0.0713548162726f + 1.59576912160573f)); }
Floats HardSigmoid(Floats x, UnaryParameters p) { return BetweenZeroAndOne(x * p.a + p.b); }
Floats HardSwish(Floats x) { return x * BetweenZeroAndOne((x + 3) * (1.0f / 6)); }
Floats LeakyRelu(Floats x, UnaryParameters p) { return x < 0 ? p.a * x : x; }
Floats Softplus(Floats x) { return Positive(x) + LogOf1Plus(Exp(-Abs(x))); }
// tanh(log(1 + e^x)) in terms of e^x; where its square would be too large, it is 1.
Floats Mish(Floats x) {
  const Floats power = Exp(x > 20.0f ? Splat(20) : x);
  const Floats part = power * (power + 2);
  return x * (part / (part + 2));
}
Floats Selu(Floats x, UnaryParameters p) { return p.b * (x > 0 ? x : p.a * ExpMinus1(x)); }
Floats Shrink(Floats x, UnaryParameters p) { return x < -p.b ? x + p.a : x > p.b ? x - p.a : Floats{}; }
Floats Softsign(Floats x) { return x / (Abs(x) + 1); }
Floats ThresholdedRelu(Floats x, UnaryParameters p) { return x > p.a ? x : Floats{}; }

}  // namespace

const UnaryLoops kUnary = {
    .abs = Simple<Abs>,
    .ceil = Simple<Ceil>,
    .clip = WithParameters<Clip>,
    .exp = Simple<Exp>,
    .erf = Simple<Erf>,
    .floor = Simple<Floor>,
    .log = Simple<Log>,
    .negate = Simple<Negate>,
    .reciprocal = Simple<Reciprocal>,
    .round = Simple<RoundToEven>,
    .sign = Simple<Sign>,
    .sqrt = Simple<Sqrt>,
    .acos = Simple<Acos>,
    .acosh = Simple<Acosh>,
    .asin = Simple<Asin>,
    .asinh = Simple<Asinh>,
    .atan = Simple<Atan>,
    .atanh = Simple<Atanh>,
    .cos = Simple<Cos>,
    .cosh = Simple<Cosh>,
    .sin = Simple<Sin>,
    .sinh = Simple<Sinh>,
    .tan = Simple<Tan>,
    .power_half = Simple<PowerHalf>,
    .power_minus_half = Simple<PowerMinusHalf>,
    .square = Simple<Square>,
    .cube = Simple<Cube>,
    .celu = WithParameters<Celu>,
    .elu = WithParameters<Elu>,
    .gelu = Simple<Gelu>,
    .gelu_tanh = Simple<GeluTanh>,
    .hard_sigmoid = WithParameters<HardSigmoid>,
    .hard_swish = Simple<HardSwish>,
    .leaky_relu = WithParameters<LeakyRelu>,
    .mish = Simple<Mish>,
    .relu = Simple<Positive>,
    .selu = WithParameters<Selu>,
    .shrink = WithParameters<Shrink>,
    .sigmoid = Simple<Sigmoid>,
    .softplus = Simple<Softplus>,
    .softsign = Simple<Softsign>,
    .swish = WithParameters<Swish>,
    .tanh = Simple<Tanh>,
    .thresholded_relu = WithParameters<ThresholdedRelu>,
    .add = WithParameters<Plus>,
    .multiply = WithParameters<Times>,
};

}  // namespace amp::AMP_LOOPS_ISA
