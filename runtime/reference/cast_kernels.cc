// Cast, CastLike and Identity.
//
// Between numbers, convert_element.h decides. Between numbers and strings:
//
//   float32 0.1, 3, 1e20   ->  "0.1", "3.0", "1e+20"     the fewest digits that mean this number in its type
//   "1e-5", " 42", "-inf"  ->  whatever that number is in the other type
//   "forty-two"            ->  an error
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "runtime/kernel/no_kernel_error.h"
#include "runtime/reference/convert_element.h"
#include "runtime/reference/elementwise.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

// ---- numbers ------------------------------------------------------------------------------------------------------

constexpr size_t kChunk = 1024;

// Chunk by chunk through the wide form of the source's type, so that there is one loop per type, not per two types.
template <typename From>
absl::Status ConvertFrom(const Tensor& x, Tensor& y, const ConvertRules& rules) {
  const auto in = x.elements<From>();
  std::array<WideType<From>, kChunk> buffer;
  for (size_t first = 0; first < in.size(); first += kChunk) {
    const absl::Span<WideType<From>> chunk(buffer.data(), std::min(kChunk, in.size() - first));
    std::transform(in.begin() + static_cast<ptrdiff_t>(first),
                   in.begin() + static_cast<ptrdiff_t>(first + chunk.size()), chunk.begin(),
                   [](From element) { return Widen(element); });
    const bool known = VisitConvertible(y.dtype(), [&]<typename To>(TypeTag<To>) {
      std::transform(chunk.begin(), chunk.end(), y.mutable_elements<To>().subspan(first).begin(),
                     [&rules](WideType<From> element) { return ConvertElement<To>(element, rules); });
    });
    if (!known) return NoKernelFor(y.dtype());
  }
  return absl::OkStatus();
}

absl::Status ConvertNumbers(const Tensor& x, Tensor& y, const ConvertRules& rules) {
  absl::Status status = NoKernelFor(x.dtype());
  VisitConvertible(x.dtype(), [&]<typename From>(TypeTag<From>) { status = ConvertFrom<From>(x, y, rules); });
  return status;
}

// ---- strings ------------------------------------------------------------------------------------------------------

// A number as scientific text with the fewest digits from which the same element comes back.
template <typename T>
std::string ShortestScientific(double number) {
  constexpr int kEnough = 17;
  for (int digits = 1; digits < kEnough; ++digits) {
    std::string text = absl::StrFormat("%.*e", digits - 1, number);
    double back = 0;
    if (absl::SimpleAtod(text, &back) && ToDouble(ConvertElement<T>(back)) == number) return text;
  }
  return absl::StrFormat("%.*e", kEnough - 1, number);
}

template <typename T>
std::string FloatText(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-INF" : "INF";
  if (number == 0) return std::signbit(number) ? "-0.0" : "0.0";
  std::string text = ShortestScientific<T>(number);
  const size_t mark = text.find('e');
  int exponent = 0;
  if (!absl::SimpleAtoi(text.substr(mark + 1), &exponent)) return text;
  if (exponent < -4 || exponent >= 16) return text;
  const size_t point = text.find('.');
  const int fraction_digits = point == std::string::npos ? 0 : static_cast<int>(mark - point) - 1;
  return absl::StrFormat("%.*f", std::max(fraction_digits - exponent, 1), number);
}

absl::Status WriteStrings(const Tensor& x, Tensor& y) {
  const auto out = y.mutable_elements<std::string>();
  const bool known = VisitConvertible(x.dtype(), [&]<typename T>(TypeTag<T>) {
    std::transform(x.elements<T>().begin(), x.elements<T>().end(), out.begin(), [](T element) -> std::string {
      if constexpr (std::is_same_v<T, bool>) {
        return element ? "True" : "False";
      } else if constexpr (kIsFloat<T>) {
        return FloatText<T>(ToDouble(element));
      } else {
        return absl::StrCat(Widen(element));
      }
    });
  });
  return known ? absl::OkStatus() : NoKernelFor(x.dtype());
}

