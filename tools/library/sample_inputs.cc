#include "tools/library/sample_inputs.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/doubles.h"
#include "runtime/values/compare_values.h"
#include "runtime/values/npy.h"
#include "tools/library/assemble_inputs.h"

namespace amp {

namespace {

constexpr absl::string_view kOutputPrefix = "out::", kInputPrefix = "in::";

// The input that an array is of, or the part of one, without the prefix. Errors: kInvalidArgument where there is none.
absl::StatusOr<std::string> NameInInput(const Session& session, const std::string& name) {
  const auto& names = session.model().graph(kMainGraph).names;
  std::string input(names.contains(name) ? name : absl::StripPrefix(name, kInputPrefix));
  if (!InputOfArray(session, input).has_value()) {
    return UsageError("array '", Escaped(name), "' is named after no input of the model, which has ",
                      QuotedFirstOf(session.InputNames()));
  }
  return input;
}

// All but outputs; of several arrays of one name the last one.
absl::StatusOr<std::vector<bool>> ChooseInputs(const Session& session, const std::vector<std::string>& names) {
  std::vector<bool> is_wanted(names.size(), false);
  absl::flat_hash_map<std::string, size_t> last;
  for (size_t i = 0; i < names.size(); ++i) {
    if (absl::StartsWith(names[i], kOutputPrefix)) continue;
    AMP_ASSIGN_OR_RETURN(const std::string input, NameInInput(session, names[i]));
    last[input] = i;
  }
  for (const auto& [unused, i] : last) is_wanted[i] = true;
  return is_wanted;
}

}  // namespace

absl::StatusOr<NamedTensors> ReadSampleArrays(const std::string& path, const Session& session) {
  if (absl::EndsWith(path, ".npy")) {
    return InFile(Escaped(path), UsageError("expected an archive of arrays (.npz), found one array (.npy); in NumPy, "
                                            "numpy.savez('sample.npz', NAME=array) makes an archive"));
  }
  absl::StatusOr<NamedTensors> arrays =
      ReadNpz(path, [&](const std::vector<std::string>& names) { return ChooseInputs(session, names); });
  if (!arrays.ok()) return InFile(Escaped(path), arrays.status());
  NamedTensors sample;
  for (auto& [name, tensor] : *arrays) {
    AMP_ASSIGN_OR_RETURN(const std::string input, NameInInput(session, name));
    sample.emplace_back(input, std::move(tensor));
  }
  return sample;
}

absl::StatusOr<NamedDatums> ReadSample(const std::string& path, const Session& session) {
  AMP_ASSIGN_OR_RETURN(NamedTensors arrays, ReadSampleArrays(path, session));
  absl::StatusOr<NamedDatums> sample = AssembleInputs(session, std::move(arrays));
  if (!sample.ok()) return InFile(Escaped(path), sample.status());
  return sample;
}

NamedDatums InputsFor(const Session& session, NamedDatums sample) {
  for (const ValueId id : session.inputs()) {
    const Value& input = session.model().value(id);
    const auto given = sample.find(input.name);
    const Tensor* const tensor = given == sample.end() ? nullptr : given->second.tensor();
    if (tensor == nullptr || tensor->dtype() != DType::kFloat32 || !IsLowFloat(input.dtype)) continue;
    absl::StatusOr<Tensor> narrowed = Tensor::Create(input.dtype, tensor->dims());
    if (narrowed.ok() && WriteDoubles(AsDoubles(*tensor), *narrowed).ok()) given->second = *std::move(narrowed);
  }
  return sample;
}

}  // namespace amp
