// Runs of amp-rewrite on models whose weights lie in files beside them: what one run removes, no other model needs.
#include <filesystem>
#include <set>

#include "ir/file/data_files.h"
#include "ir/file/model_file.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tests/scratch_folder.h"
#include "tools/rewrite/amp_rewrite.h"

namespace amp {
namespace {

// a.onnx is mixed, with a data file; b.onnx came from it by a run that had nothing to convert.
struct TwoModels {
  ScratchFolder folder;

  TwoModels() {
    onnx::ModelProto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[64,64] x) => (float[64,64] y) { y = MatMul (x, w) })");
    onnx::TensorProto* weights = model.mutable_graph()->add_initializer();
    weights->set_name("w");
    weights->set_data_type(onnx::TensorProto::FLOAT);
    for (int i = 0; i < 2; ++i) weights->add_dims(64);
    for (int i = 0; i < 64 * 64; ++i) weights->mutable_raw_data()->append("\x00\x00\x80\x3f", 4);
    folder.Write("m.onnx", model.SerializeAsString());
    Run("m.onnx", {"-o", "a.onnx", "--external-data", "always"});
    Run("a.onnx", {"-o", "b.onnx"});
    REQUIRE(DataFiles().size() == 2);
  }
  // Values of -o are files of the folder.
  ToolOutput Run(const std::string& model, const std::vector<std::string>& flags) const {
    std::vector<std::string> arguments = {folder.File(model)};
    for (const std::string& flag : flags) {
      const bool is_file = arguments.back() == "-o";
      arguments.push_back(is_file ? folder.File(flag) : flag);
    }
    ToolOutput output = RunAmpRewrite(arguments);
    INFO(output.err);
    REQUIRE(output.exit_code == 0);
    return output;
  }
  std::set<std::string> DataFiles() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.File(""))) {
      const std::string name = entry.path().filename().string();
      if (!OwnerOfDataFile(name).empty()) names.insert(name);
    }
    return names;
  }
  bool Loads(const std::string& name) const { return LoadModel(folder.File(name)).ok(); }
};

TEST_CASE("a model that came from another one outlives it") {
  const std::vector<std::pair<std::string, std::vector<std::string>>> runs = {
      {"b.onnx", {"-o", "a.onnx", "--policy", "float32"}},
      {"a.onnx", {"--in-place", "--policy", "float32"}},
      {"m.onnx", {"-o", "a.onnx", "--external-data", "always", "--dtype", "bfloat16"}},
      {"m.onnx", {"-o", "a.onnx", "--external-data", "never"}}};
  for (const auto& [model, flags] : runs) {
    INFO(model << " " << flags[1]);
    const TwoModels models;
    models.Run(model, flags);
    CHECK(models.Loads("a.onnx"));
    CHECK(models.Loads("b.onnx"));
  }
}

TEST_CASE("a model that was copied by hand keeps the data file that it shares, and that is said") {
  const TwoModels models;
  std::filesystem::copy(models.folder.File("a.onnx"), models.folder.File("copy.onnx"));
  const ToolOutput output = models.Run("a.onnx", {"--in-place", "--policy", "float32"});
  CHECK(output.err.find("is left; 'copy.onnx' names it") != std::string::npos);
  CHECK(models.Loads("copy.onnx"));
  CHECK(models.DataFiles().size() == 3);
}

TEST_CASE("a report replaces no data file, no list and no link") {
  const TwoModels models;
  const std::string data_file = *models.DataFiles().begin();
  models.folder.Write("w.list", "Softmax infer why\n");
  std::filesystem::create_symlink(data_file, models.folder.File("link.json"));
  std::filesystem::copy(models.folder.File(data_file), models.folder.File("weights.bin"));
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(models.folder.Read("a.onnx")));
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.external_data_size() > 0) tensor.mutable_external_data(0)->set_value("weights.bin");
  }
  models.folder.Write("foreign.onnx", model.SerializeAsString());
  const auto refused = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), models.folder.File("foreign.onnx"));
    const ToolOutput output = RunAmpRewrite(flags);
    INFO(output.err);
    CHECK(output.exit_code == 4);
    return output.err;
  };
  const auto report = [&](const std::string& name) {
    return refused(
        {"--dry-run", "--force", "--lists", models.folder.File("w.list"), "--report", models.folder.File(name)});
  };
  CHECK(report(data_file).find("has the name of a model's data file") != std::string::npos);
  CHECK(report("weights.bin").find("--report would replace the file of MODEL") != std::string::npos);
  CHECK(report("link.json").find("is a symbolic link") != std::string::npos);
  CHECK(report("w.list").find("--report would replace the file of --lists") != std::string::npos);
  CHECK(refused({"-o", models.folder.File("w.list"), "--lists", models.folder.File("w.list")})
            .find("-o would replace the file of --lists") != std::string::npos);
  CHECK(models.Loads("a.onnx"));
  CHECK(models.Loads("foreign.onnx"));
}

TEST_CASE("a rewrite that nobody else uses leaves no data file behind") {
  const TwoModels models;
  models.Run("m.onnx", {"-o", "a.onnx", "--external-data", "always", "--dtype", "bfloat16"});
  CHECK(models.DataFiles().size() == 2);
  models.Run("b.onnx", {"--in-place", "--external-data", "never"});
  CHECK(models.DataFiles().size() == 1);
  CHECK(models.Loads("b.onnx"));
}

// The bounds of a Clip are saturated at once, which external data otherwise are when they are written.
TEST_CASE("external data with an empty raw_data beside it are read, and nothing is written over") {
  const ScratchFolder folder;
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[8,8] x) => (float[8,8] y) { h = MatMul (x, w) c = Clip (h, low) y = MatMul (c, w) })");
  onnx::TensorProto* const w = model.mutable_graph()->add_initializer();
  w->set_name("w");
  w->set_data_type(onnx::TensorProto::FLOAT);
  for (int i = 0; i < 2; ++i) w->add_dims(8);
  for (int i = 0; i < 64; ++i) w->add_float_data(1);
  onnx::TensorProto* const low = model.mutable_graph()->add_initializer();
  low->set_name("low");
  low->set_data_type(onnx::TensorProto::FLOAT);
  constexpr size_t kElements = 100'000;
  low->add_dims(kElements);
  low->set_raw_data("");
  low->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* const location = low->add_external_data();
  location->set_key("location");
  location->set_value("low.bin");
  const std::vector<float> elements(kElements, -1e6F);
  folder.Write("low.bin", std::string(reinterpret_cast<const char*>(elements.data()), kElements * sizeof(float)));
  folder.Write("m.onnx", model.SerializeAsString());
  const ToolOutput output =
      RunAmpRewrite({folder.File("m.onnx"), "-o", folder.File("out.onnx"), "--verify=off", "--explain"});
  INFO(output.err);
  CHECK(output.exit_code == 0);
  CHECK_THAT(output.out, Catch::Matchers::Contains("100000 overflow (saturated)"));
}

}  // namespace
}  // namespace amp
