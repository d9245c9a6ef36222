#include "ir/file/prescan.h"

#include <fcntl.h>

#include <string>

#include "ir/base/status.h"
#include "ir/file/model_file.h"
#include "tests/catch2.h"
#include "tests/ir/file/fixtures.h"

namespace amp {
namespace {

using absl::StatusCode;

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>((value & 0x7f) | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

std::string Delimited(uint64_t field, const std::string& contents) {
  return Varint(field << 3 | 2) + Varint(contents.size()) + contents;
}

std::string Repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::string GraphOf(const std::string& contents) { return Delimited(7, contents); }

ChildResult Load(const std::string& bytes, const Limits& limits = {}) {
  ScratchFolder dir;
  WriteText(dir.File("m.onnx"), bytes);
  ReadOptions options;
  options.limits = limits;
  ChildResult result = RunInChild([&] { return ReadModelFile(dir.File("m.onnx"), options).status(); });
  CHECK(Snapshot(dir.path()) == std::map<std::string, std::string>{{"m.onnx", bytes}});
  return result;
}

TEST_CASE("a small model passes, from memory and from a file") {
  const std::string bytes = SmallModel().SerializeAsString();
  auto scan = Prescan(ByteSource::Memory(bytes), {});
  REQUIRE(scan.ok());
  CHECK(scan->nodes == 3);
  CHECK(scan->initializers == 2);
  CHECK(scan->graph_depth == 1);
  CHECK(scan->edits.empty());
  CHECK(scan->edited_size == static_cast<int64_t>(bytes.size()));
  CHECK(Load(bytes).code == StatusCode::kOk);
}

TEST_CASE("what is no protobuf is refused with the byte") {
  struct Case {
    const char* what;
    std::string bytes;
    const char* message;
  };
  const std::string good = SmallModel().SerializeAsString();
  const Case cases[] = {
      {"text", "import onnx\n", "byte "},
      {"field number 0", std::string("\x02\x00", 2), "byte 0: field number 0"},
      {"wire type 6", std::string("\x0e\x00", 2), "byte 0: wire type 6"},
      {"length beyond the end",
       "\x3a\x05"
       "ab",
       "byte 0: a field of 5 bytes where its message has 2 left"},
      {"inner length beyond its message", GraphOf("\x0a\x7f") + "tail",
       "byte 2: a field of 127 bytes where its message has 0 left"},
      {"varint of 11 bytes", "\x08" + std::string(10, '\x80') + "\x01", "is longer than 10 bytes"},
      {"length of 6 bytes", "\x3a" + std::string(5, '\x80') + "\x01", "is longer than 5 bytes"},
      {"varint cut off", "\x08\x80", "runs past the end"},
      {"fixed32 cut off", "\x15\x01\x02", "a field of 4 bytes where its message has 2 left"},
      {"group without an end", "\x9b\x06\x08\x01", "a group without an end"},
      {"end without a group", "\x9c\x06", "the end of a group that was not begun"},
      {"end of another group", "\x9b\x06\xa4\x06", "the end of a group that was not begun"},
      {"last byte missing", good.substr(0, good.size() - 1), "byte "},
  };
  for (const Case& test : cases) {
    INFO(test.what);
    CheckRefused(Load(test.bytes), StatusCode::kDataLoss, test.message);
  }
}

TEST_CASE("an empty file parses as a model without a graph") { CHECK(Load("").code == StatusCode::kOk); }

TEST_CASE("limits hold at L and not at L + 1") {
  struct Case {
    const char* what;
    void (*set)(Limits&, int64_t);
    std::string (*make)(int);
    const char* message;
  };
  const Case cases[] = {
      {"objects", [](Limits& l, int64_t n) { l.objects = n + 1; },
       [](int n) { return GraphOf(Repeat(Delimited(16, ""), n)); }, "sub-messages and strings"},
      {"strings", [](Limits& l, int64_t n) { l.objects = n + 2; },
       [](int n) { return GraphOf(Delimited(1, Repeat(Delimited(1, ""), n))); }, "sub-messages and strings"},
      {"unknown fields", [](Limits& l, int64_t n) { l.objects = n + 1; },
       [](int n) { return GraphOf(Repeat(std::string("\xa0\x06\x01"), n)); }, "sub-messages and strings"},
      {"a string where a number belongs", [](Limits& l, int64_t n) { l.objects = n + 1; },
       [](int n) { return GraphOf("") + Repeat(Delimited(1, ""), n); }, "sub-messages and strings"},
      {"nodes", [](Limits& l, int64_t n) { l.nodes = n; }, [](int n) { return GraphOf(Repeat(Delimited(1, ""), n)); },
       "nodes"},
      {"nodes of functions", [](Limits& l, int64_t n) { l.nodes = n; },
       [](int n) { return Delimited(25, Repeat(Delimited(7, ""), n)); }, "nodes"},
      {"initializers", [](Limits& l, int64_t n) { l.initializers = n; },
       [](int n) { return GraphOf(Repeat(Delimited(5, ""), n)); }, "initializers"},
      {"sparse initializers", [](Limits& l, int64_t n) { l.initializers = n; },
       [](int n) { return GraphOf(Repeat(Delimited(15, ""), n)); }, "initializers"},
      {"functions", [](Limits& l, int64_t n) { l.functions = n; }, [](int n) { return Repeat(Delimited(25, ""), n); },
       "functions"},
      {"file size", [](Limits& l, int64_t n) { l.model_bytes = n + 3; },
       [](int n) { return Delimited(2, std::string(static_cast<size_t>(n) + 1, 'p')); }, "bytes, found"},
  };
  for (const Case& test : cases) {
    INFO(test.what);
    Limits limits;
    test.set(limits, 50);
    CHECK(Load(test.make(49), limits).code == StatusCode::kOk);
    CHECK(Load(test.make(50), limits).code == StatusCode::kOk);
    CheckRefused(Load(test.make(51), limits), StatusCode::kResourceExhausted, test.message);
  }
}

// Sequence types within sequence types: two messages per level.
std::string NestedTypes(int messages) {
  std::string inner;
  for (int level = messages; level > 3; --level) inner = Delimited(level % 2 == 0 ? 4 : 1, inner);
  // graph > value_info > type > ...
  return GraphOf(Delimited(11, Delimited(2, inner)));
}

TEST_CASE("nesting of messages") {
  CHECK(Load(NestedTypes(99)).code == StatusCode::kOk);
  CHECK(Load(NestedTypes(100)).code == StatusCode::kOk);
  CheckRefused(Load(NestedTypes(101)), StatusCode::kResourceExhausted, "100 levels of nesting");
  CheckRefused(Load(NestedTypes(5000)), StatusCode::kResourceExhausted, "100 levels of nesting");
  Limits raised;
  raised.nesting = 1000000;  // protobuf's own limit stays
  CheckRefused(Load(NestedTypes(101), raised), StatusCode::kResourceExhausted, "100 levels of nesting");
}

TEST_CASE("unknown groups count as nesting") {
  const auto groups = [](int n) { return Repeat("\x9b\x06", n) + Repeat("\x9c\x06", n); };
  CHECK(Load(groups(100)).code == StatusCode::kOk);
  CheckRefused(Load(groups(101)), StatusCode::kResourceExhausted, "levels of nesting");
}

std::string NestedGraphs(int graphs) {
  std::string inner;
  for (int i = 1; i < graphs; ++i) inner = Delimited(1, Delimited(5, Delimited(6, inner)));
  return GraphOf(inner);
}

TEST_CASE("graphs within graphs") {
  CHECK(Load(NestedGraphs(31)).code == StatusCode::kOk);
  CHECK(Load(NestedGraphs(32)).code == StatusCode::kOk);
  CheckRefused(Load(NestedGraphs(33)), StatusCode::kResourceExhausted, "32 graphs within graphs");
}

TEST_CASE("a bomb of empty messages is refused before it is parsed") {
  const std::string bomb = GraphOf(Repeat(std::string("\x82\x01\x00", 3), 4'000'000));
  const ChildResult result = Load(bomb);
  CheckRefused(result, StatusCode::kResourceExhausted, "2000000 sub-messages and strings");
}

TEST_CASE("large payloads are left out of the parse and put back") {
  onnx::ModelProto model = SmallModel();
  for (int i = 0; i < 3; ++i) *model.mutable_graph()->add_initializer() = FloatTensor("big", {300, 300}, float(i));
  onnx::NodeProto* constant = AddNode(model.mutable_graph(), "Constant", {}, {"k"});
  onnx::AttributeProto* value = constant->add_attribute();
  value->set_name("value");
  value->set_type(onnx::AttributeProto::TENSOR);
  *value->mutable_t() = FloatTensor("", {200, 200});
  const std::string bytes = model.SerializeAsString();
  ScratchFolder dir;
  WriteText(dir.File("m.onnx"), bytes);
  auto file = ReadModelFile(dir.File("m.onnx"));
  REQUIRE(file.ok());
  CHECK(file->counts.payloads.size() == 4);
  CHECK(file->model->SerializeAsString() == bytes);
  auto parsed = ParseModel(bytes);
  REQUIRE(parsed.ok());
  CHECK(parsed->model->SerializeAsString() == bytes);
  ReadOptions leave_out;
  leave_out.payloads = Payloads::kLeaveOut;
  auto skeleton = ReadModelFile(dir.File("m.onnx"), leave_out);
  REQUIRE(skeleton.ok());
  CHECK(skeleton->left_out.size() == 4);
  CHECK(skeleton->left_out.at(&skeleton->model->graph().initializer(2)) == 360000);
  CHECK(skeleton->model->ByteSizeLong() < 3000);
}

TEST_CASE("a model is a regular file") {
  ScratchFolder dir;
  CheckRefused(RunInChild([&] { return ReadModelFile(dir.File("none.onnx")).status(); }), StatusCode::kUnavailable,
               "No such file");
  CheckRefused(RunInChild([&] { return ReadModelFile(dir.path()).status(); }), StatusCode::kPermissionDenied,
               "regular file");
  REQUIRE(::mkfifo((dir.File("pipe")).c_str(), 0600) == 0);
  CheckRefused(RunInChild([&] { return ReadModelFile(dir.File("pipe")).status(); }), StatusCode::kPermissionDenied,
               "regular file");
  CheckRefused(RunInChild([&] { return ReadModelFile("/dev/zero").status(); }), StatusCode::kPermissionDenied,
               "regular file");
}

// Reports a file that ends, or changes, in the middle of being read.
class ChangingFiles : public FileSystem {
 public:
  enum class How { kEndsEarly, kIsTouched, kFails } how = How::kEndsEarly;
  int reads = 0, stats = 0;
  ssize_t ReadAt(int file, void* buffer, size_t size, int64_t offset) override {
    if (++reads > 1 && how == How::kEndsEarly) return 0;
    if (how == How::kFails) return -EIO;
    if (reads == 1 && how == How::kIsTouched) return -EINTR;
    return FileSystem::ReadAt(file, buffer, size, offset);
  }
  int Stat(int file, struct stat* result) override {
    const int error = FileSystem::Stat(file, result);
    if (++stats == 2 && how == How::kIsTouched) result->st_mtim.tv_nsec ^= 1;
    return error;
  }
};

TEST_CASE("a file that changes while it is read is an error") {
  ScratchFolder dir;
  WriteText(dir.File("m.onnx"), SmallModel().SerializeAsString());
  const auto load = [&](ChangingFiles::How how) {
    ChangingFiles files;
    files.how = how;
    ReadOptions options;
    options.fs = &files;
    return ReadModelFile(dir.File("m.onnx"), options).status();
  };
  CHECK(load(ChangingFiles::How::kEndsEarly).message().find("file changed") != std::string::npos);
  CHECK(load(ChangingFiles::How::kIsTouched).message().find("file changed") != std::string::npos);
  CHECK(load(ChangingFiles::How::kFails).code() == StatusCode::kUnavailable);
}

}  // namespace
}  // namespace amp
