#include "tools/amp_run.h"

#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/base/atomic_file.h"
#include "ir/base/status.h"
#include "runtime/device/open_device.h"
#include "runtime/hardware/compatibility.h"
#include "runtime/hardware/hardware.h"
#include "runtime/hardware/usable_threads.h"
#include "runtime/loops/best_loops.h"
#include "runtime/onednn/open_library.h"
#include "runtime/session.h"
#include "tools/bench_run.h"
#include "tools/compare_runs.h"
#include "tools/device_flag.h"
#include "tools/explain_run.h"
#include "tools/profile_run.h"
#include "tools/run_arguments.h"
#include "tools/run_inputs.h"
#include "tools/run_outputs.h"
#include "tools/tuning_file.h"
#include "tools/version.h"

namespace amp {
namespace {

// "oneDNN 3.2.0 and avx512 loops, 2 threads"
std::string DescribeKernels() {
  const onednn::OpenedLibrary& opened = onednn::OpenLibrary();
  const std::string library = opened.library == nullptr ? absl::StrCat("no oneDNN (", Escaped(opened.why_not), ")")
                                                        : absl::StrCat("oneDNN ", opened.library->Version());
  return absl::StrCat(library, " and ", BestLoops().name, " loops, ", UsableThreads(), " threads");
}

std::string DescribeDevices() {
  const Hardware hardware = DetectHardware();
  const CpuFeatures& cpu = hardware.cpu;
  const std::pair<const char*, bool> features[] = {{"avx2", cpu.avx2},
                                                   {"avx512", cpu.avx512},
                                                   {"avx512_bf16", cpu.avx512_bf16},
                                                   {"avx512_fp16", cpu.avx512_fp16},
                                                   {"amx_bf16", cpu.amx_bf16},
                                                   {"amx_fp16", cpu.amx_fp16}};
  std::string text = "cpu:";
  for (const auto& [name, is_there] : features) {
    if (is_there) absl::StrAppend(&text, " ", name);
  }
  for (const Gpu& gpu : hardware.gpus) {
    absl::StrAppend(&text, "\ngpu: ", Escaped(gpu.name));
    if (gpu.capability) absl::StrAppend(&text, ", compute capability ", CapabilityText(*gpu.capability));
  }
  if (hardware.gpus.empty()) absl::StrAppend(&text, "\ngpu: none, ", hardware.no_gpu_why);
  absl::StrAppend(&text, "\nmodels run on: cpu, ", DescribeKernels(), "\n");
  for (const DType low : {DType::kFloat16, DType::kBfloat16}) text += CheckCompatibility(hardware, low).Text(low);
  return absl::StrCat(text, VersionText("amp-run"), "\n");
}

// Models run without the library too, far slower: nobody is to find that out by the clock.
void NoteMissingLibrary(const RunArguments& arguments, ToolOutput& output) {
  const onednn::OpenedLibrary& opened = onednn::OpenLibrary();
  if (opened.library != nullptr || arguments.quiet) return;
  absl::StrAppend(&output.err, "amp-run: note: no oneDNN (", Escaped(opened.why_not),
                  "): products and convolutions run in slow reference kernels\n");
}

void NoteDeviceWarning(Accelerator* device, ToolOutput& output) {
  const std::string warning = device == nullptr ? "" : device->TakeWarning();
  if (!warning.empty()) absl::StrAppend(&output.err, "amp-run: warning: ", warning, "\n");
}

absl::StatusOr<std::unique_ptr<Session>> MakeSession(const std::string& path, const RunArguments& arguments) {
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(path, arguments.session);
  if (!session.ok()) return InFile(path, session.status());
  return session;
}

// A session, and what making it took.
struct TimedSession {
  std::unique_ptr<Session> session;
  double load_ms = 0;
};

absl::StatusOr<TimedSession> TimeMakingSession(const RunArguments& arguments) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  AMP_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, MakeSession(arguments.model, arguments));
  return TimedSession{std::move(session), std::chrono::duration<double, std::milli>(Clock::now() - start).count()};
}

absl::Status Compare(const RunArguments& arguments, const Session& session, const NamedDatums& inputs,
                     ToolOutput& output) {
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> other, MakeSession(arguments.compare, arguments));
  AMP_ASSIGN_OR_RETURN(const RunComparison comparison,
                       CompareRuns(session, *other, arguments.compare, inputs, arguments.tolerance));
  output.out += arguments.json ? comparison.Json(arguments.model, arguments.compare, arguments.tolerance)
                               : comparison.Text(arguments.ulps);
  if (comparison.verdict.empty()) return absl::OkStatus();
  return InFile(arguments.compare, absl::FailedPreconditionError(comparison.verdict));
}

