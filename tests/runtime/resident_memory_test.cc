// The memory that a session's weights take: once, in their own type, while it is made and after its runs.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "onnx/onnx_pb.h"
#include "runtime/cpu/tiled_product.h"
#include "runtime/onednn/open_library.h"
#include "tests/catch2.h"
#include "tests/runtime/run_session.h"
#include "tests/scratch_folder.h"

namespace amp {
namespace {

constexpr int64_t kWidth = 1024, kLayers = 32;

// A chain of products, or of convolutions with windows of one pixel; its weights' bytes come in `bytes`.
onnx::ModelProto Chain(DType dtype, int64_t& bytes, const std::string& op_type = "MatMul") {
  const bool is_product = op_type == "MatMul";
  const std::string type = TextType(dtype, is_product ? "[n,1024]" : "[n,1024,h,h]");
  std::string nodes, from = "x";
  for (int64_t i = 0; i < kLayers; ++i) {
    const std::string to = i + 1 == kLayers ? "y" : absl::StrCat("v", i);
    absl::StrAppend(&nodes, to, " = ", op_type, " (", from, ", w", i, ") ");
    from = to;
  }
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(*ParseOnnxText(
      absl::StrCat("<ir_version: 10, opset_import: [\"\" : 21]> g (", type, " x) => (", type, " y) {", nodes, "}"))));
  bytes = 0;
  for (int64_t i = 0; i < kLayers; ++i) {
    const Dims dims = is_product ? Dims{kWidth, kWidth} : Dims{kWidth, kWidth, 1, 1};
    const Tensor weight = RandomTensor(dtype, dims, Values::kPlain, 0.03);
    *model.mutable_graph()->add_initializer() = ProtoOf(absl::StrCat("w", i), weight);
    bytes += static_cast<int64_t>(weight.size_bytes());
  }
  return model;
}

// A line of /proc/self/status, in bytes.
int64_t StatusBytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(name + ":", 0) == 0) return std::stoll(line.substr(name.size() + 1)) * 1024;
  }
  return 0;
}

// Makes the present memory the peak. Returns whether the system allows that.
bool ForgetPeak() {
  std::ofstream("/proc/self/clear_refs") << "5" << std::flush;
  constexpr int64_t kMegabyte = 1 << 20;
  return StatusBytes("VmHWM") <= StatusBytes("VmRSS") + 8 * kMegabyte;
}

TEST_CASE("weights of a file are held once, in their own type, also while they are read and after runs of few rows") {
  const ScratchFolder folder;
  for (const DType dtype : kLoopFloats) {
    int64_t bytes = 0;
    const std::string path = folder.Write("chain.onnx", Chain(dtype, bytes).SerializeAsString());
    const Tensor x = RandomTensor(dtype, {1, kWidth});
    const bool knows_peak = ForgetPeak();
    if (!knows_peak) WARN("SKIPPED: /proc/self/clear_refs does nothing here, and the peak is not looked at");
    const int64_t before = StatusBytes("VmRSS");
    absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(path, {});
    REQUIRE(session.ok());
    for (int i = 0; i < 3; ++i) RunSession(**session, {{"x", x}});
    const int64_t grown = StatusBytes("VmRSS") - before, peak = StatusBytes("VmHWM") - before;
    INFO(DTypeName(dtype) << ": " << bytes << " bytes of weights, grown by " << grown << ", at most by " << peak);
#if !defined(__SANITIZE_ADDRESS__)
    CHECK(static_cast<double>(grown) < 1.3 * static_cast<double>(bytes));
    CHECK((!knows_peak || static_cast<double>(peak) < 1.3 * static_cast<double>(bytes)));
#endif
  }
}

TEST_CASE("weights of 16 bits stay as they are where runs of many rows widen them") {
  constexpr int64_t kRows = 64;
  if (!IsBetterWidenedInRuns({kRows, kWidth, kWidth})) {
    WARN("SKIPPED: oneDNN is missing, or keeps packed weights on this processor");
    return;
  }
  const ScratchFolder folder;
  constexpr int64_t kLibrary = 48 << 20;  // what is read of it, and its generated code
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    int64_t bytes = 0;
    const std::string path = folder.Write("chain.onnx", Chain(dtype, bytes).SerializeAsString());
    const int64_t before = StatusBytes("VmRSS");
    const absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(path, {});
    REQUIRE(session.ok());
    for (const int64_t rows : {kRows, int64_t{1}, 2 * kRows}) {
      RunSession(**session, {{"x", RandomTensor(dtype, {rows, kWidth})}});
    }
    const int64_t grown = StatusBytes("VmRSS") - before;
    INFO(DTypeName(dtype) << ": " << bytes << " bytes of weights, grown by " << grown);
#if !defined(__SANITIZE_ADDRESS__)
    CHECK(static_cast<double>(grown) < 1.3 * static_cast<double>(bytes) + kLibrary);  // with packed weights 3 times
#endif
  }
}

TEST_CASE("weights of 16 bits of convolutions stay so where runs widen what is packed") {
  const onednn::Library* const library = onednn::OpenLibrary().library;
  const ScratchFolder folder;
  constexpr int64_t kLibrary = 48 << 20;  // what is read of it, and its generated code
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    if (library == nullptr || library->ComputesIn(dtype)) {
      WARN("SKIPPED: oneDNN is missing, or computes in " << DTypeName(dtype) << " on this processor");
      continue;
    }
    int64_t bytes = 0;
    const std::string path = folder.Write("chain.onnx", Chain(dtype, bytes, "Conv").SerializeAsString());
    const int64_t before = StatusBytes("VmRSS");
    const absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(path, {});
    REQUIRE(session.ok());
    for (int run = 0; run < 3; ++run) RunSession(**session, {{"x", RandomTensor(dtype, {1, kWidth, 7, 7})}});
    const int64_t grown = StatusBytes("VmRSS") - before;
    INFO(DTypeName(dtype) << ": " << bytes << " bytes of weights, grown by " << grown);
#if !defined(__SANITIZE_ADDRESS__)
    CHECK(static_cast<double>(grown) < 1.3 * static_cast<double>(bytes) + kLibrary);  // in float32 twice the bytes
#endif
  }
}

