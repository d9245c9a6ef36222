#include "tools/run/amp_run.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/base/atomic_file.h"
#include "ir/base/fenced.h"
#include "ir/base/status.h"
#include "ir/file/model_file.h"
#include "runtime/device_run/use_device.h"
#include "runtime/hardware/hardware.h"
#include "runtime/onednn/open_library.h"
#include "runtime/session.h"
#include "tools/program/describe_devices.h"
#include "tools/program/device_flag.h"
#include "tools/program/out_of_memory.h"
#include "tools/program/phase_times.h"
#include "tools/program/tuning_file.h"
#include "tools/run/bench_run.h"
#include "tools/run/compare_runs.h"
#include "tools/run/evaluate_model.h"
#include "tools/run/explain_run.h"
#include "tools/run/profile_run.h"
#include "tools/run/run_arguments.h"
#include "tools/run/run_files.h"
#include "tools/run/run_inputs.h"
#include "tools/run/run_outputs.h"

namespace amp {
namespace {

// Models run without the library too, far slower: nobody is to find that out by the clock.
void NoteMissingLibrary(const RunArguments& arguments, ToolOutput& output) {
  const onednn::OpenedLibrary& opened = onednn::OpenLibrary();
  if (opened.library != nullptr || arguments.quiet) return;
  absl::StrAppend(&output.err, "amp-run: note: no oneDNN (", Escaped(opened.why_not),
                  "): products and convolutions run in slow reference kernels\n");
}

void NoteDeviceWarnings(Accelerator* device, ToolOutput& output) {
  for (const std::string& warning : TakeWarnings(device)) {
    absl::StrAppend(&output.err, "amp-run: warning: ", warning, "\n");
  }
}

// Loads the model that `flag` names; its data files are read from now on.
absl::StatusOr<std::unique_ptr<Session>> MakeSession(const std::string& flag, const std::string& path,
                                                     const RunArguments& arguments, FileUses& uses,
                                                     PhaseTimes* phases = nullptr) {
  absl::StatusOr<LoadedFile> file =
      LoadModel(path, {.limits = arguments.session.limits, .payloads = Payloads::kInFile});
  if (!file.ok()) return InFile(path, file.status());
  AddDataFiles(flag, *file->external, uses);
  AMP_RETURN_IF_ERROR(CheckFileUses(uses));
  if (phases != nullptr) phases->End("load");
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(*std::move(file), arguments.session);
  if (!session.ok()) return InFile(path, session.status());
  if (phases != nullptr) phases->End("plan");
  return session;
}

void NoteWritten(const RunArguments& arguments, const std::vector<std::string>& files, ToolOutput& output) {
  if (arguments.quiet || arguments.json) return;  // JSON is alone
  for (const std::string& file : files) absl::StrAppend(&output.out, "wrote ", Escaped(file), "\n");
}

absl::Status Compare(const RunArguments& arguments, const Session& session, const NamedDatums& inputs, FileUses& uses,
                     const ToolStreams& streams, ToolOutput& output) {
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> other,
                       MakeSession("--compare", arguments.compare, arguments, uses));
  AMP_ASSIGN_OR_RETURN(RunComparison comparison,
                       CompareRuns(session, *other, arguments.compare, inputs,
                                   {.tolerance = arguments.tolerance, .with_values = !arguments.report.empty()}));
  if (arguments.bench == BenchMode::kLoop) {
    AMP_ASSIGN_OR_RETURN(const NamedDatums declared, InputsAsDeclared(inputs, *other));
    AMP_ASSIGN_OR_RETURN(comparison.costs, BenchInTurns(arguments, {session, inputs}, {*other, declared}, streams));
  }
  if (!arguments.report.empty()) {
    const std::string page = comparison.Page(arguments.model, arguments.compare);
    AMP_RETURN_IF_ERROR(WriteFileAtomically(arguments.report, {FileKind::kHtml, arguments.force},
                                            [&](AtomicFile& file) { return file.Append(page); }));
    NoteWritten(arguments, {arguments.report}, output);
  }
  output.out += arguments.json ? comparison.Json(arguments.model, arguments.compare) : comparison.Text(arguments.ulps);
  return InFile(arguments.compare, comparison.verdict);
}

absl::Status RunAndWrite(const RunArguments& arguments, const Session& session, const NamedDatums& inputs,
                         const FileUses& uses, ToolOutput& output) {
  AMP_ASSIGN_OR_RETURN(const std::vector<Datum> outputs, session.Run(inputs));
  std::vector<std::string> files;
  if (!arguments.output_dir.empty()) {
    AMP_ASSIGN_OR_RETURN(files, WriteOutputsFolder(session, outputs, arguments.output_dir, uses));
  }
  if (arguments.outputs == kStandardOutput) {
    AMP_ASSIGN_OR_RETURN(output.alone, OutputsArchive(session, outputs));
  } else if (!arguments.outputs.empty()) {
    const bool is_last = arguments.compare.empty() && arguments.profile.empty() && arguments.bench == BenchMode::kOff;
    if (is_last) WritesInOutOfMemory(arguments.outputs);
    AMP_RETURN_IF_ERROR(WriteOutputsFile(session, outputs, arguments.outputs, arguments.force));
    files.push_back(arguments.outputs);
  }
  const bool only_prints = arguments.output_dir.empty() && arguments.outputs.empty();
  if (only_prints && !arguments.quiet) output.out += DescribeOutputs(session, outputs);
  NoteWritten(arguments, files, output);
  return absl::OkStatus();
}

absl::Status WriteProfile(const RunArguments& arguments, const Session& session, const NamedDatums& inputs,
                          ToolOutput& output) {
  const bool is_page = KindOfProfile(arguments.profile) == FileKind::kHtml;
  AMP_ASSIGN_OR_RETURN(const Profile profile, ProfileRun(session, inputs, arguments.warmup, is_page));
  const std::string text = is_page ? ProfilePage(profile, session, arguments.model) : ProfileTrace(profile);
  if (!arguments.json) output.out += ProfileTable(profile);
  if (arguments.profile == kStandardOutput) {
    output.alone = text;
    return absl::OkStatus();
  }
  AMP_RETURN_IF_ERROR(WriteFileAtomically(arguments.profile, {KindOfProfile(arguments.profile), arguments.force},
                                          [&](AtomicFile& file) { return file.Append(text); }));
  NoteWritten(arguments, {arguments.profile}, output);
  return absl::OkStatus();
}

absl::Status RunOnInputs(const RunArguments& arguments, const ToolStreams& streams, const Session& session,
                         double load_ms, const NamedDatums& inputs, FileUses& uses, ToolOutput& output) {
  const bool writes = !arguments.outputs.empty() || !arguments.output_dir.empty();
  const bool does_more = arguments.bench != BenchMode::kOff || !arguments.compare.empty() || !arguments.profile.empty();
  if (writes || !does_more) AMP_RETURN_IF_ERROR(RunAndWrite(arguments, session, inputs, uses, output));
  if (!arguments.profile.empty()) AMP_RETURN_IF_ERROR(WriteProfile(arguments, session, inputs, output));
  // Last, as it may find a difference, which is an error.
  if (!arguments.compare.empty()) return Compare(arguments, session, inputs, uses, streams, output);
  switch (arguments.bench) {
    case BenchMode::kOff:
      return absl::OkStatus();
    case BenchMode::kLoop:
      return BenchRun(arguments, session, load_ms, inputs, streams);
    case BenchMode::kRequests:
      return AnswerBenchRequests(arguments, session, inputs, streams);
  }
  return absl::InternalError("no such mode of --bench");
}

absl::Status RunModel(const RunArguments& arguments, const ToolStreams& streams, const Session& session, FileUses& uses,
                      PhaseTimes& phases, ToolOutput& output) {
  const double load_ms = phases.TotalMs();
  std::vector<std::string> notes;
  AMP_ASSIGN_OR_RETURN(const NamedDatums given, ReadGivenInputs(arguments, session, notes));
  const absl::StatusOr<NamedDatums> inputs = MakeUpOthers(arguments, session, given, notes);
  if (!inputs.ok()) return ExplainRun(inputs.status(), arguments, session, given);
  for (const std::string& note : notes) {
    if (!arguments.quiet) absl::StrAppend(&output.err, "amp-run: note: ", note, "\n");
  }
  phases.End("inputs");
  streams.show_progress("running");
  const absl::Status status = RunOnInputs(arguments, streams, session, load_ms, *inputs, uses, output);
  return ExplainRun(status, arguments, session, given);
}

absl::Status Run(RunArguments arguments, const ToolStreams& streams, const DeviceHost& host, ToolOutput& output) {
  if (arguments.devices || !arguments.text.empty()) {
    output.out = arguments.devices ? DescribeDevices(DetectHardware(), "amp-run") : arguments.text;
    return absl::OkStatus();
  }
  NameInOutOfMemory(arguments.model);
  FileUses uses = FilesOf(arguments);
  AMP_RETURN_IF_ERROR(CheckFileUses(uses));
  AMP_RETURN_IF_ERROR(CheckTargets(uses));
  const ChosenDevice chosen = ChooseDevice(arguments.device, host, arguments.model, arguments.session.limits);
  if (!chosen.note.empty() && !arguments.quiet) absl::StrAppend(&output.err, "amp-run: note: ", chosen.note, "\n");
  AMP_ASSIGN_OR_RETURN(arguments.session.device, OpenFlaggedDevice(chosen.ordinal, host.open));
  std::unique_ptr<TuningFile> tuning;
  if (!arguments.autotune.empty()) {
    AMP_ASSIGN_OR_RETURN(tuning, TuningFile::Open(arguments.autotune));
    UseChoices(*arguments.session.device, &tuning->choices());
  }
  if (!arguments.evaluate.empty()) return InFile(arguments.model, EvaluateModel(arguments, streams, output));
  streams.show_progress("loading");
  PhaseTimes phases;
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                       MakeSession("MODEL", arguments.model, arguments, uses, &phases));
  // Outputs are written before the other model is loaded, and not over its data files.
  if (!arguments.compare.empty()) {
    AddDataFilesOf("--compare", arguments.compare, arguments.session.limits, uses);
    AMP_RETURN_IF_ERROR(CheckFileUses(uses));
  }
  NoteMissingLibrary(arguments, output);
  AMP_RETURN_IF_ERROR(CheckOutputsEnding(arguments.outputs));
  AMP_RETURN_IF_ERROR(InFile(arguments.model, CheckOutputsFile(*session, arguments.outputs)));
  const absl::Status status = RunModel(arguments, streams, *session, uses, phases, output);
  phases.End("run");
  NoteDeviceWarnings(arguments.session.device.get(), output);
  if (arguments.explain) output.out += ExplainRun(*session);
  if (arguments.verbose && status.ok()) {
    output.err += VerboseText("amp-run", session->DeviceName(), phases, CopiesText(arguments.session.device.get()));
  }
  if (tuning == nullptr) return InFile(arguments.model, status);
  UseChoices(*arguments.session.device, nullptr);
  for (const std::string& warning : tuning->TakeWarnings()) {
    absl::StrAppend(&output.err, "amp-run: warning: ", warning, "\n");
  }
  const absl::Status saved = tuning->Save();
  return status.ok() ? saved : InFile(arguments.model, status);
}

