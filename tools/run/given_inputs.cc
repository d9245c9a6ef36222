#include "tools/run/given_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"
#include "ir/graph/shape.h"
#include "runtime/kernel/doubles.h"
#include "runtime/kernel/element.h"
#include "runtime/values/compare_values.h"

namespace amp {
namespace {

bool IsFloat(DType dtype) {
  return VisitFloats(dtype, [](auto) {});
}
bool IsInteger(DType dtype) {
  return VisitIntegers(dtype, [](auto) {});
}

// Below what is `whole` for both: a sign and the magnitude tell any integer of 64 bits.
struct WholeNumber {
  bool is_negative = false;
  uint64_t magnitude = 0;
};

template <typename T>
WholeNumber AsWholeNumber(T value) {
  if (value >= T{0}) return {false, static_cast<uint64_t>(value)};
  return {true, uint64_t{0} - static_cast<uint64_t>(static_cast<int64_t>(value))};
}

template <typename T>
bool Holds(WholeNumber number) {
  if (!number.is_negative) return number.magnitude <= static_cast<uint64_t>(std::numeric_limits<T>::max());
  return std::numeric_limits<T>::is_signed &&
         number.magnitude <= static_cast<uint64_t>(std::numeric_limits<T>::max()) + 1;
}

std::string Text(WholeNumber number) { return absl::StrCat(number.is_negative ? "-" : "", number.magnitude); }

absl::StatusOr<Tensor> CastIntegers(const Tensor& given, DType declared) {
  AMP_ASSIGN_OR_RETURN(Tensor converted, Tensor::Create(declared, given.dims()));
  absl::Status status;
  VisitIntegers(given.dtype(), [&]<typename From>(TypeTag<From>) {
    VisitIntegers(declared, [&]<typename To>(TypeTag<To>) {
      auto out = converted.mutable_elements<To>().begin();
      for (const From element : given.elements<From>()) {
        const WholeNumber number = AsWholeNumber(element);
        if (!Holds<To>(number) && status.ok()) {
          status =
              UsageError("--cast-inputs: expected numbers that ", DTypeName(declared), " holds, found ", Text(number));
        }
        *out++ = static_cast<To>(element);  // NOLINT(bugprone-signed-char-misuse): int8 is a number
      }
    });
  });
  AMP_RETURN_IF_ERROR(status);
  return converted;
}

absl::StatusOr<Tensor> Cast(const Tensor& given, DType declared) {
  if (IsInteger(declared)) return CastIntegers(given, declared);
  AMP_ASSIGN_OR_RETURN(Tensor converted, Tensor::Create(declared, given.dims()));
  const std::vector<double> numbers = AsDoubles(given);
  AMP_RETURN_IF_ERROR(WriteDoubles(numbers, converted));
  const std::vector<double> results = AsDoubles(converted);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (std::isfinite(numbers[i]) == std::isfinite(results[i])) continue;
    return UsageError("--cast-inputs: expected numbers that ", DTypeName(declared), " holds, found ", numbers[i]);
  }
  return converted;
}

// Whole numbers where the model declares fractions, or the other way round: what they mean is for the caller to say.
bool IsOtherKind(DType from, DType to) { return (IsInteger(from) && IsFloat(to)) || (IsFloat(from) && IsInteger(to)); }

bool CanCast(DType from, DType to) {
  return from != to && ((IsFloat(from) && IsFloat(to)) || (IsInteger(from) && IsInteger(to)));
}

bool IsName(const std::string& symbol) {
  static constexpr absl::string_view kNone[] = {"", "?", "-1", "any", "dynamic", "none", "unk", "unknown"};
  return !absl::c_linear_search(kNone, absl::AsciiStrToLower(symbol));
}

struct Sized {
  std::string input;
  size_t axis = 0;
  int64_t size = 0;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> CastInputs(const Session& session, NumberCasts casts, NamedDatums& inputs) {
  std::vector<std::string> done;
  const auto& names = session.model().graph(kMainGraph).names;
  for (auto& [name, datum] : inputs) {
    const Tensor* const given = datum.tensor();
    const ValueId input = names.at(name);
    const DType declared = session.model().value(input).dtype;
    if (given == nullptr || !session.model().value(input).is_tensor) continue;
    const std::string place = absl::StrCat("input '", Escaped(name), "': ");
    if (IsOtherKind(given->dtype(), declared)) {
      return UsageError(place, "expected ", TypeText(session.model(), input), ", found ", given->TypeText(),
                        "; --cast-inputs casts floats to floats and integers to integers alone; in NumPy, "
                        "array.astype casts others");
    }
    if (!CanCast(given->dtype(), declared)) continue;
    if (casts == NumberCasts::kRefused) {
      return UsageError(place, "expected ", TypeText(session.model(), input), ", found ", given->TypeText(),
                        "; --cast-inputs casts it");
    }
    absl::StatusOr<Tensor> converted = Cast(*given, declared);
    if (!converted.ok())
      return absl::Status(converted.status().code(), place + std::string(converted.status().message()));
    done.push_back(absl::StrCat(Escaped(name), " (", DTypeName(given->dtype()), " to ", DTypeName(declared), ")"));
    datum = Datum(*std::move(converted));
  }
  std::sort(done.begin(), done.end());
  return done;
}

absl::Status CheckSymbols(const Session& session, const NamedDatums& inputs) {
  std::map<std::string, Sized> sizes;
  for (const ValueId input : session.model().graph(kMainGraph).inputs) {
    const std::string& name = session.model().value(input).name;
    const auto given = inputs.find(name);
    const Tensor* const tensor = given == inputs.end() ? nullptr : given->second.tensor();
    const std::vector<std::string> symbols = DimSymbols(session.model(), input);
    if (tensor == nullptr || symbols.size() != tensor->rank()) continue;
    for (size_t axis = 0; axis < symbols.size(); ++axis) {
      if (!IsName(symbols[axis])) continue;
      const int64_t size = tensor->dims()[axis];
      const Sized& first = sizes.emplace(symbols[axis], Sized{name, axis, size}).first->second;
      if (first.size == size) continue;
      return UsageError("dimension '", Escaped(symbols[axis]), "': expected one size, found ", first.size, " (axis ",
                        first.axis, " of input '", Escaped(first.input), "') and ", size, " (axis ", axis,
                        " of input '", Escaped(name), "')");
    }
  }
  return absl::OkStatus();
}

}  // namespace amp
