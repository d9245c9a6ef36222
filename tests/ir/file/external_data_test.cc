#include "ir/file/external_data.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>

#include "ir/base/status.h"
#include "ir/file/model_file.h"
#include "tests/catch2.h"
#include "tests/ir/file/fixtures.h"

namespace amp {
namespace {

using absl::StatusCode;
namespace fs = std::filesystem;

// openat2 as a kernel or a sandbox without it answers.
class NoOpenat2 : public FileSystem {
 public:
  explicit NoOpenat2(int error) : error_(error) {}
  int OpenBeneath(int, const std::string&) override { return -error_; }

 private:
  int error_;
};

struct Fixture {
  ScratchFolder dir;
  onnx::ModelProto model = SmallModel();
  std::string data;

  Fixture() : data(model.graph().initializer(0).raw_data()) {}
  onnx::TensorProto& weight() { return *model.mutable_graph()->mutable_initializer(0); }
  std::string Folder(const std::string& name) {
    fs::create_directories(dir.File(name));
    return dir.File(name);
  }
  ChildResult Load(const std::string& path, FileSystem& files = FileSystem::Real()) {
    ReadOptions options;
    options.fs = &files;
    return RunInChild([&]() -> absl::Status {
      auto file = LoadModel(path, options);
      if (!file.ok()) return file.status();
      auto view = TensorView::Of(file->model->graph().initializer(0), file->external.get());
      if (!view.ok()) return view.status();
      std::string bytes(static_cast<size_t>(view->size_bytes()), 0);
      AMP_RETURN_IF_ERROR(view->CopyTo(absl::MakeSpan(reinterpret_cast<std::byte*>(bytes.data()), bytes.size())));
      return bytes == data ? absl::OkStatus() : absl::InternalError("other bytes");
    });
  }
};

const std::vector<std::function<ChildResult(Fixture&, const std::string&)>> kWaysToOpen = {
    [](Fixture& f, const std::string& path) { return f.Load(path); },
    [](Fixture& f, const std::string& path) {
      NoOpenat2 files(ENOSYS);
      return f.Load(path, files);
    },
    [](Fixture& f, const std::string& path) {
      NoOpenat2 files(EPERM);
      return f.Load(path, files);
    },
};

TEST_CASE("data beside and below the model") {
  for (const auto& load : kWaysToOpen) {
    for (const char* location : {"w.bin", "./w.bin", "sub/w.bin", "sub//./w.bin", "sub/../w.bin"}) {
      INFO(location);
      Fixture f;
      f.Folder("sub");
      WriteText(f.dir.File("w.bin"), "0123" + f.data + "tail");
      WriteText(f.dir.File("sub/w.bin"), "0123" + f.data);
      MakeExternal(&f.weight(), location, 4);
      WriteText(f.dir.File("m.onnx"), f.model.SerializeAsString());
      CHECK(load(f, f.dir.File("m.onnx")).message.empty());
    }
  }
}

TEST_CASE("a model named without a directory looks in the current one") {
  Fixture f;
  WriteText(f.dir.File("w.bin"), f.data);
  MakeExternal(&f.weight(), "w.bin");
  WriteText(f.dir.File("m.onnx"), f.model.SerializeAsString());
  const auto here = fs::current_path();
  fs::current_path(f.dir.path());
  CHECK(f.Load("m.onnx").message.empty());
  fs::current_path(here);
}

TEST_CASE("locations that leave the model's directory are refused") {
  Fixture f;
  f.Folder("models/sub");
  WriteText(f.dir.File("secret.bin"), f.data);
  for (const std::string location :
       {"../secret.bin", "sub/../../secret.bin", "sub/../../models/../secret.bin", "..", "sub/..\\..\\secret.bin",
        "C:\\secret.bin", "C:secret.bin", "/etc/passwd", "//etc/passwd", "sub/", ".", "\\\\host\\share\\x"}) {
    INFO(location);
    Fixture each;
    MakeExternal(&each.weight(), location);
    WriteText(f.dir.File("models/m.onnx"), each.model.SerializeAsString());
    CheckRefused(f.Load(f.dir.File("models/m.onnx")), StatusCode::kPermissionDenied, "external data location");
  }
  Fixture zero;
  MakeExternal(&zero.weight(), std::string("w.bin\0/../../x", 14));
  WriteText(f.dir.File("models/m.onnx"), zero.model.SerializeAsString());
  CheckRefused(f.Load(f.dir.File("models/m.onnx")), StatusCode::kPermissionDenied, "has a zero byte");
}

TEST_CASE("symbolic links") {
  for (const auto& load : kWaysToOpen) {
    Fixture f;
    f.Folder("models");
    f.Folder("outside");
    WriteText(f.dir.File("outside/secret.bin"), f.data);
    MakeExternal(&f.weight(), "w.bin");
    WriteText(f.dir.File("models/m.onnx"), f.model.SerializeAsString());
    fs::create_symlink("../outside/secret.bin", f.dir.File("models/w.bin"));
    CheckRefused(load(f, f.dir.File("models/m.onnx")), StatusCode::kPermissionDenied, "symbolic link that leaves");
    fs::remove(f.dir.File("models/w.bin"));
    fs::create_symlink(f.dir.File("outside/secret.bin"), f.dir.File("models/w.bin"));
    CheckRefused(load(f, f.dir.File("models/m.onnx")), StatusCode::kPermissionDenied, "symbolic link that leaves");
    // A folder that is a link.
    Fixture g;
    g.Folder("models");
    g.Folder("outside");
    WriteText(g.dir.File("outside/w.bin"), g.data);
    fs::create_directory_symlink("../outside", g.dir.File("models/sub"));
    MakeExternal(&g.weight(), "sub/w.bin");
    WriteText(g.dir.File("models/m.onnx"), g.model.SerializeAsString());
    CheckRefused(load(g, g.dir.File("models/m.onnx")), StatusCode::kPermissionDenied, "symbolic link that leaves");
  }
}

TEST_CASE("a link that stays below the model's directory is followed") {
  Fixture f;
  f.Folder("sub");
  WriteText(f.dir.File("sub/real.bin"), f.data);
  fs::create_symlink("sub/real.bin", f.dir.File("w.bin"));
  MakeExternal(&f.weight(), "w.bin");
  WriteText(f.dir.File("m.onnx"), f.model.SerializeAsString());
  CHECK(f.Load(f.dir.File("m.onnx")).message.empty());
}

TEST_CASE("a hub cache: model and data are links into one folder of blobs") {
  for (const auto& load : kWaysToOpen) {
    Fixture f;
    f.Folder("hub/blobs");
    f.Folder("hub/snapshots/abc");
    MakeExternal(&f.weight(), "m.onnx_data");
    WriteText(f.dir.File("hub/blobs/111"), f.model.SerializeAsString());
    WriteText(f.dir.File("hub/blobs/222"), f.data);
    fs::create_symlink("../../blobs/111", f.dir.File("hub/snapshots/abc/m.onnx"));
    fs::create_symlink("../../blobs/222", f.dir.File("hub/snapshots/abc/m.onnx_data"));
    CHECK(load(f, f.dir.File("hub/snapshots/abc/m.onnx")).message.empty());
    // A link elsewhere stays refused, and so does one whose model is no link.
    WriteText(f.dir.File("secret.bin"), f.data);
    fs::remove(f.dir.File("hub/snapshots/abc/m.onnx_data"));
    fs::create_symlink("../../../secret.bin", f.dir.File("hub/snapshots/abc/m.onnx_data"));
    CheckRefused(load(f, f.dir.File("hub/snapshots/abc/m.onnx")), StatusCode::kPermissionDenied,
                 "symbolic link that leaves");
  }
}

TEST_CASE("only regular files are data") {
  for (const auto& load : kWaysToOpen) {
    Fixture f;
    MakeExternal(&f.weight(), "w.bin");
    WriteText(f.dir.File("m.onnx"), f.model.SerializeAsString());
    CheckRefused(load(f, f.dir.File("m.onnx")), StatusCode::kUnavailable, "No such file");
    f.Folder("w.bin");
    CheckRefused(load(f, f.dir.File("m.onnx")), StatusCode::kPermissionDenied, "not a regular file");
    fs::remove(f.dir.File("w.bin"));
    REQUIRE(::mkfifo((f.dir.File("w.bin")).c_str(), 0600) == 0);
    CheckRefused(load(f, f.dir.File("m.onnx")), StatusCode::kPermissionDenied, "not a regular file");
  }
}

TEST_CASE("offsets and lengths") {
  struct Case {
    const char* what;
    const char* key;
    const char* value;
    StatusCode code;
    const char* message;
  };
  const Case cases[] = {
      {"region to the end", "offset", "10", StatusCode::kOk, ""},
      {"one byte beyond", "offset", "11", StatusCode::kDataLoss,
       "expected 432 bytes at offset 11, found a file of 442"},
      {"offset near 2^63", "offset", "9223372036854775807", StatusCode::kDataLoss, "at offset 9223372036854775807"},
      {"offset of 2^63", "offset", "9223372036854775808", StatusCode::kDataLoss, "expected a decimal number"},
      {"negative offset", "offset", "-1", StatusCode::kDataLoss, "expected a decimal number, found '-1'"},
      {"signed offset", "offset", "+1", StatusCode::kDataLoss, "expected a decimal number"},
      {"hexadecimal offset", "offset", "0x1", StatusCode::kDataLoss, "expected a decimal number"},
      {"leading zero", "offset", "01", StatusCode::kDataLoss, "expected a decimal number"},
      {"blank", "offset", " 1", StatusCode::kDataLoss, "expected a decimal number"},
      {"empty offset", "offset", "", StatusCode::kDataLoss, "expected a decimal number"},
      {"length too short", "length", "431", StatusCode::kDataLoss,
       "expected 432 bytes for its shape and type, found 431"},
      {"length too long", "length", "433", StatusCode::kDataLoss, "found 433"},
      {"negative length", "length", "-432", StatusCode::kDataLoss, "expected a decimal number"},
      {"empty location", "location", "", StatusCode::kDataLoss, "expected a file name"},
  };
  for (const Case& test : cases) {
    INFO(test.what);
    Fixture f;
    MakeExternal(&f.weight(), "w.bin", 10);
    WriteText(f.dir.File("w.bin"), std::string(10, 'x') + f.data);
    for (auto& entry : *f.weight().mutable_external_data()) {
      if (entry.key() == test.key) entry.set_value(test.value);
    }
    WriteText(f.dir.File("m.onnx"), f.model.SerializeAsString());
    if (test.code == StatusCode::kOk) {
      CHECK(f.Load(f.dir.File("m.onnx")).message.empty());
    } else {
      CheckRefused(f.Load(f.dir.File("m.onnx")), test.code, test.message);
    }
  }
}

TEST_CASE("keys of external data") {
  const auto load = [](const std::function<void(onnx::TensorProto&)>& change, std::vector<std::string>* warnings) {
    Fixture f;
    MakeExternal(&f.weight(), "w.bin");
    WriteText(f.dir.File("w.bin"), f.data);
    change(f.weight());
    WriteText(f.dir.File("m.onnx"), f.model.SerializeAsString());
    auto file = LoadModel(f.dir.File("m.onnx"));
    if (file.ok()) *warnings = file->warnings;
    return file.status();
  };
  const auto add = [](const char* key, const char* value) {
    return [=](onnx::TensorProto& t) {
      t.add_external_data()->set_key(key);
      t.mutable_external_data(t.external_data_size() - 1)->set_value(value);
    };
  };
  std::vector<std::string> warnings;
  CHECK(load(add("checksum", "da39a3ee"), &warnings).ok());
  CHECK(warnings.empty());
  CHECK(load(add("basepath", "x\n"), &warnings).ok());
  CHECK(warnings == std::vector<std::string>{"external data key 'basepath' is unknown and ignored"});
  CHECK(load(add("offset", "0"), &warnings).message() == "initializer 'w': external data key 'offset' is given twice");
  CHECK(load([](onnx::TensorProto& t) { t.clear_external_data(); }, &warnings).message() ==
        "initializer 'w': external data: expected a location, found none");
  // offset and length may be left out.
  CHECK(load([](onnx::TensorProto& t) { t.mutable_external_data()->DeleteSubrange(1, 2); }, &warnings).ok());
}

TEST_CASE("a file with several hard links is read with a warning") {
  Fixture f;
  MakeExternal(&f.weight(), "w.bin");
  WriteText(f.dir.File("other.bin"), f.data);
  fs::create_hard_link(f.dir.File("other.bin"), f.dir.File("w.bin"));
  WriteText(f.dir.File("m.onnx"), f.model.SerializeAsString());
  auto file = LoadModel(f.dir.File("m.onnx"));
  REQUIRE(file.ok());
  CHECK(file->warnings == std::vector<std::string>{"external data 'w.bin' is a file with several hard links"});
}

TEST_CASE("data that shrinks after it was opened") {
  Fixture f;
  MakeExternal(&f.weight(), "w.bin");
  WriteText(f.dir.File("w.bin"), f.data);
  WriteText(f.dir.File("m.onnx"), f.model.SerializeAsString());
  auto file = LoadModel(f.dir.File("m.onnx"));
  REQUIRE(file.ok());
  REQUIRE(::truncate((f.dir.File("w.bin")).c_str(), 100) == 0);
  auto view = TensorView::Of(file->model->graph().initializer(0), file->external.get());
  REQUIRE(view.ok());
  const absl::Status status = view->ForEachChunk([](absl::Span<const std::byte>) { return absl::OkStatus(); });
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK(status.message() == "'w.bin': file changed while it was read: ends at byte 100");
}

}  // namespace
}  // namespace amp
