#include "tools/run/run_outputs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "ir/base/atomic_file.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"
#include "runtime/values/compare_values.h"
#include "runtime/values/npy.h"

namespace amp {
namespace {

const std::string& NameOf(const Session& session, size_t output) {
  return session.model().value(session.outputs()[output]).name;
}

// Appends a sequence as its elements, "y/0", "y/1", and an empty one as an array "y" of no element; a map as two
// tensors, "y/keys" and "y/values".
absl::Status AppendTensors(const std::string& name, const Datum& datum, NamedTensors& tensors) {
  if (datum.tensor() != nullptr) {
    tensors.emplace_back(name, *datum.tensor());
  } else if (const Map* map = datum.map(); map != nullptr) {
    tensors.emplace_back(absl::StrCat(name, "/keys"), map->keys);
    tensors.emplace_back(absl::StrCat(name, "/values"), map->values);
  } else if (const Sequence* sequence = datum.sequence(); sequence != nullptr) {
    if (sequence->elements.empty()) tensors.emplace_back(name, Tensor::Of<float>(DType::kFloat32, {0}, {}));
    for (size_t i = 0; i < sequence->elements.size(); ++i) {
      AMP_RETURN_IF_ERROR(AppendTensors(absl::StrCat(name, "/", i), sequence->elements[i], tensors));
    }
  } else {
    return UsageError("output '", Escaped(name), "': expected something to write, found ", datum.TypeText());
  }
  return absl::OkStatus();
}

absl::StatusOr<NamedTensors> AsTensors(const Session& session, const std::vector<Datum>& outputs) {
  NamedTensors tensors;
  std::set<std::string> names;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!names.insert(NameOf(session, i)).second) continue;  // a model may list an output twice
    AMP_RETURN_IF_ERROR(AppendTensors(NameOf(session, i), outputs[i], tensors));
  }
  return tensors;
}

absl::Status WriteBytes(const std::string& path, const NewContent& content, const std::string& bytes) {
  return WriteFileAtomically(path, content, [&](AtomicFile& file) { return file.Append(bytes); });
}

bool IsOneArray(const std::string& path) { return absl::EndsWith(path, ".npy"); }

absl::Status RefuseOneArray(const std::string& path, const std::vector<std::string>& names) {
  const std::string archive = Escaped(absl::StrCat(absl::StripSuffix(path, ".npy"), ".npz"));
  return UsageError("--outputs: '", Escaped(path), "' holds one array, found ", names.size(), " to write, ",
                    QuotedFirstOf(names), ": --outputs ", archive, " takes all, --output-dir DIR a file each");
}

std::string FileName(absl::string_view name, std::set<std::string>& taken) {
  constexpr size_t kLongest = 200;
  std::string stem(name.substr(0, kLongest));
  for (char& c : stem) {
    const bool is_plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_';
    if (!is_plain) c = '_';
  }
  if (stem.empty() || stem[0] == '.') stem.insert(stem.begin(), '_');
  std::string file = absl::StrCat(stem, ".npy");
  for (int i = 2; !taken.insert(file).second; ++i) file = absl::StrCat(stem, "_", i, ".npy");
  return file;
}

struct Summary {
  double smallest = std::numeric_limits<double>::infinity(), largest = -smallest, sum = 0;
  int64_t finite = 0, others = 0;
};

Summary Summarize(const std::vector<double>& elements) {
  Summary summary;
  for (const double element : elements) {
    if (!std::isfinite(element)) {
      ++summary.others;
      continue;
    }
    ++summary.finite;
    summary.smallest = std::min(summary.smallest, element);
    summary.largest = std::max(summary.largest, element);
    summary.sum += element;
  }
  return summary;
}

std::string DescribeNumbers(const std::vector<double>& elements) {
  constexpr size_t kShown = 6;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, elements.size()); ++i) absl::StrAppendFormat(&text, " %.6g", elements[i]);
  if (elements.size() > kShown) text += " ...";
  const Summary summary = Summarize(elements);
  if (summary.finite > 0) {
    absl::StrAppendFormat(&text, "; smallest %.6g, largest %.6g, mean %.6g", summary.smallest, summary.largest,
                          summary.sum / static_cast<double>(summary.finite));
  }
  if (summary.others > 0) absl::StrAppendFormat(&text, "; %d not finite", summary.others);
  return text;
}