TEST_CASE("a session of a file gives what one of the same bytes gives") {
  const ScratchFolder folder;
  int64_t bytes = 0;
  const onnx::ModelProto model = Chain(DType::kFloat32, bytes);
  const std::string path = folder.Write("chain.onnx", model.SerializeAsString());
  absl::StatusOr<LoadedFile> file = ParseModel(model.SerializeAsString());
  REQUIRE(file.ok());
  absl::StatusOr<std::unique_ptr<Session>> of_bytes = Session::Create(*std::move(file), {}),
                                           of_file = Session::Create(path, {});
  REQUIRE(of_bytes.ok());
  REQUIRE(of_file.ok());
  const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {2, kWidth})}};
  CHECK(DifferenceOf(RunSession(**of_file, inputs), RunSession(**of_bytes, inputs), 0) == "");
}

TEST_CASE(
    "payloads that stay in the file: an edited initializer has its own, and a file that is written to is refused") {
  const ScratchFolder folder;
  int64_t bytes = 0;
  const std::string path = folder.Write("chain.onnx", Chain(DType::kFloat32, bytes).SerializeAsString());
  absl::StatusOr<LoadedFile> file = LoadModel(path, {.limits = {}, .payloads = Payloads::kInFile});
  REQUIRE(file.ok());
  REQUIRE(file->in_file != nullptr);
  onnx::TensorProto& first = *file->model->mutable_graph()->mutable_initializer(0);
  CHECK_FALSE(first.has_raw_data());
  const auto size_of = [&](const onnx::TensorProto& tensor) { return file->weights().View(tensor)->size_bytes(); };
  CHECK(size_of(first) == kWidth * kWidth * 4);
  CHECK_FALSE(file->weights().View(first)->InMemory().has_value());
  first.clear_dims();
  first.add_dims(1);
  first.add_float_data(7);
  CHECK(file->weights().View(first)->InMemory().has_value());
  CHECK(file->in_file->CheckUnchanged().ok());
  std::ofstream(path, std::ios::app) << "x";
  CHECK(file->in_file->CheckUnchanged().message() == "file changed while it was read");
  const absl::Status status = Session::Create(*std::move(file), {}).status();
  CHECK(absl::IsUnavailable(status));
}

// Inlining copies messages and validates them again: payloads are in the message by then.
TEST_CASE("models of files that call functions, their own and those of schemas") {
  const ScratchFolder folder;
  const std::string texts[] = {
      R"(<ir_version: 10, opset_import: ["" : 21, "my" : 1]> g (float[n,128] x) => (float[n,128] y) {
        m = MatMul (x, w) y = my.Twice (m) }
        <opset_import: ["" : 21], domain: "my"> Twice (a) => (b) { b = Add (a, a) })",
      R"(<ir_version: 10, opset_import: ["" : 18, "my" : 1]> g (float[n,128] x) => (float[n,128] y) {
        m = MatMul (x, w) y = my.Act (m) }
        <opset_import: ["" : 20], domain: "my"> Act (a) => (b) { b = Gelu (a) })",
      R"(<ir_version: 10, opset_import: ["" : 21]> g (float[n,128] x) => (float[n,128] y) {
        m = MatMul (x, w) y = MeanVarianceNormalization <axes = [0]> (m) })"};
  for (const std::string& text : texts) {
    INFO(text);
    onnx::ModelProto model;
    REQUIRE(model.ParseFromString(*ParseOnnxText(text)));
    *model.mutable_graph()->add_initializer() = ProtoOf("w", RandomTensor(DType::kFloat32, {128, 128}));
    // Left behind by a tool that embedded what had been beside the model.
    model.mutable_graph()->mutable_initializer(0)->add_external_data()->set_key("location");
    const std::string path = folder.Write("calls.onnx", model.SerializeAsString());
    const absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(path, {});
    INFO(session.status().message());
    REQUIRE(session.ok());
    absl::StatusOr<LoadedFile> file = ParseModel(model.SerializeAsString());
    const auto of_bytes = Session::Create(*std::move(file), {});
    const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {5, 128})}};
    CHECK(DifferenceOf(RunSession(**session, inputs), RunSession(**of_bytes, inputs), 0) == "");
  }
}

TEST_CASE("a session closes the file of its model") {
  const ScratchFolder folder;
  int64_t bytes = 0;
  const std::string path = folder.Write("chain.onnx", Chain(DType::kFloat16, bytes).SerializeAsString());
  const auto session = Session::Create(path, {});
  REQUIRE(session.ok());
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    CHECK(std::filesystem::read_symlink(entry.path(), error) != path);
  }
}

TEST_CASE("a file that is cut short before its weights are read is an error that says so") {
  const ScratchFolder folder;
  int64_t bytes = 0;
  const std::string path = folder.Write("chain.onnx", Chain(DType::kFloat32, bytes).SerializeAsString());
  absl::StatusOr<LoadedFile> file = LoadModel(path, {.limits = {}, .payloads = Payloads::kInFile});
  REQUIRE(file.ok());
  REQUIRE(::truncate(path.c_str(), bytes / 2) == 0);
  const absl::Status status = Session::Create(*std::move(file), {}).status();
  CHECK(absl::IsUnavailable(status));
  CHECK(absl::StrContains(status.message(), "file changed while it was read"));
}

}  // namespace
}  // namespace amp
