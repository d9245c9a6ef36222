#include "ir/functions/inline_by_mode.h"

#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/arena.h"
#include "ir/base/status.h"
#include "ir/file/validate.h"
#include "ir/functions/lift_function.h"
#include "ir/graph/infer.h"
#include "ir/schema/opset_imports.h"
#include "onnx/onnx_pb.h"

namespace amp {

absl::StatusOr<InlinedFunctions> InlineByMode(std::unique_ptr<google::protobuf::Arena>& arena, onnx::ModelProto& model,
                                              FunctionMode mode, const Limits& limits,
                                              std::vector<std::string> opaque) {
  if (mode == FunctionMode::kKeep) return InlinedFunctions();
  InlineOptions options;
  options.max_bytes = limits.inlined_bytes;
  options.opaque_domains = std::move(opaque);
  if (mode != FunctionMode::kInlineAll) options.opaque_domains.emplace_back("ai.amp");
  if (mode == FunctionMode::kSpecialise) options.keep_origins = KeepOrigins::kYes;
  const int opset_before = static_cast<int>(ImportedVersion(model, ""));
  AMP_ASSIGN_OR_RETURN(options.model_stays_because, LiftModelToFunctions(arena, &model, options.opaque_domains));
  const int functions_before = model.functions_size();
  AMP_ASSIGN_OR_RETURN(InlinedFunctions inlined, InlineFunctions(model, options));
  inlined.opset_before = opset_before;
  const bool is_lifted = ImportedVersion(model, "") != opset_before;
  inlined.model_edited = is_lifted || inlined.num_calls > 0 || model.functions_size() != functions_before;
  std::vector<std::string> known_warnings;
  if (inlined.num_calls > 0) AMP_RETURN_IF_ERROR(ValidateModel(model, limits.AfterInlining(), &known_warnings));
  return inlined;
}

absl::StatusOr<std::unique_ptr<Model>> InlineByMode(std::unique_ptr<Model> model, FunctionMode mode,
                                                    std::shared_ptr<const OpSignatures> signatures,
                                                    const Limits& limits) {
  model->Commit();
  onnx::ModelProto& proto = model->LendProto();
  Weights weights = std::move(model->weights());
  std::unique_ptr<google::protobuf::Arena> arena = model->ReleaseArena();
  AMP_RETURN_IF_ERROR(InlineByMode(arena, proto, mode, limits).status());
  AMP_ASSIGN_OR_RETURN(model, Model::Create(std::move(arena), &proto, std::move(signatures), std::move(weights)));
  InferTypes(*model);
  return model;
}

}  // namespace amp