std::string DescribeTensor(const Tensor& tensor) {
  if (tensor.dtype() != DType::kString) return DescribeNumbers(AsDoubles(tensor));
  constexpr size_t kShown = 3;
  std::string text;
  const auto elements = tensor.elements<std::string>();
  for (size_t i = 0; i < std::min(kShown, elements.size()); ++i)
    absl::StrAppend(&text, " '", Escaped(elements[i]), "'");
  return elements.size() > kShown ? text + " ..." : text;
}

}  // namespace

absl::Status CheckOutputsEnding(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending.empty() || ending == ".npz" || ending == ".npy") return absl::OkStatus();
  return UsageError("--outputs: expected a file .npz (all outputs) or .npy (the only one), in lower case, found '",
                    Escaped(path), "'");
}

FileKind KindOfOutputs(const std::string& path) { return IsOneArray(path) ? FileKind::kArray : FileKind::kArchive; }

absl::StatusOr<std::string> OutputsArchive(const Session& session, const std::vector<Datum>& outputs) {
  AMP_ASSIGN_OR_RETURN(const NamedTensors tensors, AsTensors(session, outputs));
  return NpzBytes(tensors);
}

absl::Status CheckOutputsFile(const Session& session, const std::string& path) {
  const std::vector<std::string> names = session.OutputNames();
  const bool is_one = std::set<std::string>(names.begin(), names.end()).size() == 1;
  return is_one || !IsOneArray(path) ? absl::OkStatus() : RefuseOneArray(path, names);
}

absl::Status WriteOutputsFile(const Session& session, const std::vector<Datum>& outputs, const std::string& path,
                              bool force) {
  if (!IsOneArray(path)) {
    AMP_ASSIGN_OR_RETURN(const std::string bytes, OutputsArchive(session, outputs));
    return WriteBytes(path, {FileKind::kArchive, force}, bytes);
  }
  AMP_ASSIGN_OR_RETURN(const NamedTensors tensors, AsTensors(session, outputs));
  if (tensors.size() != 1) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tensors) names.push_back(name);
    return RefuseOneArray(path, names);
  }
  AMP_ASSIGN_OR_RETURN(const std::string bytes, NpyBytes(tensors[0].second));
  return WriteBytes(path, {FileKind::kArray, force}, bytes);
}

absl::StatusOr<std::vector<std::string>> WriteOutputsFolder(const Session& session, const std::vector<Datum>& outputs,
                                                            const std::string& folder, FileUses uses) {
  AMP_ASSIGN_OR_RETURN(const NamedTensors tensors, AsTensors(session, outputs));
  std::vector<std::string> files;
  std::set<std::string> taken;
  for (const auto& [name, tensor] : tensors) {
    files.push_back((std::filesystem::path(folder) / FileName(name, taken)).string());
    uses.writes.push_back({"--output-dir", files.back(), FileKind::kArray});
  }
  AMP_RETURN_IF_ERROR(CheckFileUses(uses));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return InFile(Escaped(folder), IoError("cannot make the folder: ", error.message()));
  AMP_RETURN_IF_ERROR(CheckTargets(uses));
  for (size_t i = 0; i < tensors.size(); ++i) {
    AMP_ASSIGN_OR_RETURN(const std::string bytes, NpyBytes(tensors[i].second));
    AMP_RETURN_IF_ERROR(WriteBytes(files[i], {FileKind::kArray, uses.force}, bytes));
  }
  return files;
}

std::string DescribeOutputs(const Session& session, const std::vector<Datum>& outputs) {
  std::string text;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor* tensor = outputs[i].tensor();
    absl::StrAppend(&text, Escaped(NameOf(session, i)), "  ", outputs[i].TypeText(), " ",
                    tensor == nullptr ? "" : DescribeTensor(*tensor), "\n");
  }
  return text;
}

}  // namespace amp
