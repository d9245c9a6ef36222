#include "tests/runtime/cpu/library_case.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/reference/reference_kernels.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

std::string NameOf(size_t input) { return std::string(1, static_cast<char>('a' + input)); }
std::string TypeName(DType dtype) { return dtype == DType::kFloat32 ? "float" : std::string(DTypeName(dtype)); }

DType TypeOfOutputs(const LibraryCase& each, DType dtype) {
  return each.gives == DType::kUndefined ? dtype : each.gives;
}

// "float[a0,a1] a": of any size; "float a" for a scalar.
std::string Declaration(const std::string& name, DType dtype, size_t rank) {
  std::vector<std::string> dims;
  for (size_t axis = 0; axis < rank; ++axis) dims.push_back(absl::StrCat(name, axis));
  return absl::StrCat(TypeName(dtype), rank == 0 ? "" : absl::StrCat("[", absl::StrJoin(dims, ","), "]"), " ", name);
}

SessionText TextOf(const LibraryCase& each, DType dtype) {
  SessionText result;
  std::vector<std::string> inputs, outputs;
  for (size_t i = 0; i < each.inputs.size(); ++i) {
    const std::string name = NameOf(i);
    const bool is_overridable = absl::StrContains(each.overridable, name);
    const bool is_constant = is_overridable || absl::StrContains(each.constants, name);
    if (is_constant) {
      result.constants.emplace_back(name, RandomTensor(dtype, each.inputs[i], Values::kPlain, each.scale));
    }
    if (!is_constant || is_overridable) inputs.push_back(Declaration(name, dtype, each.inputs[i].size()));
  }
  for (size_t i = 0; i < each.outputs; ++i)
    outputs.push_back(absl::StrCat(TypeName(TypeOfOutputs(each, dtype)), "[] ", std::string(1, "yzv"[i])));
  result.text = absl::StrCat("<ir_version: 10, opset_import: [\"\" : ", each.opset,
                             ", \"com.microsoft\" : 1, \"ai.amp\" : 1]> g (", absl::StrJoin(inputs, ", "), ") => (",
                             absl::StrJoin(outputs, ", "), ") {", each.node, "}");
  return result;
}

// Sums of products in float32, or of products of bfloat16 numbers, rounded once.
double ToleranceOf(DType dtype) { return 1e-5 + 2 * LastPlace(dtype); }

}  // namespace

NamedDatums RandomInputs(const LibraryCase& each, DType dtype, bool overrides) {
  NamedDatums inputs;
  for (size_t i = 0; i < each.inputs.size(); ++i) {
    const std::string name = NameOf(i);
    if (absl::StrContains(each.constants, name)) continue;
    if (absl::StrContains(each.overridable, name) && !overrides) continue;
    inputs[name] = RandomTensor(dtype, each.inputs[i], Values::kPlain, each.scale);
  }
  return inputs;
}

TwoSessions::TwoSessions(const LibraryCase& each, DType dtype) : gives_(TypeOfOutputs(each, dtype)) {
  const SessionText text = TextOf(each, dtype);
  library_ = MakeSession(text, {.limits = {}, .find_kernels = each.find});
  reference_ = MakeSession(text, OneByOne({.limits = {}, .find_kernels = FindReferenceKernels}));
}

std::string TwoSessions::Run(const NamedDatums& inputs) const {
  const auto found = TryToRun(*library_, inputs), expected = TryToRun(*reference_, inputs);
  if (!found.ok() || !expected.ok()) {
    return found.status().message() == expected.status().message()
               ? absl::StrCat("both: ", found.status().message())
               : absl::StrCat("found ", found.status().ToString(), ", expected ", expected.status().ToString());
  }
  std::string difference = DifferenceOf(*found, *expected, ToleranceOf(gives_));
  if (!difference.empty()) return difference;
  return KernelsOf(*library_)[0].substr(0, KernelsOf(*library_)[0].find(' '));
}

std::string Family(const LibraryCase& each, DType dtype) {
  const TwoSessions sessions(each, dtype);
  const NamedDatums inputs = RandomInputs(each, dtype);
  const std::string first = sessions.Run(inputs), second = sessions.Run(inputs);
  return first == second ? first : absl::StrCat("first ", first, ", then ", second);
}

std::string Families(const LibraryCase& each) {
  std::string result;
  for (const DType dtype : kFloats) {
    const std::string family = Family(each, dtype);
    if (result.empty() || family != "onednn") result = family;
    if (family != "onednn") return absl::StrCat(DTypeName(dtype), ": ", family);
  }
  return result;
}

}  // namespace amp
