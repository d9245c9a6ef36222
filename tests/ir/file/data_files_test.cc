// Whose data file it is, and when it may go.
#include "ir/file/data_files.h"

#include <fcntl.h>

#include <cerrno>
#include <filesystem>

#include "ir/file/model_file.h"
#include "ir/file/save.h"
#include "tests/catch2.h"
#include "tests/ir/file/fixtures.h"

namespace amp {
namespace {

namespace fs = std::filesystem;

// out.onnx with a data file of its own, made from m.onnx, whose weights begin with `first`.
struct Written {
  ScratchFolder dir;
  std::string data_file;

  Written() { data_file = Write("out.onnx", 0); }

  std::string Write(const std::string& name, float first) {
    onnx::ModelProto model = SmallModel();
    *model.mutable_graph()->add_initializer() = FloatTensor("big", {5000}, first);
    WriteText(dir.File("m.onnx"), model.SerializeAsString());
    return Save("m.onnx", name).data_file;
  }
  SaveResult Save(const std::string& from, const std::string& to) {
    const LoadedFile file = *LoadModel(dir.File(from));
    SaveOptions options;
    options.input = &file;
    options.external_data = ExternalDataPolicy::kAlways;
    options.in_place = true;
    absl::StatusOr<SaveResult> saved = SaveModel(*file.model, file.weights(), dir.File(to), options);
    REQUIRE(saved.ok());
    return *std::move(saved);
  }
  SaveResult Copy(const std::string& from, const std::string& to, ExternalDataPolicy policy) {
    const LoadedFile file = *LoadModel(dir.File(from));
    SaveOptions options;
    options.external_data = policy;
    options.in_place = from == to;
    absl::StatusOr<SaveResult> saved = SaveUnchanged(file, dir.File(to), options);
    REQUIRE(saved.ok());
    return *std::move(saved);
  }
  bool Has(const std::string& name) const { return fs::exists(dir.File(name)); }
};

TEST_CASE("the owner of a data file is in its name") {
  CHECK(OwnerOfDataFile("m.onnx.0123456789abcdef.data") == "m.onnx");
  CHECK(OwnerOfDataFile("sub/m.onnx.0123456789abcdef.data") == "sub/m.onnx");
  for (const char* const name :
       {"m.onnx.data", "m.onnx.0123456789abcde.data", "m.onnx.0123456789abcdeF.data", "m.onnx.0123456789abcdef.bin",
        "m.onnx-0123456789abcdef.data", ".0123456789abcdef.data", "0123456789abcdef.data", ".data", ""}) {
    INFO(name);
    CHECK(OwnerOfDataFile(name).empty());
  }
}

TEST_CASE("a data file that nobody needs any more goes") {
  Written written;
  const std::string after = written.Write("out.onnx", 1);
  CHECK(after != written.data_file);
  CHECK(!written.Has(written.data_file));
  CHECK(written.Has(after));
}

TEST_CASE("a data file that another file of the folder names is left") {
  Written written;
  fs::copy(written.dir.File("out.onnx"), written.dir.File("copy.onnx"));
  const SaveResult saved = [&] {
    written.Write("other.onnx", 1);  // makes m.onnx another model
    return written.Save("m.onnx", "out.onnx");
  }();
  CHECK(saved.notes == std::vector<std::string>{"'" + written.data_file + "' is left; 'copy.onnx' names it"});
  CHECK(LoadModel(written.dir.File("copy.onnx")).ok());

  // The name in any file counts, also at the border between two reads; a similar name does not.
  for (const bool is_named : {true, false}) {
    Written again;
    const std::string name = is_named ? again.data_file : again.data_file.substr(1);
    WriteText(again.dir.File("notes.txt"), std::string((1 << 20) - 7, ' ') + name);
    again.Write("out.onnx", 1);
    CHECK(again.Has(again.data_file) == is_named);
  }
}

// One file cannot be opened.
class Unreadable : public FileSystem {
 public:
  explicit Unreadable(int error) : error_(error) {}
  int Open(int dir, const std::string& path, int flags, mode_t mode) override {
    return path == "secret.onnx" ? -error_ : FileSystem::Open(dir, path, flags, mode);
  }