// Text as a number of the wide form that suits T: an integer where it is one and T is no float.
template <typename T>
std::optional<T> ParseNumber(absl::string_view text, const ConvertRules& rules) {
  if constexpr (std::is_same_v<T, bool>) {
    if (absl::EqualsIgnoreCase(text, "true")) return true;
    if (absl::EqualsIgnoreCase(text, "false")) return false;
  }
  if constexpr (std::is_same_v<T, float>) {
    float number = 0;  // rounded once, not by way of float64
    return absl::SimpleAtof(text, &number) ? std::optional<float>(number) : std::nullopt;
  }
  if constexpr (!kIsFloat<T>) {
    int64_t integer = 0;
    if (absl::SimpleAtoi(text, &integer)) return ConvertElement<T>(integer, rules);
    uint64_t large = 0;
    if (absl::SimpleAtoi(text, &large)) return ConvertElement<T>(large, rules);
  }
  double number = 0;
  if (!absl::SimpleAtod(text, &number)) return std::nullopt;
  return ConvertElement<T>(number, rules);
}

absl::Status ReadStrings(const Tensor& x, Tensor& y, const ConvertRules& rules) {
  const auto texts = x.elements<std::string>();
  absl::Status status;
  const bool known = VisitConvertible(y.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto out = y.mutable_elements<T>();
    for (size_t i = 0; i < texts.size() && status.ok(); ++i) {
      const std::optional<T> number = ParseNumber<T>(texts[i], rules);
      if (!number.has_value()) {
        status = ModelError("element ", i, ": expected a number, found '", Escaped(texts[i]), "'");
      } else {
        out[i] = *number;
      }
    }
  });
  return known ? status : NoKernelFor(y.dtype());
}

// ---- operators ----------------------------------------------------------------------------------------------------

absl::StatusOr<ConvertRules> RulesOf(const Node& node) {
  ConvertRules rules;
  rules.saturate = GetInt(node, "saturate", 1) != 0;
  const std::string mode = GetString(node, "round_mode", "up");
  if (mode == "up") {
    rules.e8m0_round = ConvertRules::Round::kUp;
  } else if (mode == "down") {
    rules.e8m0_round = ConvertRules::Round::kDown;
  } else if (mode == "nearest") {
    rules.e8m0_round = ConvertRules::Round::kNearest;
  } else {
    return ModelError("expected round_mode up, down or nearest, found '", Escaped(mode), "'");
  }
  return rules;
}

absl::Status CastTo(KernelContext& context, DType to) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const ConvertRules rules, RulesOf(context.node()));
  if (x.dtype() == to) {
    context.SetOutput(0, x);
    return absl::OkStatus();
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, to, x.dims()));
  if (to == DType::kString) return WriteStrings(x, *y);
  if (x.dtype() == DType::kString) return ReadStrings(x, *y, rules);
  return ConvertNumbers(x, *y, rules);
}

// Opset 1 named the type, as the file format spells it.
std::optional<DType> ParseTypeOfOpset1(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  return lower == "double" ? DType::kFloat64 : ParseDType(lower);
}

absl::Status Cast(KernelContext& context) {
  const Node& node = context.node();
  const std::optional<DType> to = context.version() < 6 && GetString(node, "to").has_value()
                                      ? ParseTypeOfOpset1(GetString(node, "to", ""))
                                      : GetDType(node, "to");
  if (!to.has_value() || *to == DType::kUndefined) {
    return ModelError("expected an element type as the attribute to, found none");
  }
  return CastTo(context, *to);
}

absl::Status CastLike(KernelContext& context) { return CastTo(context, context.Input(1).dtype()); }

// Identity of tensors, sequences, maps and empty optionals alike.
absl::Status Identity(KernelContext& context) {
  context.SetOutput(0, context.InputDatum(0));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"Cast", Cast},
    {"CastLike", CastLike},
    {.op_type = "Identity", .function = Identity, .takes_channels_last = true, .host_inputs = {}},
};

}  // namespace

absl::Span<const KernelRow> CastKernels() { return kRows; }

}  // namespace amp
