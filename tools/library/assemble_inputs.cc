#include "tools/library/assemble_inputs.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"
#include "ir/graph/value_form.h"

namespace amp {
namespace {

using Parts = std::map<std::string, Tensor>;  // by the whole name of the array

// Takes the parts of one value out of the arrays.
class Assembler {
 public:
  explicit Assembler(Parts parts) : parts_(std::move(parts)) {}

  absl::StatusOr<Datum> Make(const ValueForm& form, const std::string& name) {
    switch (form.kind) {
      case ValueForm::Kind::kSequence:
        return MakeSequence(form.element[0], name);
      case ValueForm::Kind::kMap:
        return MakeMap(name);
      case ValueForm::Kind::kTensor:
      case ValueForm::Kind::kUnknown: {
        AMP_ASSIGN_OR_RETURN(Tensor tensor, Take(name));
        return Datum(std::move(tensor));
      }
    }
    return absl::InternalError("no such form of a value");
  }

  // Errors: an array that nothing was made of.
  absl::Status ExpectNoneLeft(const std::string& input) const {
    if (parts_.empty()) return absl::OkStatus();
    return UsageError("input '", Escaped(input), "': array '", Escaped(parts_.begin()->first),
                      "' has no place in it: a sequence has ", Escaped(input), "/0, ", Escaped(input),
                      "/1 and so on without a gap, a map ", Escaped(input), "/keys and ", Escaped(input), "/values");
  }

 private:
  bool Has(const std::string& name) const {
    const auto it = parts_.lower_bound(name);
    if (it != parts_.end() && it->first == name) return true;
    const std::string below = name + "/";
    const auto first = parts_.lower_bound(below);
    return first != parts_.end() && absl::StartsWith(first->first, below);
  }

  bool StandsForNoElement(const std::string& name) const {
    const auto it = parts_.find(name);
    return it != parts_.end() && it->second.dims() == Dims{0};
  }

  absl::StatusOr<Tensor> Take(const std::string& name) {
    auto part = parts_.extract(name);
    if (part.empty()) return UsageError("expected an array '", Escaped(name), "', found none");
    return std::move(part.mapped());
  }

  absl::StatusOr<Datum> MakeSequence(const ValueForm& element, const std::string& name) {
    Sequence sequence;
    if (StandsForNoElement(name)) {
      parts_.erase(name);
      return Datum(std::move(sequence));
    }
    for (size_t i = 0; Has(absl::StrCat(name, "/", i)); ++i) {
      AMP_ASSIGN_OR_RETURN(sequence.elements.emplace_back(), Make(element, absl::StrCat(name, "/", i)));
    }
    return Datum(std::move(sequence));
  }

  absl::StatusOr<Datum> MakeMap(const std::string& name) {
    Map map;
    AMP_ASSIGN_OR_RETURN(map.keys, Take(name + "/keys"));
    AMP_ASSIGN_OR_RETURN(map.values, Take(name + "/values"));
    const bool fits = map.keys.rank() == 1 && map.values.rank() == 1 && map.keys.dim(0) == map.values.dim(0);
    if (!fits) {
      return UsageError("expected keys and values of one length in '", Escaped(name), "', found ", map.keys.TypeText(),
                        " and ", map.values.TypeText());
    }
    return Datum(std::move(map));
  }

  Parts parts_;
};

std::optional<ValueId> FindInput(const Session& session, absl::string_view name) {
  const auto& names = session.model().graph(kMainGraph).names;
  const auto it = names.find(std::string(name));
  if (it == names.end() || !session.model().value(it->second).is_graph_input) return std::nullopt;
  return it->second;
}

}  // namespace

std::optional<ValueId> InputOfArray(const Session& session, absl::string_view array) {
  if (const auto input = FindInput(session, array)) return input;
  for (size_t end = array.rfind('/'); end != absl::string_view::npos && end > 0; end = array.rfind('/', end - 1)) {
    const auto input = FindInput(session, array.substr(0, end));
    const bool has_parts = input.has_value() && !session.model().value(*input).is_tensor;
    if (has_parts) return input;
  }
  return std::nullopt;
}

absl::StatusOr<NamedDatums> AssembleInputs(const Session& session, NamedTensors arrays) {
  std::map<ValueId, Parts> parts;
  NamedTensors own = std::move(arrays);
  for (auto& [name, tensor] : own) parts[*InputOfArray(session, name)].insert_or_assign(name, std::move(tensor));
  NamedDatums inputs;
  for (auto& [input, of_input] : parts) {
    const std::string& name = session.model().value(input).name;
    const auto whole = of_input.find(name);
    const ValueForm form = FormOf(session.model(), input);
    const bool is_empty =
        form.kind == ValueForm::Kind::kSequence && whole != of_input.end() && whole->second.dims() == Dims{0};
    const bool is_whole = whole != of_input.end() && !is_empty;  // a run says whether a tensor is what it takes
    Assembler assembler(std::move(of_input));
    AMP_ASSIGN_OR_RETURN(inputs[name], assembler.Make(is_whole ? ValueForm() : form, name));
    AMP_RETURN_IF_ERROR(assembler.ExpectNoneLeft(name));
  }
  return inputs;
}

}  // namespace amp
