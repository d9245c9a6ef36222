#include "ir/graph/print_model.h"

#include <vector>

#include "absl/strings/str_format.h"
#include "ir/file/external_data.h"
#include "ir/file/model_walk.h"
#include "ir/file/save_payload.h"
#include "ir/file/tensor_view.h"
#include "ir/file/text.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

constexpr int64_t kMostElements = 64;

// Names hold what they like, and a terminal acts on it.
std::string WithoutControls(absl::string_view text) {
  std::string shown;
  for (const char c : text) {
    const bool is_control = (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f;
    if (is_control) {
      absl::StrAppendFormat(&shown, "\\x%02x", static_cast<unsigned char>(c));
    } else {
      shown.push_back(c);
    }
  }
  return shown;
}

}  // namespace

absl::StatusOr<std::string> PrintModel(Model& model) {
  // Commit adds entries for new values at the end; what is committed later decides their order.
  IdVector<GraphId, google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>> infos;
  infos.reserve(model.num_graphs());
  for (const GraphId graph : model.AllGraphs()) {
    infos.push_back(model.graph(graph).proto->value_info());
  }
  model.Commit();
  absl::StatusOr<std::string> text;
  {
    StrippedTensors stripped;
    ForEachMutableTensor(model.LendProto(), [&](onnx::TensorProto& tensor) {
      const std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
      if (IsExternal(tensor) || ElementCount(dims).value_or(0) <= kMostElements) return;
      stripped.Strip(&tensor);
      tensor.set_data_location(onnx::TensorProto::EXTERNAL);
      auto* entry = tensor.add_external_data();
      entry->set_key("location");
      entry->set_value("left out");
    });
    text = PrintOnnxText(model.proto());
    if (text.ok()) text = WithoutControls(*text);
  }
  for (const GraphId graph : model.AllGraphs()) {
    *model.LendProto(graph).mutable_value_info() = infos[graph];
  }
  return text;
}

}  // namespace amp
