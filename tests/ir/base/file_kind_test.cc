// The kind of a file, by its first bytes.
#include "ir/base/file_kind.h"

#include <fcntl.h>

#include "absl/strings/str_cat.h"
#include "ir/base/atomic_file.h"
#include "ir/base/status.h"
#include "ir/file/text.h"
#include "onnx/onnx_pb.h"
#include "tests/catch2.h"
#include "tests/scratch_folder.h"

namespace amp {
namespace {

FileKind KindOf(absl::string_view bytes) {
  const ScratchFolder folder;
  const std::string path = folder.Write("f", bytes);
  const UniqueFile file(FileSystem::Real(), FileSystem::Real().Open(AT_FDCWD, path, O_RDONLY));
  const absl::StatusOr<FileKind> kind = FindKind(FileSystem::Real(), file.get(), static_cast<int64_t>(bytes.size()));
  REQUIRE(kind.ok());
  return *kind;
}

std::string ModelBytes() {
  return *ParseOnnxText(R"(<ir_version: 8, opset_import: ["" : 17], producer_name: "someone">
    g (float[2] x) => (float[2] y) { y = Relu (x) })");
}

TEST_CASE("each kind of file is known by its first bytes") {
  CHECK(KindOf("") == FileKind::kEmpty);
  CHECK(KindOf(ModelBytes()) == FileKind::kModel);
  CHECK(KindOf(absl::string_view("PK\x03\x04\x14\x00", 6)) == FileKind::kArchive);
  CHECK(KindOf("PK\x05\x06") == FileKind::kArchive);  // without a member
  const std::string header = absl::StrCat("PK\x03\x04", std::string(26, '\x01'));
  CHECK(KindOf(absl::StrCat(header, "amp.checkpoint.npy")) == FileKind::kCheckpoint);
  CHECK(KindOf(absl::StrCat(header, "amp.checkpoint")) == FileKind::kArchive);
  CHECK(KindOf(header) == FileKind::kArchive);
  CHECK(KindOf("\x93NUMPY\x01") == FileKind::kArray);
  for (const char* json : {"{}", "{\n \"schema\": 1", " [1, 2]", "[]", "[null]", "[\n{", "[-1]"}) {
    INFO(json);
    CHECK(KindOf(json) == FileKind::kJson);
  }
  for (const char* html : {"<!DOCTYPE html>", "\n<!doctype html>\n<html>", "<!doctype html"}) {
    INFO(html);
    CHECK(KindOf(html) == FileKind::kHtml);
  }
  for (const char* csv : {"epoch,loss\n1,0.5\n", "epoch,loss\n", "a,b", "\"a,1\",b\r\n2,3\r\n"}) {
    INFO(csv);
    CHECK(KindOf(csv) == FileKind::kCsv);
  }
}

TEST_CASE("a list that a search wrote is one, and no other text") {
  CHECK(KindOf("# Operator list: nodes that stay float32\n") == FileKind::kList);
  CHECK(KindOf("# Operators\n") == FileKind::kOther);
}

TEST_CASE("what only looks like one of them is of another kind") {
  for (const char* text : {"hello", "\n", "{ return 1; }", "[core]\n name = x", "[net]\nbatch=1", "a, b\nc\n",
                           "import os, sys\nprint(os, sys, 1)\n", "\x89PNG\r\n\x1a\n", "Hello, world\n",
                           ":orphan:\n\ntext", "<html>", "<svg/>", "a <!doctype html>", "PK", "%PDF-1.4"}) {
    INFO(text);
    CHECK(KindOf(text) == FileKind::kOther);
  }
  onnx::TensorProto tensor;  // begins with field 1, too
  tensor.add_dims(3);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.set_raw_data(std::string(12, 'x'));
  CHECK(KindOf(tensor.SerializeAsString()) == FileKind::kOther);
}

TEST_CASE("a model is known in every form that writers give it") {
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(ModelBytes()));
  CHECK(KindOf(ModelBytes().substr(0, 20)) == FileKind::kModel);  // cut short, as after a broken download
  onnx::ModelProto without_version = model;
  without_version.clear_ir_version();
  CHECK(KindOf(without_version.SerializeAsString()) == FileKind::kModel);
  model.mutable_graph()->set_doc_string(std::string(100'000, 'x'));
  auto& entry = *model.add_metadata_props();
  entry.set_key("k");
  entry.set_value(std::string(5000, 'v'));
  CHECK(KindOf(model.SerializeAsString()) == FileKind::kModel);
  // Fields in another order, and one of a newer ONNX.
  onnx::ModelProto graph_alone, rest = model;
  *graph_alone.mutable_graph() = model.graph();
  rest.clear_graph();
  const std::string unknown = "\xf2\x3e\x03new";  // field 1006
  CHECK(KindOf(absl::StrCat(unknown, graph_alone.SerializeAsString(), rest.SerializeAsString())) == FileKind::kModel);
}

absl::Status Replace(const ScratchFolder& folder, const NewContent& content) {
  return WriteFileAtomically(folder.File("f"), content, [](AtomicFile& file) { return file.Append("new"); });
}

TEST_CASE("a file is replaced by one of its kind alone, or by force") {
  const ScratchFolder folder;
  folder.Write("f", "\x93NUMPY");
  const absl::Status refused = Replace(folder, {FileKind::kJson});
  CHECK(ExitCode(refused) == 4);
  CHECK(refused.message() ==
        absl::StrCat(folder.File("f"), ": exists and is an array (npy); expected JSON, or --force"));
  CHECK(folder.Read("f") == "\x93NUMPY");
  CHECK(Replace(folder, {FileKind::kArray}).ok());
  CHECK(folder.Read("f") == "new");
  CHECK(ExitCode(Replace(folder, {FileKind::kArray})) == 4);
  CHECK(Replace(folder, {FileKind::kArray, true}).ok());
  folder.Write("f", "");
  CHECK(Replace(folder, {FileKind::kModel}).ok());
}

// A file system whose files can be read and not be written.
class ReadOnly : public FileSystem {
 public:
  int CheckWritable(int, const std::string&) override { return -EROFS; }
};

TEST_CASE("a read-only file system is an error of writing, not of permissions") {
  const ScratchFolder folder;
  folder.Write("f", "{}");
  ReadOnly fs;
  for (const auto mode : {std::filesystem::perms(0644), std::filesystem::perms(0444)}) {
    std::filesystem::permissions(folder.File("f"), mode);
    const absl::Status status = WriteFileAtomically(
        folder.File("f"), {FileKind::kJson}, [](AtomicFile& file) { return file.Append("{}"); }, fs);
    CHECK(ExitCode(status) == 6);
    CHECK(status.message() == absl::StrCat(folder.File("f"), ": cannot be replaced: Read-only file system"));
  }
}

}  // namespace
}  // namespace amp
