// Runs test cases that lie in folders as ONNX's own do, and compares what comes out with what should:
//
//   run_cases FOLDER [PATTERN] [--exceptions FILE] [--verbose] [--table] [--device double|cuda]
//
//   FOLDER/test_abs/model.onnx
//   FOLDER/test_abs/test_data_set_0/input_0.pb, output_0.pb
//
// Prints how many passed, failed and are not supported; with --table by operator, that of the model's only node; with a
// device, in how many its kernels ran. Fails when a case fails that the file of exceptions does not name
// ("test_name: why", one a line), and when one passes that it does name. Tolerances: relative 1e-3, absolute 1e-5, as
// ONNX's backend tests have them; integers, strings and truth values exactly.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"
#include "ir/graph/tensor_content.h"
#include "onnx/onnx_pb.h"
#include "runtime/device_run/use_device.h"
#include "runtime/kernel/make_datum.h"
#include "runtime/session.h"
#include "tests/runtime/device/named_device.h"

namespace amp {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

absl::Status Differ(const std::string& what) { return absl::FailedPreconditionError(what); }

template <typename T>
absl::Status CompareElements(absl::Span<const T> found, absl::Span<const T> expected) {
  for (size_t i = 0; i < found.size(); ++i) {
    const double a = ToDouble(found[i]), b = ToDouble(expected[i]);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (kIsFloat<T> && std::fabs(a - b) <= 1e-5 + 1e-3 * std::fabs(b)) continue;
    return Differ(absl::StrCat("element ", i, ": expected ", b, ", found ", a));
  }
  return absl::OkStatus();
}

absl::Status Compare(const Tensor& found, const Tensor& expected) {
  if (found.dtype() != expected.dtype() || found.dims() != expected.dims()) {
    return Differ(absl::StrCat("expected ", expected.TypeText(), ", found ", found.TypeText()));
  }
  if (found.dtype() == DType::kString) {
    return found.elements<std::string>() == expected.elements<std::string>() ? absl::OkStatus()
                                                                             : Differ("other strings");
  }
  absl::Status result;
  const auto compare = [&]<typename T>(TypeTag<T>) {
    result = CompareElements(found.elements<T>(), expected.elements<T>());
  };
  if (VisitNumbersAndBool(found.dtype(), compare) || VisitTinyTypes(found.dtype(), compare)) return result;
  if (found.dtype() == DType::kComplex64) {
    return CompareElements(found.Parts<float>(), expected.Parts<float>());
  }
  if (found.dtype() == DType::kComplex128) return CompareElements(found.Parts<double>(), expected.Parts<double>());
  return Differ("a type that is not compared");
}

absl::Status Compare(const Datum& found, const Datum& expected) {
  if (found.tensor() != nullptr && expected.tensor() != nullptr) return Compare(*found.tensor(), *expected.tensor());
  if (found.IsEmpty() && expected.IsEmpty()) return absl::OkStatus();
  const Sequence* a = found.sequence();
  const Sequence* b = expected.sequence();
  if (a == nullptr || b == nullptr || a->elements.size() != b->elements.size()) {
    return Differ(absl::StrCat("expected ", expected.TypeText(), ", found ", found.TypeText()));
  }
  for (size_t i = 0; i < a->elements.size(); ++i) AMP_RETURN_IF_ERROR(Compare(a->elements[i], b->elements[i]));
  return absl::OkStatus();
}

absl::StatusOr<Datum> ReadDatum(const fs::path& file, const Session& session, ValueId like) {
  AMP_ASSIGN_OR_RETURN(const DatumContent content, ParseDatum(ReadFile(file), session.model(), like));
  return MakeDatum(content);
}

absl::Status CompareOutputs(const Session& session, const fs::path& folder, const std::vector<Datum>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const fs::path file = folder / absl::StrCat("output_", i, ".pb");
    if (!fs::exists(file)) break;
    AMP_ASSIGN_OR_RETURN(const Datum expected, ReadDatum(file, session, session.outputs()[i]));
    if (absl::Status status = Compare(outputs[i], expected); !status.ok()) {
      return Differ(absl::StrCat("output ", i, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status RunOnce(const Session& session, const fs::path& folder) {
  const Model& model = session.model();
  absl::flat_hash_map<std::string, Datum> inputs;
  for (size_t i = 0; i < session.inputs().size(); ++i) {
    const fs::path file = folder / absl::StrCat("input_", i, ".pb");
    if (!fs::exists(file)) break;
    AMP_ASSIGN_OR_RETURN(inputs[model.value(session.inputs()[i]).name], ReadDatum(file, session, session.inputs()[i]));
  }
  AMP_ASSIGN_OR_RETURN(const std::vector<Datum> outputs, session.Run(inputs));
  return CompareOutputs(session, folder, outputs);
}

// A session's second run has a memory plan and what kernels kept of the first.
constexpr int kRuns = 2;

absl::Status RunDataSet(const Session& session, const fs::path& folder) {
  for (int run = 0; run < kRuns; ++run) AMP_RETURN_IF_ERROR(RunOnce(session, folder));
  return absl::OkStatus();
}

// `on_device`: grows by one where kernels of the device ran.
absl::Status RunCase(const fs::path& folder, const SessionOptions& options, int& on_device) {
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                       Session::Create((folder / "model.onnx").string(), options));
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) AMP_RETURN_IF_ERROR(RunDataSet(*session, entry.path()));
  }
  if (CountOnDevice(*session) > 0) ++on_device;
  return absl::OkStatus();
}

std::map<std::string, std::string> ReadExceptions(const std::string& file) {
  std::map<std::string, std::string> result;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (!line.empty() && line[0] != '#' && colon != std::string::npos) {
      result[line.substr(0, colon)] = line.substr(colon + 1);
    }
  }
  return result;
}

struct Counts {
  int passed = 0, failed = 0, not_supported = 0;

