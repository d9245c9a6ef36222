// Differentiates many models in one process, for tests/judge/train/gradients.py.
//
// Reads one JSON object per line of standard input:
//   {"model": FILE, "loss": NAME, "of": [NAME...], "output": FILE}         the loss is a value of the model
//   {"model": FILE, "attach": {"kind": "softmax-cross-entropy", "labels": "sparse", "logits": ""}, "of": [...], ...}
// Answers each with one line: {"gradients": [NAME...], "loss": NAME, "nodes": N} or {"error": "..."}. An empty "of"
// means the weights that are trained by default. The output is the model with the input `seed`, a scalar of default 1,
// and loss and gradients as further outputs. "nodes" is the number of nodes that were added. Functions of domain ai.amp
// stay calls, unless "inline" is true.
#include <fstream>
#include <iostream>
#include <string>

#include "ir/base/status.h"
#include "ir/file/model_file.h"
#include "ir/functions/inline_by_mode.h"
#include "ir/graph/append_nodes.h"
#include "ir/graph/graph_ports.h"
#include "ir/graph/infer.h"
#include "nlohmann/json.hpp"
#include "onnx/onnx_pb.h"
#include "passes/train/differentiate.h"
#include "passes/train/loss.h"
#include "passes/train/prepare_for_training.h"
#include "passes/train/trainable.h"

namespace amp {
namespace {

using Json = nlohmann::json;

ValueId Find(const Model& model, const std::string& name) {
  const auto& names = model.graph(kMainGraph).names;
  const auto it = names.find(name);
  return it == names.end() ? ValueId(kNone) : it->second;
}

absl::StatusOr<Loss> LossOf(Model& model, const Json& request) {
  LossOptions options;
  if (request.contains("attach")) {
    const Json& attach = request["attach"];
    options.kind = attach["kind"] == "mse" ? LossKind::kMse : LossKind::kSoftmaxCrossEntropy;
    options.label_kind = attach.value("labels", "sparse") == "sparse" ? LabelKind::kSparse : LabelKind::kOneHot;
    options.logits = attach.value("logits", "");
  } else {
    return Loss{.loss = Find(model, request["loss"])};
  }
  return AddLoss(model, options);
}

absl::StatusOr<Json> Differentiate(const Json& request) {
  AMP_ASSIGN_OR_RETURN(LoadedFile file, LoadModel(request["model"]));
  AMP_ASSIGN_OR_RETURN(std::unique_ptr<Model> model,
                       Model::Create(std::move(file.arena), file.model, nullptr, file.weights()));
  AMP_ASSIGN_OR_RETURN(model, PrepareForTraining(std::move(model)));
  std::vector<ValueId> of;
  for (const std::string name : request["of"]) of.push_back(Find(*model, name));
  AMP_ASSIGN_OR_RETURN(const Loss loss, LossOf(*model, request));
  if (of.empty()) of = ReachedFrom(*model, loss.loss, DefaultTrainable(*model));
  const ValueId seed = AddGraphInput(*model, model->UniqueName("seed"), DType::kFloat32, {}, {});
  const size_t nodes_before = model->NodesInOrder(kMainGraph).size();
  AMP_ASSIGN_OR_RETURN(const std::vector<ValueId> gradients, Gradients(*model, loss.loss, seed, of));
  Json answer = {{"loss", model->value(loss.loss).name},
                 {"nodes", model->NodesInOrder(kMainGraph).size() - nodes_before},
                 {"gradients", Json::array()},
                 {"of", Json::array()}};
  for (size_t i = 0; i < of.size(); ++i) {
    AddGraphOutput(*model, gradients[i]);
    answer["gradients"].push_back(model->value(gradients[i]).name);
    answer["of"].push_back(model->value(of[i]).name);
  }
  AddGraphOutput(*model, loss.loss);
  model->Commit();
  model->CheckConsistency();
  if (request.value("inline", false)) {
    AMP_ASSIGN_OR_RETURN(model, InlineByMode(std::move(model), FunctionMode::kInlineAll, nullptr, Limits()));
    model->Commit();
  }
  std::ofstream out(request["output"].get<std::string>(), std::ios::binary);
  if (!model->proto().SerializeToOstream(&out)) return IoError("cannot write the output");
  return answer;
}

}  // namespace
}  // namespace amp

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const absl::StatusOr<nlohmann::json> answer = amp::Differentiate(nlohmann::json::parse(line));
    const nlohmann::json shown =
        answer.ok() ? *answer : nlohmann::json{{"error", std::string(answer.status().message())}};
    std::cout << shown.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
  }
}