 private:
  int error_;
};

TEST_CASE("a model of the folder above names a data file, too; a link to the model itself does not count") {
  for (const bool is_named : {true, false}) {
    const Written written;
    fs::create_directories(written.dir.File("sub"));
    for (const std::string name : {"out.onnx", written.data_file.c_str()}) {
      fs::rename(written.dir.File(name), written.dir.File("sub/") + name);
    }
    WriteText(written.dir.File("top.onnx"), is_named ? "sub/" + written.data_file : "sub/out.onnx");
    fs::create_symlink("out.onnx", written.dir.File("sub/link.onnx"));
    FileSystem& files = FileSystem::Real();
    const UniqueFile dir(files, files.Open(AT_FDCWD, written.dir.File("sub"), O_RDONLY | O_DIRECTORY, 0));
    const OldDataFiles old = JudgeOldDataFiles(files, dir.get(), {"out.onnx", {written.data_file}, {}, nullptr});
    CHECK(old.to_remove.size() == (is_named ? 0 : 1));
    if (is_named) CHECK(old.notes[0] == "'" + written.data_file + "' is left; '../top.onnx' names it");
  }
}

TEST_CASE("a data file is left where it cannot be seen whether another model names it") {
  const Written written;
  WriteText(written.dir.File("secret.onnx"), "a model, perhaps");
  const auto judge = [&](int error) {
    Unreadable files(error);
    const UniqueFile dir(files, files.Open(AT_FDCWD, written.dir.path(), O_RDONLY | O_DIRECTORY, 0));
    return JudgeOldDataFiles(files, dir.get(), {"out.onnx", {written.data_file}, {}, nullptr});
  };
  CHECK(judge(EACCES).notes ==
        std::vector<std::string>{"'" + written.data_file + "' is left; 'secret.onnx' cannot be read"});
  CHECK(judge(EACCES).to_remove.empty());
  CHECK(judge(ENOENT).to_remove == std::vector<std::string>{written.data_file});  // gone, or a link to nothing
}

TEST_CASE("a read-only data file is left") {
  Written written;
  fs::permissions(written.dir.File(written.data_file), fs::perms(0444));
  written.Write("out.onnx", 1);
  CHECK(written.Has(written.data_file));
}

TEST_CASE("the data file of the input is left when another model is replaced, and goes with the input itself") {
  Written written;
  fs::copy(written.dir.File("out.onnx"), written.dir.File("copy.onnx"));
  const LoadedFile copy = *LoadModel(written.dir.File("copy.onnx"));
  fs::remove(written.dir.File("copy.onnx"));  // nothing but the open input knows of it now
  SaveOptions options;
  options.input = &copy;
  options.external_data = ExternalDataPolicy::kNever;
  const absl::StatusOr<SaveResult> saved =
      SaveModel(*copy.model, copy.weights(), written.dir.File("out.onnx"), options);
  REQUIRE(saved.ok());
  CHECK(saved->notes == std::vector<std::string>{"'" + written.data_file + "' is left; the input is read from it"});

  Written in_place;
  const LoadedFile itself = *LoadModel(in_place.dir.File("out.onnx"));
  options.input = &itself;
  options.in_place = true;
  REQUIRE(SaveModel(*itself.model, itself.weights(), in_place.dir.File("out.onnx"), options).ok());
  CHECK(!in_place.Has(in_place.data_file));
}

TEST_CASE("an unchanged copy has a data file of its own where the input's is another model's") {
  Written written;
  const SaveResult copied = written.Copy("out.onnx", "copy.onnx", ExternalDataPolicy::kAuto);
  CHECK(OwnerOfDataFile(copied.data_file) == "copy.onnx");
  CHECK(ReadText(written.dir.File(copied.data_file)) == ReadText(written.dir.File(written.data_file)));
  written.Write("out.onnx", 1);
  CHECK(!written.Has(written.data_file));
  CHECK(LoadModel(written.dir.File("copy.onnx")).ok());

  // In place the model and its data stay as they are.
  const std::string before = ReadText(written.dir.File("copy.onnx"));
  CHECK(written.Copy("copy.onnx", "copy.onnx", ExternalDataPolicy::kAuto).data_file.empty());
  CHECK(ReadText(written.dir.File("copy.onnx")) == before);
  CHECK(written.Has(copied.data_file));
}

TEST_CASE("an unchanged copy has its weights where they are wanted") {
  Written written;
  CHECK(written.Copy("out.onnx", "embedded.onnx", ExternalDataPolicy::kNever).data_file.empty());
  CHECK(LoadModel(written.dir.File("embedded.onnx"))->external->files().empty());
  CHECK(OwnerOfDataFile(written.Copy("m.onnx", "external.onnx", ExternalDataPolicy::kAlways).data_file) ==
        "external.onnx");
  CHECK(written.Copy("m.onnx", "same.onnx", ExternalDataPolicy::kNever).data_file.empty());
  CHECK(ReadText(written.dir.File("same.onnx")) == ReadText(written.dir.File("m.onnx")));
}

TEST_CASE("what has the data file's name and is not that file is not replaced") {
  for (const std::string& contents : {std::string("somebody's"), std::string(20000, 's')}) {
    const Written written;
    WriteText(written.dir.File(written.data_file), contents);
    const LoadedFile file = *LoadModel(written.dir.File("m.onnx"));
    SaveOptions options;
    options.input = &file;
    options.external_data = ExternalDataPolicy::kAlways;
    const auto before = Snapshot(written.dir.path());
    CheckRefused(RunInChild([&] {
                   return SaveModel(*file.model, file.weights(), written.dir.File("out.onnx"), options).status();
                 }),
                 absl::StatusCode::kPermissionDenied,
                 "' is in the way: expected 20000 bytes with that hash, found something else");
    CHECK(Snapshot(written.dir.path()) == before);
  }
}

TEST_CASE("a data file that is there already is left as it is") {
  Written written;
  fs::permissions(written.dir.File(written.data_file), fs::perms(0444));
  CHECK(written.Save("m.onnx", "out.onnx").data_file == written.data_file);
  CHECK(fs::status(written.dir.File(written.data_file)).permissions() == fs::perms(0444));
  CHECK(LoadModel(written.dir.File("out.onnx")).ok());
}

}  // namespace
}  // namespace amp
