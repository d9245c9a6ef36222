#include "tools/library/take_model.h"

#include <utility>

#include "ir/file/copy_model.h"

namespace amp {

absl::StatusOr<LoadedFile> TakeModel(std::unique_ptr<Model> model, std::shared_ptr<ExternalData> external) {
  if (model->weights().ConvertsAny()) return CopyModel(model->proto(), model->weights(), std::move(external));
  LoadedFile file;
  file.model = &model->LendProto();
  file.arena = model->ReleaseArena();
  file.external = std::move(external);
  return file;
}

}  // namespace amp
