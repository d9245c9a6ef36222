#include "tests/ir/file/fixtures.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/match.h"
#include "tests/catch2.h"

namespace amp {

void WriteText(const std::string& path, absl::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(file.good());
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::map<std::string, std::string> Snapshot(const std::string& directory) {
  std::map<std::string, std::string> entries;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    entries[entry.path().filename().string()] = entry.is_regular_file() ? ReadText(entry.path().string()) : "(special)";
  }
  return entries;
}

onnx::TensorProto FloatTensor(const std::string& name, const std::vector<int64_t>& dims, float first) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  int64_t count = 1;
  for (int64_t dim : dims) {
    tensor.add_dims(dim);
    count *= dim;
  }
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + 0.125f * static_cast<float>(i);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

onnx::NodeProto* AddNode(onnx::GraphProto* graph, const std::string& op_type, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs) {
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type(op_type);
  node->set_name(op_type + "_" + std::to_string(graph->node_size()));
  for (const auto& input : inputs) node->add_input(input);
  for (const auto& output : outputs) node->add_output(output);
  return node;
}

onnx::AttributeProto* AddInts(onnx::NodeProto* node, const std::string& name, const std::vector<int64_t>& values) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INTS);
  for (int64_t value : values) attribute->add_ints(value);
  return attribute;
}

onnx::AttributeProto* AddInt(onnx::NodeProto* node, const std::string& name, int64_t value) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
  return attribute;
}

void MakeExternal(onnx::TensorProto* tensor, const std::string& location, int64_t offset) {
  const auto add = [&](const std::string& key, const std::string& value) {
    auto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", location);
  add("offset", std::to_string(offset));
  add("length", std::to_string(tensor->raw_data().size()));
  tensor->clear_raw_data();
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
}

onnx::ModelProto SmallModel() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("tests");
  model.add_opset_import()->set_version(17);
  onnx::GraphProto* graph = model.mutable_graph();
  graph->set_name("small");
  const auto add_value = [](onnx::ValueInfoProto* info, const std::string& name, const std::vector<int64_t>& dims) {
    info->set_name(name);
    auto* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    for (int64_t dim : dims) type->mutable_shape()->add_dim()->set_dim_value(dim);
  };
  add_value(graph->add_input(), "x", {1, 3, 8, 8});
  add_value(graph->add_output(), "y", {1, 4, 8, 8});
  *graph->add_initializer() = FloatTensor("w", {4, 3, 3, 3});
  onnx::TensorProto* shape = graph->add_initializer();
  shape->set_name("shape");
  shape->set_data_type(onnx::TensorProto::INT64);
  shape->add_dims(4);
  for (int64_t dim : {1, 4, 8, 8}) shape->add_int64_data(dim);
  onnx::NodeProto* conv = AddNode(graph, "Conv", {"x", "w"}, {"c"});
  AddInts(conv, "pads", {1, 1, 1, 1});
  AddNode(graph, "Relu", {"c"}, {"r"});
  AddNode(graph, "Reshape", {"r", "shape"}, {"y"});
  return model;
}

ChildResult RunInChild(const std::function<absl::Status()>& call) {
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::close(pipe_ends[0]);
    const absl::Status status = call();
    std::string report(1, static_cast<char>(status.code()));
    report.append(status.message().data(), status.message().size());
    ssize_t ignored = ::write(pipe_ends[1], report.data(), std::min<size_t>(report.size(), 60000));
    (void)ignored;
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  std::string report;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(pipe_ends[0], buffer, sizeof(buffer))) > 0;) {
    report.append(buffer, static_cast<size_t>(got));
  }
  ::close(pipe_ends[0]);
  int wait_status = 0;
  struct rusage usage = {};
  REQUIRE(::wait4(child, &wait_status, 0, &usage) == child);
  ChildResult result;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.peak_bytes = static_cast<int64_t>(usage.ru_maxrss) * 1024;
  if (WIFSIGNALED(wait_status)) result.signal = WTERMSIG(wait_status);
  if (report.empty()) {
    result.code = absl::StatusCode::kUnknown;
  } else {
    result.code = static_cast<absl::StatusCode>(report[0]);
    result.message = report.substr(1);
  }
  return result;
}

void CheckRefused(const ChildResult& result, absl::StatusCode code, absl::string_view part_of_message) {
  INFO(result.message);
  CHECK(result.signal == 0);
  CHECK(result.code == code);
  CHECK(absl::StrContains(result.message, part_of_message));
  CHECK(!absl::StrContains(result.message, "\n"));
  CHECK(result.seconds < 2);
#if !defined(__SANITIZE_ADDRESS__)
  CHECK(result.peak_bytes < int64_t{300} << 20);
#endif
}

}  // namespace amp