absl::Status RunAndWrite(const RunArguments& arguments, const Session& session, const NamedDatums& inputs,
                         ToolOutput& output) {
  AMP_ASSIGN_OR_RETURN(const std::vector<Datum> outputs, session.Run(inputs));
  std::vector<std::string> files;
  if (!arguments.outputs.empty()) {
    AMP_RETURN_IF_ERROR(WriteOutputsFile(session, outputs, arguments.outputs));
    files.push_back(arguments.outputs);
  } else if (!arguments.output_dir.empty()) {
    AMP_ASSIGN_OR_RETURN(files, WriteOutputsFolder(session, outputs, arguments.output_dir));
  }
  if (arguments.quiet) return absl::OkStatus();
  if (files.empty()) output.out += DescribeOutputs(session, outputs);
  for (const std::string& file : files) absl::StrAppend(&output.out, "wrote ", Escaped(file), "\n");
  return absl::OkStatus();
}

absl::Status WriteProfile(const RunArguments& arguments, const Session& session, const NamedDatums& inputs,
                          ToolOutput& output) {
  AMP_ASSIGN_OR_RETURN(const Profile profile, ProfileRun(session, inputs, arguments.warmup));
  const std::string trace = ProfileTrace(profile);
  AMP_RETURN_IF_ERROR(WriteFileAtomically(arguments.profile, [&](AtomicFile& file) { return file.Append(trace); }));
  output.out += ProfileTable(profile);
  if (!arguments.quiet) absl::StrAppend(&output.out, "wrote ", Escaped(arguments.profile), "\n");
  return absl::OkStatus();
}

absl::Status RunModel(const RunArguments& arguments, const ToolStreams& streams, const TimedSession& timed,
                      ToolOutput& output) {
  const Session& session = *timed.session;
  AMP_ASSIGN_OR_RETURN(const NamedDatums inputs, ReadRunInputs(arguments, session));
  streams.show_progress("running");
  if (!arguments.compare.empty()) return Compare(arguments, session, inputs, output);
  if (!arguments.profile.empty()) return WriteProfile(arguments, session, inputs, output);
  switch (arguments.bench) {
    case BenchMode::kOff:
      return RunAndWrite(arguments, session, inputs, output);
    case BenchMode::kLoop:
      return BenchRun(arguments, session, timed.load_ms, inputs, streams);
    case BenchMode::kRequests:
      return AnswerBenchRequests(arguments, session, inputs, streams);
  }
  return absl::InternalError("no such mode of --bench");
}

absl::Status Run(RunArguments arguments, const ToolStreams& streams, const DeviceOpener& open_device,
                 ToolOutput& output) {
  if (arguments.devices || !arguments.text.empty()) {
    output.out = arguments.devices ? DescribeDevices() : arguments.text;
    return absl::OkStatus();
  }
  AMP_ASSIGN_OR_RETURN(arguments.session.device, OpenFlaggedDevice(arguments.cuda_ordinal, open_device));
  std::unique_ptr<TuningFile> tuning;
  if (!arguments.autotune.empty()) {
    AMP_ASSIGN_OR_RETURN(tuning, TuningFile::Open(arguments.autotune));
    arguments.session.device->UseChoices(&tuning->choices());
  }
  streams.show_progress("loading");
  AMP_ASSIGN_OR_RETURN(const TimedSession timed, TimeMakingSession(arguments));
  NoteMissingLibrary(arguments, output);
  const absl::Status status = RunModel(arguments, streams, timed, output);
  NoteDeviceWarning(arguments.session.device.get(), output);
  if (arguments.explain) output.out += ExplainRun(*timed.session);
  if (tuning == nullptr) return InFile(arguments.model, status);
  arguments.session.device->UseChoices(nullptr);
  const absl::Status saved = tuning->Save();
  return status.ok() ? saved : InFile(arguments.model, status);
}

// Exceptions of the libraries below end here.
absl::Status RunFenced(const RunArguments& arguments, const ToolStreams& streams, const DeviceOpener& open_device,
                       ToolOutput& output) {
  try {
    return Run(arguments, streams, open_device, output);
  } catch (const std::bad_alloc&) {
    return InFile(arguments.model, LimitError("out of memory"));
  } catch (const std::exception& error) {
    return InFile(arguments.model, absl::InternalError(Escaped(error.what())));
  }
}

}  // namespace

ToolOutput RunAmpRun(const std::vector<std::string>& arguments, ToolStreams streams, const DeviceOpener& open_device) {
  ToolOutput output;
  if (!streams.print) streams.print = CollectIn(output);
  const absl::StatusOr<RunArguments> parsed = ParseRunArguments(arguments);
  if (!streams.show_progress || (parsed.ok() && parsed->quiet)) streams.show_progress = [](const std::string&) {};
  const absl::Status status = parsed.ok() ? RunFenced(*parsed, streams, open_device, output) : parsed.status();
  if (!status.ok()) {
    output.exit_code = ExitCode(status);
    absl::StrAppend(&output.err, "amp-run: error: ", std::string(status.message()), "\n");
  }
  return output;
}

}  // namespace amp
