// Runs models on a device and on the processor, with the same inputs, and prints how far the outputs are apart. Inputs
// are those of FOLDER/refs/NAME.npz beside FOLDER/NAME.onnx (arrays "in::NAME"), where there are any, else made up.
//
//   compare_devices [--device double|cuda] [--type T | --tolerance X] [--fused] [--all] [--explain] MODEL.onnx...
//   model.onnx     12 of 40 instructions on double, 3 copies in, 1 out, relative error 1.2e-07
//
// Device `double` is the test double, which computes as the kernels of a device do.
//
//   --type      the type of the models' values, float32, float16 or bfloat16; model_bounds.h has the tolerance for it
//   --fused     lets the device compute nodes together, as it does for users; the processor never does
//   --all       also runs convolutions on the double, which would take it minutes; device_kernels_test and
//               conformance_on_double test those anyway
//   --explain   prints which operators the processor ran, and why, but for arithmetic with shapes
//
// Exit code 1 where an output is off by more than the tolerance, or a model runs in one place alone; 2 where no model
// runs in both places.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "runtime/device/accelerator.h"
#include "runtime/device_run/find_kernels.h"
#include "runtime/random_inputs.h"
#include "runtime/session.h"
#include "runtime/values/compare_values.h"
#include "runtime/values/npy.h"
#include "tests/runtime/device/model_bounds.h"
#include "tests/runtime/device/named_device.h"

