// Runs small bfloat16 models whose products and convolutions AMX computes, and compares the results with those of the
// reference kernels.
//
//   run_amx_models        prints a line for each node, as amp-run --explain does, and under the emulator the number of
//                         tile multiplies of each model; fails where a product or convolution has no AMX kernel, no
//                         tile is multiplied, or a result is off
//   run_amx_models --without-onednn   runs without oneDNN's kernels, so that all models fail
#include <dlfcn.h>

#include <cmath>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/doubles.h"
#include "runtime/plan/program.h"
#include "runtime/random_inputs.h"
#include "runtime/reference/reference_kernels.h"
#include "runtime/session.h"
#include "tests/runtime/library_kernels_first.h"
#include "tests/runtime/session_text.h"
#include "tools/run/explain_run.h"

namespace amp {
namespace {

struct AmxModel {
  std::string name, inputs, output, nodes;  // x is an input, the others become constants
};

const std::vector<AmxModel>& Models() {
  static const auto& models = *new std::vector<AmxModel>{
      {"MatMul", "bfloat16[37,70] x, bfloat16[70,50] w", "bfloat16[37,50]", "y = MatMul (x, w)"},
      {"a batch of MatMul", "bfloat16[3,20,64] x, bfloat16[3,64,48] w", "bfloat16[3,20,48]", "y = MatMul (x, w)"},
      {"Gemm", "bfloat16[33,64] x, bfloat16[40,64] w, bfloat16[40] b", "bfloat16[33,40]",
       "h = Gemm <transB = 1> (x, w, b) y = Relu (h)"},
      {"Conv 1x1", "bfloat16[2,64,7,7] x, bfloat16[48,64,1,1] w", "bfloat16[2,48,7,7]", "y = Conv (x, w)"},
      {"Conv 3x3", "bfloat16[1,32,9,9] x, bfloat16[64,32,3,3] w, bfloat16[64] b", "bfloat16[1,64,9,9]",
       "y = Conv <pads = [1, 1, 1, 1]> (x, w, b)"},
      {"Conv with strides", "bfloat16[1,32,11,11] x, bfloat16[64,32,3,3] w", "bfloat16[1,64,5,5]",
       "y = Conv <strides = [2, 2]> (x, w)"},
      {"a small network",
       "bfloat16[1,16,12,12] x, bfloat16[32,16,3,3] w, bfloat16[32] b, bfloat16[32,32,1,1] v, bfloat16[1152,64] u, "
       "bfloat16[64] c",
       "bfloat16[1,64]",
       "h1 = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w, b) h2 = Relu (h1) h3 = Conv (h2, v) h4 = Add (h3, h2) "
       "h5 = Relu (h4) h6 = Flatten (h5) h7 = MatMul (h6, u) y = Add (h7, c)"}};
  return models;
}

SessionText TextOf(const AmxModel& model) {
  return {.text = absl::StrCat("<ir_version: 10, opset_import: [\"\" : 22]> g (", model.inputs, ") => (", model.output,
                               " y) {", model.nodes, "}"),
          .constants = {}};
}

// The relative L2 error that roundings to bfloat16 on the way explain.
constexpr double kTolerance = 1.5e-2;

double ErrorOf(const Tensor& found, const Tensor& expected) {
  const std::vector<double> a = *ReadDoubles(found), b = *ReadDoubles(expected);
  double error = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    error += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(error / size);
}

// Returns the first product, convolution or other node of oneDNN's that AMX does not compute, as
// "MatMul-13 by loops avx512", or "" if there is none.
std::string NodeWithoutAmx(const Model& model, const std::vector<Instruction>& instructions) {
  for (const Instruction& instruction : instructions) {
    const std::string kernel = KernelText(instruction);
    const bool ran_in_parts = !instruction.unfused.empty() && kernel == "not run";
    const bool wants_amx = model.node(instruction.node).Has(Role::kHeavy) || absl::StartsWith(kernel, "onednn");
    if (!ran_in_parts && wants_amx && !absl::StrContains(kernel, "amx")) {
      return absl::StrCat(OperatorText(model, instruction.node), " by ", kernel);
    }
    std::string inside = ran_in_parts ? NodeWithoutAmx(model, instruction.unfused) : "";
    if (!inside.empty()) return inside;
  }
  return "";
}

std::string NodeWithoutAmx(const Session& session) {
  for (const auto& block : session.program().blocks) {
    std::string found = NodeWithoutAmx(session.model(), block);
    if (!found.empty()) return found;
  }
  return "";
}

// Returns the number of tile multiplies that the emulator has counted so far, or nothing where the processor multiplies
// the tiles.
std::optional<int64_t> TileMultiplies() {
  using Function = int64_t (*)();
  static const auto count = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, "AmxEmulatorTileMultiplies"));
  if (count == nullptr) return std::nullopt;
  return count();
}

absl::Status RunModel(const AmxModel& model, FindKernels find) {
  SessionText text = TextOf(model);
  const SessionOptions with_reference = OneByOne({.limits = {}, .find_kernels = FindReferenceKernels});
  AMP_ASSIGN_OR_RETURN(const auto reference, CreateSession(text, with_reference));
  AMP_ASSIGN_OR_RETURN(NamedDatums inputs, MakeRandomInputs(*reference, {}));
  AMP_ASSIGN_OR_RETURN(const std::vector<Datum> expected, reference->Run(inputs));
  for (const ValueId input : reference->inputs()) {
    const std::string& name = reference->model().value(input).name;
    if (name != "x") text.constants.emplace_back(name, *inputs[name].tensor());
  }
  AMP_ASSIGN_OR_RETURN(const auto session, CreateSession(text, {.limits = {}, .find_kernels = find}));
  const std::optional<int64_t> multiplies_before = TileMultiplies();
  for (int run = 0; run < 2; ++run) {
    AMP_ASSIGN_OR_RETURN(const std::vector<Datum> found, session->Run(inputs));
    const double error = ErrorOf(*found[0].tensor(), *expected[0].tensor());
    if (run == 0) std::cout << model.name << ": relative L2 error " << error << "\n" << ExplainRun(*session);
    if (!(error <= kTolerance)) return ModelError("expected a relative error of at most ", kTolerance);
  }
  const std::string other = NodeWithoutAmx(*session);
  if (!other.empty()) return ModelError("expected AMX, found ", other);
  if (!multiplies_before.has_value()) return absl::OkStatus();
  const int64_t multiplies = *TileMultiplies() - *multiplies_before;
  std::cout << model.name << ": " << multiplies << " tile multiplies\n";
  return multiplies > 0 ? absl::OkStatus() : ModelError("expected tile multiplies, found none");
}

int Main(bool has_onednn) {
  int failures = 0;
  for (const AmxModel& model : Models()) {
    // Products of a few rows have other kernels, which come first where they may.
    const absl::Status status = RunModel(model, has_onednn ? FindLibraryKernelsFirst : FindReferenceKernels);
    if (status.ok()) continue;
    std::cout << "FAIL " << model.name << ": " << status.message() << "\n";
    ++failures;
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace amp

int main(int argc, char** argv) {
  const bool has_onednn = argc < 2 || std::string(argv[1]) != "--without-onednn";
  return amp::Main(has_onednn);
}
