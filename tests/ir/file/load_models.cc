// Loads each model named on the command line, writes it again, and compares: every loaded model must survive a round
// trip with the same message. Prints what was refused or warned about. For checking the loader against folders of real
// models:
//   find DIR -name '*.onnx' | xargs load_models
#include <cstdio>
#include <string>

#include "ir/file/model_file.h"
#include "ir/file/save.h"
#include "ir/graph/graph.h"
#include "onnx/onnx_pb.h"
#include "tests/scratch_folder.h"

namespace amp {
namespace {

// Through the graph in memory and back, unedited.
absl::Status Check(const std::string& path, const std::string& copy_path) {
  absl::StatusOr<LoadedFile> checked = LoadModel(path);
  if (!checked.ok()) return checked.status();
  for (const auto& warning : checked->warnings) std::printf("%s: warning: %s\n", path.c_str(), warning.c_str());

  absl::StatusOr<LoadedFile> file = ReadModelFile(path);  // without repairs
  if (!file.ok()) return file.status();
  const std::string before = file->model->SerializeAsString();
  absl::StatusOr<std::unique_ptr<Model>> graph =
      Model::Create(std::move(file->arena), file->model, nullptr, file->weights());
  if (!graph.ok()) return graph.status();
  (*graph)->Commit();
  if ((*graph)->proto().SerializeAsString() != before) return absl::InternalError("the graph in memory lost something");
  SaveOptions options;
  options.input = &*file;
  absl::StatusOr<SaveResult> saved = SaveModel((*graph)->LendProto(), (*graph)->weights(), copy_path, options);
  if (!saved.ok()) return saved.status();
  absl::StatusOr<LoadedFile> copy = ReadModelFile(copy_path);
  if (!copy.ok()) return copy.status();
  const bool same = saved->data_file.empty() ? before == copy->model->SerializeAsString()
                                             : file->model->graph().node_size() == copy->model->graph().node_size();
  return same ? absl::OkStatus() : absl::InternalError("the copy differs");
}

}  // namespace
}  // namespace amp

int main(int argc, char** argv) {
  const amp::ScratchFolder folder;
  int failures = 0;
  for (int i = 1; i < argc; ++i) {
    const absl::Status status = amp::Check(argv[i], folder.File("copy.onnx"));
    if (status.ok()) continue;
    ++failures;
    std::printf("%s: %s\n", argv[i], status.ToString().c_str());
  }
  std::printf("%d of %d models failed\n", failures, argc - 1);
  return failures == 0 ? 0 : 1;
}