// Exceptions of the libraries below end here.
absl::Status RunFenced(const RunArguments& arguments, const ToolStreams& streams, const DeviceHost& host,
                       ToolOutput& output) {
  try {
    return Run(arguments, streams, host, output);
  } catch (...) {
    return StatusOfException(arguments.model, InFile(arguments.model, OutOfMemory()));
  }
}

}  // namespace

ToolOutput RunAmpRun(const std::vector<std::string>& arguments, ToolStreams streams, const DeviceHost& host) {
  ToolOutput output;
  if (!streams.print) streams.print = CollectIn(output);
  const absl::StatusOr<RunArguments> parsed = ParseRunArguments(arguments);
  // If a flag writes to standard output, nothing else does: all other lines go to the other stream.
  const bool is_taken = parsed.ok() && (parsed->outputs == kStandardOutput || parsed->profile == kStandardOutput);
  if (is_taken) streams.print = CollectIn(output);
  if (!streams.show_progress || (parsed.ok() && parsed->quiet)) streams.show_progress = [](const std::string&) {};
  const absl::Status status = parsed.ok() ? RunFenced(*parsed, streams, host, output) : parsed.status();
  if (!status.ok()) {
    output.exit_code = ExitCode(status);
    absl::StrAppend(&output.err, "amp-run: error: ", std::string(status.message()), "\n");
  }
  if (is_taken) output.err.insert(0, std::exchange(output.out, std::exchange(output.alone, {})));
  return output;
}

}  // namespace amp
