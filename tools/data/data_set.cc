#include "tools/data/data_set.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/graph/shape.h"
#include "tools/data/data_file.h"

namespace amp {
namespace {

const std::string* FileOf(const NamedFiles& files, const std::string& name) {
  for (const auto& [input, file] : files) {
    if (input == name) return &file;
  }
  return nullptr;
}

std::vector<std::string> GivenNames(const NamedFiles& files) {
  std::vector<std::string> names;
  for (const auto& given : files) names.push_back(given.first);
  return names;
}

absl::Status CheckNames(const NamedFiles& files, const std::vector<InputType>& wanted, const std::string& flag) {
  std::vector<std::string> names;
  for (const InputType& input : wanted) {
    names.push_back(input.name);
    if (input.is_read && FileOf(files, input.name) == nullptr) {
      return UsageError(flag, ": expected ", Escaped(input.name), "=FILE, found ", QuotedFirstOf(GivenNames(files)));
    }
  }
  for (const auto& given : files) {
    const std::string& name = given.first;
    const bool is_wanted =
        std::any_of(wanted.begin(), wanted.end(), [&](const InputType& input) { return input.name == name; });
    if (!is_wanted) return UsageError(flag, ": '", Escaped(name), "' is no input; expected ", QuotedFirstOf(names));
  }
  return absl::OkStatus();
}

// A line for each file that is given for an input that no node reads.
std::string NotesOnUnread(const NamedFiles& files, const std::vector<InputType>& wanted) {
  std::string notes;
  for (const InputType& input : wanted) {
    if (input.is_read || FileOf(files, input.name) == nullptr) continue;
    absl::StrAppend(&notes, Escaped(input.name), ": no node reads it, so its file is not looked at\n");
  }
  return notes;
}

}  // namespace

absl::StatusOr<DataSet> DataSet::Read(const NamedFiles& files, const std::vector<InputType>& inputs,
                                      const std::optional<InputType>& labels, LabelKind kind,
                                      const DataSetOptions& options) {
  DataSet set;
  std::vector<InputType> wanted = inputs;
  if (labels.has_value()) wanted.push_back(*labels);
  AMP_RETURN_IF_ERROR(CheckNames(files, wanted, options.flag));
  set.notes_ = NotesOnUnread(files, wanted);
  absl::c_copy_if(wanted, std::back_inserter(set.inputs_), [](const InputType& input) { return input.is_read; });
  for (size_t i = 0; i < set.inputs_.size(); ++i) {
    const InputType& input = set.inputs_[i];
    const bool is_labels = labels.has_value() && input.name == labels->name;
    const std::string& file = *FileOf(files, input.name);
    AMP_ASSIGN_OR_RETURN(Tensor data, ReadDataFile(file));
    const bool is_class = is_labels && kind != LabelKind::kTarget;
    absl::StatusOr<DataColumn> column = is_class ? DataColumn::OfLabels(input, kind, data, options.num_classes)
                                                 : DataColumn::OfData(input, std::move(data), options.fit);
    if (!column.ok()) return InFile(Escaped(file), column.status());
    const int64_t count = column->num_samples();
    if (i == 0) set.num_samples_ = count;
    if (count == 0) return InFile(Escaped(file), UsageError("expected samples, found none"));
    if (count != set.num_samples_) {
      return InFile(Escaped(file), UsageError("expected ", set.num_samples_, " samples, as '",
                                              Escaped(set.inputs_[0].name), "' has; found ", count));
    }
    if (options.device != nullptr && !is_labels) AMP_RETURN_IF_ERROR(column->MoveTo(*options.device));
    set.columns_.push_back(*std::move(column));
  }
  if (set.columns_.empty()) return UsageError("expected a model with inputs for data, found none");
  return set;
}

bool DataSet::Has(const std::string& input) const {
  return absl::c_any_of(columns_, [&](const DataColumn& column) { return column.name() == input; });
}

std::string DataSet::Describe() const {
  std::string text;
  for (const DataColumn& column : columns_) absl::StrAppend(&text, column.description(), "\n");
  return text + notes_;
}

std::string DataSet::Fingerprint() const {
  return absl::StrJoin(columns_, ", ", [](std::string* out, const DataColumn& column) {
    absl::StrAppend(out, column.description(), absl::StrFormat(" of hash %016x", column.Hash()));
  });
}

absl::StatusOr<NamedDatums> DataSet::Batch(absl::Span<const int64_t> rows) const {
  NamedDatums batch;
  for (const DataColumn& column : columns_) {
    AMP_ASSIGN_OR_RETURN(Tensor tensor, column.Batch(rows));
    batch[column.name()] = Datum(std::move(tensor));
  }
  return batch;
}

absl::Status DataSet::CheckBatch(int64_t batch, int64_t last) const {
  for (const InputType& input : inputs_) {
    const int64_t fixed = input.dims[0];
    if (fixed >= 0 && fixed != batch) {
      return UsageError("input '", Escaped(input.name), "': expected batches of ", fixed, ", found ", batch,
                        ": see --batch");
    }
    if (fixed >= 0 && last != 0 && last != fixed) {
      return UsageError("input '", Escaped(input.name), "': expected batches of ", fixed, ", found a last one of ",
                        last, ": --drop-last leaves it out");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<InputType> FindInput(const Session& session, const std::string& name) {
  const Model& model = session.model();
  const auto it = model.graph(kMainGraph).names.find(name);
  if (it == model.graph(kMainGraph).names.end() || !model.value(it->second).is_graph_input) {
    return ModelError("expected an input '", Escaped(name), "', found ", QuotedFirstOf(session.InputNames()));
  }
  if (model.value(it->second).uses.empty()) return InputType{.name = name, .dims = {}, .is_read = false};
  const std::optional<std::vector<int64_t>> dims = ShapeOf(model, it->second);
  if (!dims.has_value() || dims->empty()) {
    return ModelError("input '", Escaped(name), "': expected a batch of samples, found ", TypeText(model, it->second));
  }
  return InputType{name, model.value(it->second).dtype, *dims};
}

}  // namespace amp