  std::string Text() const {
    return absl::StrCat(passed, " passed, ", failed, " failed, ", not_supported, " not supported");
  }
};

// "Add", or "several" for a model of more than one node.
std::string OperatorOf(const fs::path& folder) {
  onnx::ModelProto model;
  if (!model.ParseFromString(ReadFile(folder / "model.onnx")) || model.graph().node_size() != 1) return "several";
  return model.graph().node(0).op_type();
}

int Main(int argc, char** argv) {
  std::string folder, pattern, device = "cpu";
  std::map<std::string, std::string> exceptions;
  bool verbose = false, table = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--exceptions" && i + 1 < argc) {
      exceptions = ReadExceptions(argv[++i]);
    } else if (argument == "--device" && i + 1 < argc) {
      device = argv[++i];
    } else if (argument == "--verbose") {
      verbose = true;
    } else if (argument == "--table") {
      table = true;
    } else {
      (folder.empty() ? folder : pattern) = argument;
    }
  }
  SessionOptions options;
  absl::StatusOr<std::shared_ptr<Accelerator>> opened = OpenNamedDevice(device);
  if (!opened.ok()) {
    std::cout << "no device: " << opened.status().message() << "\n";
    return ExitCode(opened.status());
  }
  options.device = *std::move(opened);
  std::set<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const bool wanted = absl::StrContains(entry.path().filename().string(), pattern);
    if (wanted && fs::exists(entry.path() / "model.onnx")) cases.insert(entry.path());
  }
  Counts counts;
  std::map<std::string, Counts> by_operator;
  int surprises = 0, on_device = 0;
  for (const fs::path& path : cases) {
    const std::string name = path.filename().string();
    const absl::Status status = RunCase(path, options, on_device);
    const bool excepted = exceptions.contains(name);
    const bool unsupported = absl::StrContains(status.message(), "no kernel for");
    for (Counts* each : {&counts, &by_operator[OperatorOf(path)]}) {
      ++(status.ok() ? each->passed : unsupported ? each->not_supported : each->failed);
    }
    if (status.ok() == excepted) ++surprises;
    if (status.ok() && excepted) std::cout << name << ": passes, although it is among the exceptions\n";
    if (!status.ok() && (!excepted || verbose)) std::cout << name << ": " << status.message() << "\n";
  }
  if (table) {
    for (const auto& [name, of_operator] : by_operator) std::cout << name << ": " << of_operator.Text() << "\n";
  }
  std::cout << cases.size() << " cases: " << counts.Text() << "\n";
  if (options.device != nullptr)
    std::cout << on_device << " of them with kernels of " << DeviceName(*options.device) << "\n";
  return cases.empty() || surprises > 0 ? 1 : 0;
}

}  // namespace
}  // namespace amp

int main(int argc, char** argv) { return amp::Main(argc, argv); }
