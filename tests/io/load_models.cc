// Loads each model named on the command line, writes it again, and compares: every loaded model must survive a round
// trip with the same message. Prints what was refused or warned about. For checking the loader against folders of real
// models:
//   find DIR -name '*.onnx' | xargs load_models
#include <unistd.h>

#include <cstdio>
#include <string>

#include "ir/graph.h"
#include "ir/model_file.h"
#include "ir/save.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

absl::Status Check(const std::string& path, const std::string& copy_path) {
  absl::StatusOr<LoadedFile> file = LoadModel(path);
  if (!file.ok()) return file.status();
  for (const auto& warning : file->warnings) std::printf("%s: warning: %s\n", path.c_str(), warning.c_str());
  SaveOptions options;
  options.input = &*file;
  absl::StatusOr<SaveResult> saved = SaveModel(*file->model, copy_path, options);
  if (!saved.ok()) return saved.status();
  absl::StatusOr<LoadedFile> copy = LoadModel(copy_path);
  if (!copy.ok()) return copy.status();
  const bool same = saved->data_file.empty() ? file->model->SerializeAsString() == copy->model->SerializeAsString()
                                             : file->model->graph().node_size() == copy->model->graph().node_size();
  if (!same) return absl::InternalError("the copy differs");
  return Model::Create(std::move(copy->arena), copy->model).status();
}

}  // namespace
}  // namespace amp

int main(int argc, char** argv) {
  const std::string copy = "/tmp/load_models_" + std::to_string(::getpid()) + ".onnx";
  int failures = 0;
  for (int i = 1; i < argc; ++i) {
    const absl::Status status = amp::Check(argv[i], copy);
    if (status.ok()) continue;
    ++failures;
    std::printf("%s: %s\n", argv[i], status.ToString().c_str());
  }
  ::unlink(copy.c_str());
  std::printf("%d of %d models failed\n", failures, argc - 1);
  return failures == 0 ? 0 : 1;
}