namespace amp {
namespace {

struct Arguments {
  std::string device = "double";
  DType type = DType::kFloat32;
  std::optional<double> tolerance;
  bool is_fused = false, is_all = false, explains = false;
  std::vector<std::string> models;
};

struct Counts {
  int on_device = 0, all = 0;
};

std::vector<const KernelRow*> FindAllButConvolutions(absl::string_view domain, absl::string_view op_type, int version) {
  std::vector<const KernelRow*> rows = FindAllKernelsAndDevices(domain, op_type, version);
  std::erase_if(rows,
                [](const KernelRow* row) { return row->runs_on_device && absl::StartsWith(row->op_type, "Conv"); });
  return rows;
}

int CountThatRan(const Session& session) {
  int count = 0;
  for (const auto& block : session.program().blocks) {
    for (const Instruction& instruction : block) {
      const absl::MutexLock lock(&instruction.site->mutex);
      if (instruction.site->row != nullptr) ++count;
    }
  }
  return count;
}

// How often an operator ran on the processor, by its name and the reason.
using Left = std::map<std::string, int>;

void AddLeft(const Model& model, const Instruction& instruction, Left& left) {
  for (const Instruction& part : instruction.unfused) AddLeft(model, part, left);
  if (instruction.why_on_host != nullptr) return;
  const absl::MutexLock lock(&instruction.site->mutex);
  const KernelRow* const row = instruction.site->row;
  const bool looks = row != nullptr && !row->runs_on_device && row->host_inputs.Has(0);
  if (looks) ++left[absl::StrCat(OperatorText(model, instruction.node), ": ", instruction.site->why_not_better)];
}

Left LeftToProcessor(const Session& session) {
  Left left;
  for (const auto& block : session.program().blocks) {
    for (const Instruction& instruction : block) AddLeft(session.model(), instruction, left);
  }
  return left;
}

struct Outcome {
  std::vector<Datum> outputs;
  Counts counts;
  CopyCounts copies;
  Left left;
};

absl::StatusOr<NamedDatums> InputsFor(const std::string& model, const Session& session) {
  const std::filesystem::path path = model;
  const std::filesystem::path file = path.parent_path() / "refs" / path.stem().concat(".npz");
  if (!std::filesystem::exists(file)) return MakeRandomInputs(session, {});
  constexpr absl::string_view kInput = "in::";
  AMP_ASSIGN_OR_RETURN(const NamedTensors arrays, ReadNpz(file.string()));
  NamedDatums inputs;
  for (const auto& [name, tensor] : arrays) {
    if (absl::StartsWith(name, kInput)) inputs[name.substr(kInput.size())] = tensor;
  }
  return inputs;
}

absl::StatusOr<Outcome> RunRepeatedly(const std::string& model, const SessionOptions& options) {
  AMP_ASSIGN_OR_RETURN(const auto session, Session::Create(model, options));
  AMP_ASSIGN_OR_RETURN(const NamedDatums inputs, InputsFor(model, *session));
  Outcome outcome;
  for (int run = 0; run < 3; ++run) {
    AMP_ASSIGN_OR_RETURN(outcome.outputs, session->Run(inputs));
  }
  outcome.counts = {.on_device = CountOnDevice(*session), .all = CountThatRan(*session)};
  outcome.copies = session->LastCopies();
  outcome.left = LeftToProcessor(*session);
  return outcome;
}

struct Tolerance {
  double most = 0;
  absl::string_view why;  // it is more than that of others
};

std::string Remark(const Tolerance& tolerance) {
  return tolerance.why.empty() ? "" : absl::StrCat("; may be ", tolerance.most, ": ", tolerance.why);
}

Tolerance ToleranceFor(const std::string& name, const Arguments& arguments) {
  if (arguments.tolerance.has_value()) return {*arguments.tolerance, ""};
  const ModelBound* const own = FindIllConditioned(name, arguments.type);
  return own == nullptr ? Tolerance{BoundOf(arguments.type), ""} : Tolerance{own->bound, own->why};
}

// Nothing to compare where the processor does not run it either.
enum class Verdict { kAgree, kDiffer, kNotRun };

Verdict Compare(const std::string& model, const std::shared_ptr<Accelerator>& device, const Arguments& arguments) {
  const std::string name = std::filesystem::path(model).filename().string();
  SessionOptions options;
  const absl::StatusOr<Outcome> expected = RunRepeatedly(model, OneByOne(options));
  options.device = device;
  if (device->name() == "double" && !arguments.is_all) options.find_kernels = FindAllButConvolutions;
  const absl::StatusOr<Outcome> found = RunRepeatedly(model, arguments.is_fused ? options : OneByOne(options));
  if (!expected.ok() || !found.ok()) {
    const bool both_fail = !expected.ok() && !found.ok();
    std::printf("%-34s %s: %s\n", name.c_str(), both_fail ? "not run" : "FAILED in one place alone",
                std::string((found.ok() ? expected : found).status().message()).c_str());
    return both_fail ? Verdict::kNotRun : Verdict::kDiffer;
  }
  const Tolerance tolerance = ToleranceFor(name, arguments);
  ValueDifference difference;
  for (size_t i = 0; i < expected->outputs.size(); ++i) {
    difference.Add(CompareValues(expected->outputs[i], found->outputs[i]));
  }
  const bool is_close =
      difference.new_non_finite == 0 && difference.unequal == 0 && difference.relative_error <= tolerance.most;
  const bool agree = difference.misfit.empty() && (is_close || tolerance.most == kAnything);
  std::printf("%-34s %4d of %4d instructions on %s, %2d copies in, %2d out, relative error %.2g%s%s%s\n", name.c_str(),
              found->counts.on_device, found->counts.all, device->name().c_str(), static_cast<int>(found->copies.in),
              static_cast<int>(found->copies.out), difference.relative_error, agree ? "" : " FAILED ",
              difference.misfit.c_str(), Remark(tolerance).c_str());
  if (arguments.explains) {
    for (const auto& [what, count] : found->left) std::printf("    %3d x %s\n", count, what.c_str());
  }
  return agree ? Verdict::kAgree : Verdict::kDiffer;
}

Arguments Parse(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(words[i], "--device") == 0 && i + 1 < count) {
      arguments.device = words[++i];
    } else if (std::strcmp(words[i], "--tolerance") == 0 && i + 1 < count) {
      arguments.tolerance = std::stod(words[++i]);
    } else if (std::strcmp(words[i], "--type") == 0 && i + 1 < count) {
      arguments.type = ParseDType(words[++i]).value_or(DType::kUndefined);
    } else if (std::strcmp(words[i], "--fused") == 0) {
      arguments.is_fused = true;
    } else if (std::strcmp(words[i], "--all") == 0) {
      arguments.is_all = true;
    } else if (std::strcmp(words[i], "--explain") == 0) {
      arguments.explains = true;
    } else {
      arguments.models.emplace_back(words[i]);
    }
  }
  return arguments;
}

int Run(const Arguments& arguments) {
  const absl::StatusOr<std::shared_ptr<Accelerator>> device = OpenNamedDevice(arguments.device);
  if (!device.ok() || *device == nullptr) {
    std::printf("no device: %s\n", std::string(device.status().message()).c_str());
    return device.ok() ? 2 : ExitCode(device.status());
  }
  int agree = 0, differ = 0;
  for (const std::string& model : arguments.models) {
    const Verdict verdict = Compare(model, *device, arguments);
    agree += verdict == Verdict::kAgree ? 1 : 0;
    differ += verdict == Verdict::kDiffer ? 1 : 0;
  }
  std::printf("%d models agree, %d differ, %d were not run\n", agree, differ,
              static_cast<int>(arguments.models.size()) - agree - differ);
  if (differ > 0) return 1;
  return agree > 0 ? 0 : 2;
}

}  // namespace
}  // namespace amp

int main(int count, char** words) { return amp::Run(amp::Parse(count, words)); }
