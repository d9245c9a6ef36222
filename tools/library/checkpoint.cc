#include "tools/library/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "ir/base/atomic_file.h"
#include "ir/base/status.h"
#include "passes/record/metadata_json.h"

namespace amp {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr absl::string_view kDescription = "amp.checkpoint", kStatePrefix = "state/";

std::string Describe(const Checkpoint& checkpoint) {
  const Json json = {{"version", kVersion},
                     {"step_graph", checkpoint.step_graph},
                     {"steps", checkpoint.num_steps},
                     {"learning_rate", checkpoint.learning_rate},
                     {"note", TextOfBytes(checkpoint.note)}};
  return json.dump();
}

absl::Status ReadDescription(const Tensor& tensor, Checkpoint& checkpoint) {
  if (tensor.dtype() != DType::kUint8) return UsageError("expected uint8 bytes of JSON, found ", tensor.TypeText());
  const absl::string_view text(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.size_bytes());
  AMP_ASSIGN_OR_RETURN(Json json, ParseMetadataJson(text));
  MetadataReader reader;
  const int version = reader.Integer(reader.Take(json, "version"));
  if (version != kVersion) reader.Fail("expected version ", kVersion, ", found ", version);
  checkpoint.step_graph = reader.Text(reader.Take(json, "step_graph"));
  const Json steps = reader.Take(json, "steps"), rate = reader.Take(json, "learning_rate");
  if (!steps.is_number_integer() || !(steps.get<int64_t>() >= 0)) reader.Fail("expected a number of steps");
  if (!rate.is_number() || !std::isfinite(rate.get<float>())) reader.Fail("expected a learning_rate that is a number");
  checkpoint.note = BytesOfText(reader.Text(reader.Take(json, "note")));
  AMP_RETURN_IF_ERROR(reader.status());
  checkpoint.num_steps = steps.get<int64_t>();
  checkpoint.learning_rate = rate.get<float>();
  return absl::OkStatus();
}

// The description alone; the names of states are noted.
absl::StatusOr<std::vector<bool>> ChooseDescription(const std::vector<std::string>& names, Checkpoint& checkpoint) {
  std::vector<bool> is_wanted(names.size(), false);
  bool is_described = false;
  for (size_t i = 0; i < names.size(); ++i) {
    absl::string_view state = names[i];
    if (absl::ConsumePrefix(&state, kStatePrefix)) {
      checkpoint.states.emplace_back(state, Tensor());
    } else if (names[i] == kDescription && !is_described) {
      is_described = is_wanted[i] = true;
    } else {
      return UsageError("expected a checkpoint, found an archive with an array '", Escaped(names[i]), "'");
    }
  }
  if (!is_described) return UsageError("expected a checkpoint, found an archive without '", kDescription, "'");
  return is_wanted;
}

absl::StatusOr<Checkpoint> ReadDescribed(const std::string& path) {
  Checkpoint checkpoint;
  AMP_ASSIGN_OR_RETURN(const NamedTensors arrays, ReadNpz(path, [&](const std::vector<std::string>& names) {
                         return ChooseDescription(names, checkpoint);
                       }));
  if (const absl::Status status = ReadDescription(arrays[0].second, checkpoint); !status.ok()) {
    return UsageError("array '", kDescription, "': ", Escaped(status.message()));
  }
  return checkpoint;
}

// All but the description.
std::vector<bool> ChooseStates(const std::vector<std::string>& names) {
  std::vector<bool> is_wanted(names.size());
  std::transform(names.begin(), names.end(), is_wanted.begin(),
                 [](const std::string& name) { return absl::StartsWith(name, kStatePrefix); });
  return is_wanted;
}

absl::StatusOr<Checkpoint> ReadChecked(const std::string& path, CheckCheckpoint check) {
  AMP_ASSIGN_OR_RETURN(Checkpoint checkpoint, ReadDescribed(path));
  AMP_RETURN_IF_ERROR(check(checkpoint));
  AMP_ASSIGN_OR_RETURN(checkpoint.states, ReadNpz(path, ChooseStates));
  for (auto& [name, unused] : checkpoint.states) name.erase(0, kStatePrefix.size());
  return checkpoint;
}

}  // namespace

absl::Status WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint, bool force) {
  const std::string description = Describe(checkpoint);
  const auto* first = reinterpret_cast<const uint8_t*>(description.data());
  NamedTensors arrays = {
      {std::string(kDescription),
       Tensor::Of<uint8_t>(DType::kUint8, {static_cast<int64_t>(description.size())}, {first, description.size()})}};
  for (const auto& [name, tensor] : checkpoint.states) arrays.emplace_back(absl::StrCat(kStatePrefix, name), tensor);
  AMP_ASSIGN_OR_RETURN(const std::string bytes, NpzBytes(arrays, NpzForm::kStore));
  return WriteFileAtomically(path, {FileKind::kCheckpoint, force},
                             [&](AtomicFile& file) { return file.Append(bytes); });
}

absl::StatusOr<Checkpoint> ReadCheckpoint(const std::string& path, CheckCheckpoint check) {
  absl::StatusOr<Checkpoint> checkpoint = ReadChecked(path, check);
  if (!checkpoint.ok()) return InFile(Escaped(path), checkpoint.status());
  return checkpoint;
}

}  // namespace amp
