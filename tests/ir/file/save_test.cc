#include "ir/file/save.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "ir/base/atomic_file.h"
#include "ir/base/convert.h"
#include "ir/base/status.h"
#include "ir/file/model_file.h"
#include "tests/catch2.h"
#include "tests/ir/file/fixtures.h"

namespace amp {
namespace {

using absl::StatusCode;
namespace fs = std::filesystem;

// A model with `count` initializers of `elements` floats each, in one data file if `external`.
void WriteModel(const ScratchFolder& dir, const std::string& name, int count, int64_t elements, bool external) {
  onnx::ModelProto model = SmallModel();
  std::string data;
  for (int i = 0; i < count; ++i) {
    onnx::TensorProto* tensor = model.mutable_graph()->add_initializer();
    *tensor = FloatTensor("big" + std::to_string(i), {elements}, float(i));
    if (!external) continue;
    const std::string raw = tensor->raw_data();
    MakeExternal(tensor, name + ".bin", static_cast<int64_t>(data.size()));
    data += raw;
  }
  if (external) WriteText(dir.File(name + ".bin"), data);
  WriteText(dir.File(name), model.SerializeAsString());
}

std::string Payload(const LoadedFile& file, const onnx::TensorProto& tensor) {
  auto view = TensorView::Of(tensor, file.external.get());
  REQUIRE(view.ok());
  std::string bytes(static_cast<size_t>(view->size_bytes()), 0);
  REQUIRE(view->CopyTo(absl::MakeSpan(reinterpret_cast<std::byte*>(bytes.data()), bytes.size())).ok());
  return bytes;
}

// Gives every float32 initializer of 100 elements and more a low type, and its elements when it is saved.
Weights NarrowAll(LoadedFile& file, DType low) {
  Weights weights = file.weights();
  for (auto& tensor : *file.model->mutable_graph()->mutable_initializer()) {
    if (tensor.data_type() != onnx::TensorProto::FLOAT) continue;
    auto* original = google::protobuf::Arena::CreateMessage<onnx::TensorProto>(file.arena.get());
    original->CopyFrom(tensor);
    weights.ConvertWhenSaved(tensor, *weights.View(*original));
    tensor.clear_raw_data();
    tensor.clear_external_data();
    tensor.clear_data_location();
    tensor.set_data_type(static_cast<int>(low));
  }
  return weights;
}

std::string DataFileOf(const ScratchFolder& dir, const std::string& name) {
  for (const auto& [entry, contents] : Snapshot(dir.path())) {
    if (entry.rfind(name + ".", 0) == 0 && entry.size() == name.size() + 22) return entry;
  }
  return "";
}

TEST_CASE("an embedded model is written as protobuf writes it") {
  ScratchFolder dir;
  WriteModel(dir, "m.onnx", 3, 50'000, false);
  auto file = *LoadModel(dir.File("m.onnx"));
  SaveOptions options;
  options.input = &file;
  auto saved = SaveModel(*file.model, file.weights(), dir.File("out.onnx"), options);
  REQUIRE(saved.ok());
  CHECK(ReadText(dir.File("out.onnx")) == ReadText(dir.File("m.onnx")));
  CHECK(saved->model_bytes == static_cast<int64_t>(ReadText(dir.File("m.onnx")).size()));
  CHECK(saved->data_file.empty());
  CHECK(file.model->SerializeAsString() == ReadText(dir.File("m.onnx")));  // as it was
  CHECK(Snapshot(dir.path()).size() == 2);
}

TEST_CASE("policies decide where weights go") {
  for (const bool was_external : {false, true}) {
    for (const auto policy : {ExternalDataPolicy::kAuto, ExternalDataPolicy::kAlways, ExternalDataPolicy::kNever}) {
      INFO("external before: " << was_external << ", policy " << int(policy));
      ScratchFolder dir;
      WriteModel(dir, "m.onnx", 3, 50'000, was_external);
      auto file = *LoadModel(dir.File("m.onnx"));
      const std::string before = file.model->SerializeAsString();
      SaveOptions options;
      options.input = &file;
      options.external_data = policy;
      auto saved = SaveModel(*file.model, file.weights(), dir.File("out.onnx"), options);
      REQUIRE(saved.ok());
      CHECK(file.model->SerializeAsString() == before);
      const bool external =
          policy == ExternalDataPolicy::kAlways || (policy == ExternalDataPolicy::kAuto && was_external);
      CHECK(saved->data_file.empty() != external);
      auto again = LoadModel(dir.File("out.onnx"));
      REQUIRE(again.ok());
      const auto& graph = again->model->graph();
      for (int i = 0; i < graph.initializer_size(); ++i) {
        CHECK(Payload(*again, graph.initializer(i)) == Payload(file, file.model->graph().initializer(i)));
        const bool large = graph.initializer(i).name().rfind("big", 0) == 0;
        CHECK(IsExternal(graph.initializer(i)) == (external && large));  // w is below 1 KiB
      }
      CHECK(Snapshot(dir.path()).size() == size_t(2 + was_external + external));
    }
  }
}

TEST_CASE("auto goes external from a size on") {
  ScratchFolder dir;
  WriteModel(dir, "m.onnx", 2, 1000, false);
  auto file = *LoadModel(dir.File("m.onnx"));
  SaveOptions options;
  options.input = &file;
  const auto goes_out = [&](int64_t from) {
    options.external_from_bytes = from;
    auto saved = SaveModel(*file.model, file.weights(), dir.File("out.onnx"), options);
    REQUIRE(saved.ok());
    return !saved->data_file.empty();
  };
  const bool small_limit = goes_out(8000), large_limit = goes_out(100'000);
  CHECK(small_limit);
  CHECK(!large_limit);
}

TEST_CASE("typed fields go to the data file as raw_data") {
  ScratchFolder dir;
  onnx::ModelProto model = SmallModel();
  auto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("halves");
  tensor->set_data_type(onnx::TensorProto::FLOAT16);
  tensor->add_dims(1000);
  for (int i = 0; i < 1000; ++i) tensor->add_int32_data(i);
  WriteText(dir.File("m.onnx"), model.SerializeAsString());
  auto file = *LoadModel(dir.File("m.onnx"));
  SaveOptions options;
  options.input = &file;
  options.external_data = ExternalDataPolicy::kAlways;
  REQUIRE(SaveModel(*file.model, file.weights(), dir.File("out.onnx"), options).ok());
  auto again = *LoadModel(dir.File("out.onnx"));
  CHECK(IsExternal(again.model->graph().initializer(2)));
  CHECK(Payload(again, again.model->graph().initializer(2)) == Payload(file, file.model->graph().initializer(2)));
}

TEST_CASE("tensors that share a region go on sharing it") {
  ScratchFolder dir;
  onnx::ModelProto model = SmallModel();
  onnx::TensorProto shared = FloatTensor("a", {1000});
  WriteText(dir.File("w.bin"), shared.raw_data());
  MakeExternal(&shared, "w.bin");
  *model.mutable_graph()->add_initializer() = shared;
  shared.set_name("b");
  *model.mutable_graph()->add_initializer() = shared;
  WriteText(dir.File("m.onnx"), model.SerializeAsString());
  auto file = *LoadModel(dir.File("m.onnx"));
  SaveOptions options;
  options.input = &file;
  auto saved = SaveModel(*file.model, file.weights(), dir.File("out.onnx"), options);
  REQUIRE(saved.ok());
  CHECK(saved->data_bytes == 4000);
}

TEST_CASE("weights are narrowed on the way") {
  for (const bool external : {false, true}) {
    for (const DType low : {DType::kFloat16, DType::kBfloat16}) {
      ScratchFolder dir;
      WriteModel(dir, "m.onnx", 2, 300'000, external);  // several chunks each
      auto original = *LoadModel(dir.File("m.onnx"));
      auto file = *LoadModel(dir.File("m.onnx"));
      const Weights weights = NarrowAll(file, low);
      SaveOptions options;
      options.input = &file;
      auto saved = SaveModel(*file.model, weights, dir.File("out.onnx"), options);
      REQUIRE(saved.ok());
      CHECK(saved->data_file.empty() != external);
      auto again = *LoadModel(dir.File("out.onnx"));
      for (int i : {0, 2, 3}) {  // w is small and embedded
        const auto& tensor = again.model->graph().initializer(i);
        CHECK(tensor.data_type() == static_cast<int>(low));
        const std::string wide = Payload(original, original.model->graph().initializer(i));
        std::vector<uint16_t> expected(wide.size() / 4);
        Narrow(absl::MakeConstSpan(reinterpret_cast<const float*>(wide.data()), expected.size()), low,
               absl::MakeSpan(expected));
        CHECK(Payload(again, tensor) == std::string(reinterpret_cast<const char*>(expected.data()), wide.size() / 2));
      }
    }
  }
}

TEST_CASE("the same model gives the same bytes and the same names") {
  ScratchFolder dir;
  WriteModel(dir, "m.onnx", 3, 5000, true);
  const auto save = [&] {
    auto file = *LoadModel(dir.File("m.onnx"));
    SaveOptions options;
    options.input = &file;
    REQUIRE(SaveModel(*file.model, file.weights(), dir.File("out.onnx"), options).ok());
    return Snapshot(dir.path());
  };
  const auto first = save();
  CHECK(save() == first);
  CHECK(first.size() == 4);
}

TEST_CASE("the old data file goes, and only that") {
  ScratchFolder dir;
  WriteModel(dir, "m.onnx", 1, 5000, true);
  auto file = *LoadModel(dir.File("m.onnx"));
  SaveOptions options;
  options.input = &file;
  REQUIRE(SaveModel(*file.model, file.weights(), dir.File("out.onnx"), options).ok());
  const std::string first = DataFileOf(dir, "out.onnx");
  WriteText(dir.File("out.onnx.0123456789abcdef.data"), "not referred to");
  WriteText(dir.File("m.onnx.fedcba9876543210.data"), "another model's");
  const Weights weights = NarrowAll(file, DType::kFloat16);
  auto saved = SaveModel(*file.model, weights, dir.File("out.onnx"), options);
  REQUIRE(saved.ok());
  const auto after = Snapshot(dir.path());
  CHECK(saved->data_file != first);
  CHECK(after.count(first) == 0);
  CHECK(after.count(saved->data_file) == 1);
  CHECK(after.count("out.onnx.0123456789abcdef.data") == 1);
  CHECK(after.count("m.onnx.fedcba9876543210.data") == 1);
  CHECK(after.count("m.onnx.bin") == 1);
  CHECK(after.size() == 6);
}

TEST_CASE("in place, the input's data of another name stays, with a note") {
  ScratchFolder dir;
  WriteModel(dir, "m.onnx", 1, 5000, true);
  auto file = *LoadModel(dir.File("m.onnx"));
  const std::string payload = Payload(file, file.model->graph().initializer(2));
  SaveOptions options;
  options.input = &file;
  options.in_place = true;
  auto saved = SaveModel(*file.model, file.weights(), dir.File("m.onnx"), options);
  REQUIRE(saved.ok());
  CHECK(saved->notes == std::vector<std::string>{"'m.onnx.bin' is left; the model that was replaced used it"});
  auto again = *LoadModel(dir.File("m.onnx"));
  CHECK(Payload(again, again.model->graph().initializer(2)) == payload);
  CHECK(Snapshot(dir.path()).size() == 3);
}

TEST_CASE("what must not be overwritten") {
  ScratchFolder dir;
  WriteModel(dir, "m.onnx", 1, 5000, true);
  fs::create_hard_link(dir.File("m.onnx"), dir.File("link.onnx"));
  fs::create_symlink("m.onnx", dir.File("symlink.onnx"));
  fs::create_directories(dir.File("folder"));
  REQUIRE(::mkfifo((dir.File("pipe")).c_str(), 0600) == 0);
  auto file = *LoadModel(dir.File("m.onnx"));
  SaveOptions options;
  options.input = &file;
  const auto before = Snapshot(dir.path());
  struct Case {
    std::string output;
    StatusCode code;
    const char* message;
  };
  for (const Case& test : std::vector<Case>{
           {"m.onnx", StatusCode::kPermissionDenied, "the output is the input; expected --in-place"},
           {"./m.onnx", StatusCode::kPermissionDenied, "the output is the input"},
           {"link.onnx", StatusCode::kPermissionDenied, "the output is the input"},
           {"symlink.onnx", StatusCode::kPermissionDenied, "the output is the input"},
           {"m.onnx.bin", StatusCode::kPermissionDenied, "the output is the input's external data 'm.onnx.bin'"},
           {"folder", StatusCode::kPermissionDenied, "folder: expected a file, found a directory"},
           {"pipe", StatusCode::kPermissionDenied, "pipe: exists and is not a regular file"},
           {"folder/", StatusCode::kInvalidArgument, "found a directory"},
           {"none/out.onnx", StatusCode::kUnavailable, "No such file"},
       }) {
    INFO(test.output);
    CheckRefused(
        RunInChild([&] { return SaveModel(*file.model, file.weights(), dir.File(test.output), options).status(); }),
        test.code, test.message);
    CHECK(Snapshot(dir.path()) == before);
  }
}

TEST_CASE("a model replaces no file of another kind") {
  ScratchFolder dir;
  WriteModel(dir, "m.onnx", 1, 5000, false);
  WriteText(dir.File("out.onnx"), "notes");
  const auto file = *LoadModel(dir.File("m.onnx"));
  SaveOptions options;
  options.input = &file;
  const auto before = Snapshot(dir.path());
  CheckRefused(
      RunInChild([&] { return SaveModel(*file.model, file.weights(), dir.File("out.onnx"), options).status(); }),
      StatusCode::kPermissionDenied, "out.onnx: exists and is of another kind; expected an ONNX model, or --force");
  CHECK(Snapshot(dir.path()) == before);
  options.force = true;
  CHECK(SaveModel(*file.model, file.weights(), dir.File("out.onnx"), options).ok());
}

TEST_CASE("what is too large to embed is refused") {
  ScratchFolder dir;
  WriteModel(dir, "m.onnx", 2, 50'000, true);
  auto file = *LoadModel(dir.File("m.onnx"));
  SaveOptions options;
  options.input = &file;
  options.external_data = ExternalDataPolicy::kNever;
  const auto embedded_size = SaveModel(*file.model, file.weights(), dir.File("size.onnx"), options)->model_bytes;
  fs::remove(dir.File("size.onnx"));
  const auto before = Snapshot(dir.path());
  options.limits.model_bytes = embedded_size;
  CHECK(SaveModel(*file.model, file.weights(), dir.File("out.onnx"), options).ok());
  fs::remove(dir.File("out.onnx"));
  options.limits.model_bytes = embedded_size - 1;
  CheckRefused(
      RunInChild([&] { return SaveModel(*file.model, file.weights(), dir.File("out.onnx"), options).status(); }),
      StatusCode::kResourceExhausted, "out.onnx: expected at most");
  CHECK(Snapshot(dir.path()) == before);
}

TEST_CASE("verbatim copies") {
  ScratchFolder dir;
  WriteModel(dir, "m.onnx", 1, 5000, false);
  // Bytes that protobuf would not write: fields out of order.
  WriteText(dir.File("m.onnx"), ReadText(dir.File("m.onnx")) + std::string("\x08\x08", 2));
  auto file = *LoadModel(dir.File("m.onnx"));
  REQUIRE(SaveUnchanged(file, dir.File("out.onnx"), {}).ok());
  CHECK(ReadText(dir.File("out.onnx")) == ReadText(dir.File("m.onnx")));
  CHECK(SaveUnchanged(file, dir.File("m.onnx"), {}).status().code() == StatusCode::kPermissionDenied);

  ScratchFolder with_data, elsewhere;
  WriteModel(with_data, "m.onnx", 1, 5000, true);
  auto external = *LoadModel(with_data.File("m.onnx"));
  REQUIRE(SaveUnchanged(external, with_data.File("out.onnx"), {}).ok());
  CHECK(ReadText(with_data.File("out.onnx")) == ReadText(with_data.File("m.onnx")));
  CHECK(Snapshot(with_data.path()).size() == 3);
  auto moved = SaveUnchanged(external, elsewhere.File("out.onnx"), {});
  REQUIRE(moved.ok());
  CHECK(!moved->data_file.empty());
  auto again = *LoadModel(elsewhere.File("out.onnx"));
  CHECK(Payload(again, again.model->graph().initializer(2)) ==
        Payload(external, external.model->graph().initializer(2)));
}

TEST_CASE("verbatim copies of a hub cache bring the data along") {
  ScratchFolder dir, hub;
  WriteModel(hub, "blob", 1, 5000, true);
  fs::create_directories(hub.File("snap"));
  fs::create_symlink("../blob", hub.File("snap/m.onnx"));
  fs::create_symlink("../blob.bin", hub.File("snap/blob.bin"));
  auto file = *LoadModel(hub.File("snap/m.onnx"));
  REQUIRE(SaveUnchanged(file, hub.File("snap/out.onnx"), {}).ok());
  CHECK(LoadModel(hub.File("snap/out.onnx")).ok());
}

TEST_CASE("leftovers of dead processes are swept, those of living ones not") {
  ScratchFolder dir;
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ::waitpid(dead, nullptr, 0);
  const std::string gone = ".out.onnx.amp-" + std::to_string(dead) + "-0123456789abcdef.tmp";
  const std::string alive = ".out.onnx.amp-" + std::to_string(::getppid()) + "-0123456789abcdef.tmp";
  const std::string others = ".other.onnx.amp-" + std::to_string(dead) + "-0123456789abcdef.tmp";
  const std::string user = ".out.onnx.amp-notes.tmp";
  for (const auto& name : {gone, alive, others, user}) WriteText(dir.File(name), "x");
  REQUIRE(WriteFileAtomically(dir.File("out.onnx"), {}, [](AtomicFile& file) { return file.Append("done"); }).ok());
  const auto after = Snapshot(dir.path());
  CHECK(after.count(gone) == 0);
  CHECK(after.count(alive) == 1);
  CHECK(after.count(others) == 1);
  CHECK(after.count(user) == 1);
  CHECK(after.at("out.onnx") == "done");
}

TEST_CASE("a private file stays private when it is replaced") {
  ScratchFolder dir;
  WriteText(dir.File("out.onnx"), "");
  fs::permissions(dir.File("out.onnx"), fs::perms(0600));
  REQUIRE(WriteFileAtomically(dir.File("out.onnx"), {}, [](AtomicFile& file) { return file.Append("new"); }).ok());
  CHECK((fs::status(dir.File("out.onnx")).permissions() & fs::perms::mask) == fs::perms(0600));
}

TEST_CASE("runs on one output at the same time leave one whole model") {
  ScratchFolder dir;
  WriteModel(dir, "a.onnx", 1, 40'000, true);
  WriteModel(dir, "b.onnx", 2, 30'000, true);
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      int failures = 0;
      for (int j = 0; j < 5; ++j) {
        auto file = LoadModel(dir.File(i % 2 == 0 ? "a.onnx" : "b.onnx"));
        SaveOptions options;
        options.input = &*file;
        failures += SaveModel(*file->model, file->weights(), dir.File("out.onnx"), options).ok() ? 0 : 1;
      }
      ::_exit(failures);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));  // the number of runs that failed
  }
  CHECK(LoadModel(dir.File("out.onnx")).ok());
  // No temporary, and of the data files the one that out.onnx refers to.
  int data_files = 0;
  for (const auto& [name, contents] : Snapshot(dir.path())) {
    CHECK(name.rfind(".out", 0) != 0);
    data_files += name.rfind("out.onnx.", 0) == 0 ? 1 : 0;
  }
  CHECK(data_files == 1);
}

TEST_CASE("a read-only file is not replaced") {
  ScratchFolder dir;
  WriteModel(dir, "m.onnx", 1, 5000, false);
  const auto file = *LoadModel(dir.File("m.onnx"));
  SaveOptions options;
  options.input = &file;
  options.in_place = true;
  for (const std::string name : {"m.onnx", "out.onnx", "report.json"}) {
    if (name == "out.onnx") fs::copy_file(dir.File("m.onnx"), dir.File(name));
    if (name == "report.json") WriteText(dir.File(name), "{}");
    fs::permissions(dir.File(name), fs::perms(0444));
    const auto before = Snapshot(dir.path());
    const absl::Status status =
        name == "report.json"
            ? WriteFileAtomically(dir.File(name), {FileKind::kJson}, [](AtomicFile& out) { return out.Append("new"); })
            : SaveModel(*file.model, file.weights(), dir.File(name), options).status();
    CHECK(status.code() == StatusCode::kPermissionDenied);
    CHECK(status.message() == dir.File(name) +
                                  ": exists and is read-only; expected a file that may be replaced: chmod u+w "
                                  "it, or name another");
    CHECK(Snapshot(dir.path()) == before);
  }
  fs::permissions(dir.File("out.onnx"), fs::perms(0200));
  CHECK(SaveModel(*file.model, file.weights(), dir.File("out.onnx"), options).ok());
}

}  // namespace
}  // namespace amp
