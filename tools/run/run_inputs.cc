#include "tools/run/run_inputs.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"
#include "ir/graph/shape.h"
#include "ir/graph/tensor_content.h"
#include "runtime/kernel/doubles.h"
#include "runtime/kernel/make_datum.h"
#include "runtime/values/compare_values.h"
#include "runtime/values/npy.h"
#include "tools/library/assemble_inputs.h"
#include "tools/library/made_up_inputs.h"
#include "tools/library/sample_inputs.h"
#include "tools/program/read_whole_file.h"
#include "tools/run/given_inputs.h"

namespace amp {
namespace {

// The name of a pipe, or of /dev/stdin before a file, does not tell: an array is expected there.
bool HoldsArray(const std::string& path) {
  return absl::EndsWith(path, ".npy") || absl::StartsWith(path, "/dev/") || IsPipe(path);
}

absl::StatusOr<Datum> ReadDatum(const std::string& path, const Session& session, ValueId input) {
  const bool is_npy = HoldsArray(path);
  if (!is_npy && !absl::EndsWith(path, ".pb")) return UsageError("expected a file .npy or .pb, found another ending");
  AMP_ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(path));
  if (!is_npy) {
    AMP_ASSIGN_OR_RETURN(const DatumContent content, ParseDatum(bytes, session.model(), input));
    return MakeDatum(content);
  }
  AMP_ASSIGN_OR_RETURN(Tensor tensor, ParseNpy(bytes));
  return Datum(std::move(tensor));
}

constexpr char kHowToGive[] = "--input NAME=FILE";

RandomInputOptions HowToMakeUp(const RunArguments& arguments, NamedDatums given) {
  return {.seed = *arguments.random_seed, .dims = arguments.dims, .given = std::move(given)};
}

absl::StatusOr<ValueId> FindInput(const Session& session, const std::string& name) {
  const std::optional<ValueId> input = InputOfArray(session, name);
  if (!input.has_value()) {
    return UsageError("--input: '", Escaped(name), "' is no input of the model, which has ",
                      QuotedFirstOf(session.InputNames()));
  }
  return *input;
}

// The inputs that files give, which are not made up.
absl::StatusOr<NamedDatums> ReadFiles(const RunArguments& arguments, const Session& session) {
  NamedTensors arrays;
  NamedDatums whole;
  if (!arguments.inputs.empty()) {
    AMP_ASSIGN_OR_RETURN(arrays, ReadSampleArrays(arguments.inputs, session));
  }
  for (const auto& [name, path] : arguments.input_files) {
    AMP_ASSIGN_OR_RETURN(const ValueId input, FindInput(session, name));
    const bool is_part = session.model().value(input).name != name;
    if (is_part && !HoldsArray(path)) {
      return InFile(Escaped(path), UsageError("expected a file .npy for '", Escaped(name), "', found another ending"));
    }
    absl::StatusOr<Datum> datum = ReadDatum(path, session, input);
    if (!datum.ok()) return InFile(Escaped(path), datum.status());
    if (const Tensor* const tensor = datum->tensor(); tensor != nullptr) {
      arrays.emplace_back(name, *tensor);
    } else {
      whole.insert_or_assign(name, *std::move(datum));
    }
  }
  absl::StatusOr<NamedDatums> inputs = AssembleInputs(session, std::move(arrays));
  if (!inputs.ok()) return arguments.inputs.empty() ? inputs : InFile(Escaped(arguments.inputs), inputs.status());
  for (auto& [name, datum] : whole) inputs->insert_or_assign(name, std::move(datum));
  return inputs;
}

// "x float32[n,2], ids int64[n]"
std::string InputsText(const Session& session) {
  constexpr size_t kShown = 10;
  std::vector<std::string> texts;
  for (const ValueId input : session.inputs()) {
    if (texts.size() == kShown) break;
    texts.push_back(absl::StrCat(Escaped(session.model().value(input).name), " ", TypeText(session.model(), input)));
  }
  const size_t more = session.inputs().size() - texts.size();
  return absl::StrCat(absl::StrJoin(texts, ", "), more == 0 ? "" : absl::StrCat(" and ", more, " more"));
}

}  // namespace

absl::StatusOr<NamedDatums> ReadGivenInputs(const RunArguments& arguments, const Session& session,
                                            std::vector<std::string>& notes) {
  AMP_ASSIGN_OR_RETURN(NamedDatums inputs, ReadFiles(arguments, session));
  const NumberCasts cast = arguments.cast_inputs ? NumberCasts::kDone : NumberCasts::kRefused;
  AMP_ASSIGN_OR_RETURN(const std::vector<std::string> casts, CastInputs(session, cast, inputs));
  AMP_RETURN_IF_ERROR(CheckSymbols(session, inputs));
  if (!casts.empty()) notes.push_back(absl::StrCat("inputs are cast: ", absl::StrJoin(casts, ", ")));
  return inputs;
}

absl::StatusOr<NamedDatums> MakeUpOthers(const RunArguments& arguments, const Session& session,
                                         const NamedDatums& given, std::vector<std::string>& notes) {
  if (!arguments.random_seed.has_value()) {
    if (!given.empty() || session.inputs().empty()) return given;
    return UsageError("expected --random-inputs, --inputs FILE.npz or --input NAME=FILE for ", InputsText(session));
  }
  const RandomInputOptions how = HowToMakeUp(arguments, given);
  AMP_ASSIGN_OR_RETURN(MadeUpInputs made_up, MakeFittingInputs(session, how));
  if (made_up.other_dim != MadeUpInputs::kUsualDim) {
    notes.push_back(absl::StrCat("unknown dimensions of made-up inputs are ", made_up.other_dim,
                                 ", as the model takes none of ", MadeUpInputs::kUsualDim, "; ",
                                 HowToSize(session, how), " sizes them"));
  }
  return std::move(made_up.inputs);
}

absl::Status ExplainRun(const absl::Status& status, const RunArguments& arguments, const Session& session,
                        const NamedDatums& given) {
  // An error of another model is not about these inputs.
  const bool may_be_inputs = arguments.random_seed.has_value() && !NamesAFile(status);
  return may_be_inputs ? ExplainMadeUp(status, session, HowToMakeUp(arguments, given), kHowToGive) : status;
}

absl::StatusOr<NamedDatums> InputsAsDeclared(const NamedDatums& inputs, const Session& session) {
  const auto is_float = [](DType dtype) { return VisitFloats(dtype, [](auto) {}); };
  const auto& names = session.model().graph(kMainGraph).names;
  NamedDatums result = inputs;
  for (auto& [name, datum] : result) {
    const auto it = names.find(name);
    const DType declared = it == names.end() ? DType::kUndefined : session.model().value(it->second).dtype;
    const Tensor* given = datum.tensor();
    if (given == nullptr || given->dtype() == declared || !is_float(given->dtype()) || !is_float(declared)) continue;
    AMP_ASSIGN_OR_RETURN(Tensor converted, Tensor::Create(declared, given->dims()));
    AMP_RETURN_IF_ERROR(WriteDoubles(AsDoubles(*given), converted));
    datum = Datum(std::move(converted));
  }
  return result;
}

}  // namespace amp
