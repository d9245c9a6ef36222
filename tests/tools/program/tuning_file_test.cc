// Choices by time are kept in a file, and known in the next run; what is no such file is never overwritten.
#include "tools/program/tuning_file.h"

#include "ir/file/text.h"
#include "tests/catch2.h"
#include "tests/runtime/device/fake_device.h"
#include "tests/scratch_folder.h"
#include "tools/run/amp_run.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

std::unique_ptr<TuningFile> OpenTuning(const std::string& path) {
  absl::StatusOr<std::unique_ptr<TuningFile>> file = TuningFile::Open(path);
  INFO(file.status().message());
  REQUIRE(file.ok());
  return *std::move(file);
}

std::string Find(const TuningFile& file, const char* key) {
  char value[8] = "";
  const size_t size = file.choices().find(file.choices().self, key, value, sizeof value);
  return {value, size};
}
void Keep(const TuningFile& file, const char* key, const std::string& value) {
  file.choices().keep(file.choices().self, key, value.data(), value.size());
}

TEST_CASE("choices are found again, beside those of others") {
  const ScratchFolder folder;
  const std::string path = folder.File("t.json");
  const auto first = OpenTuning(path), second = OpenTuning(path);
  CHECK(Find(*first, "a") == "");
  Keep(*first, "a", std::string("\0\x7f\xff", 3));
  Keep(*second, "b", "two");
  CHECK(first->num_added() == 1);
  REQUIRE(first->Save().ok());
  REQUIRE(second->Save().ok());
  CHECK(first->num_added() == 0);
  const auto third = OpenTuning(path);
  CHECK(Find(*third, "a") == std::string("\0\x7f\xff", 3));
  CHECK(Find(*third, "b") == "two");
  CHECK(Find(*third, "c") == "");
}

TEST_CASE("nothing new writes nothing") {
  const ScratchFolder folder;
  const std::string path = folder.File("t.json");
  REQUIRE(OpenTuning(path)->Save().ok());
  CHECK_FALSE(folder.Has("t.json"));
}

TEST_CASE("a file of something else is an error, and stays") {
  const ScratchFolder folder;
  for (const char* text : {"", "notes", "{}", R"({"schema": 2, "choices": {}})",
                           R"({"schema": 1, "choices": {"a": 3}})", R"({"schema": 1, "choices": {"a": "!"}})"}) {
    const std::string path = folder.Write("t.json", text);
    const auto file = TuningFile::Open(path);
    INFO(text);
    CHECK(file.status().message() == path + ": expected a file that --autotune wrote, of schema 1");
    CHECK(folder.Read("t.json") == text);
  }
  CHECK_THAT(std::string(TuningFile::Open(folder.path()).status().message()), Contains("found none that is regular"));
  const std::string path = folder.File("late.json");
  const auto file = OpenTuning(path);
  Keep(*file, "a", "1");
  folder.Write("late.json", "notes");
  CHECK_FALSE(file->Save().ok());
  CHECK(folder.Read("late.json") == "notes");
}

TEST_CASE("amp-run --autotune times a product once, and knows it the next time") {
  const ScratchFolder folder;
  const std::string model = folder.Write("m.onnx", *ParseOnnxText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[4,3] a, float[3,2] b, float[2,2] c) => (float[4,2] z) { y = MatMul (a, b) z = MatMul (y, c) })"));
  for (int run = 0; run < 2; ++run) {
    const auto state = std::make_shared<FakeDeviceState>();
    const ToolOutput output =
        RunAmpRun({model, "--random-inputs", "--device", "cuda", "--autotune", folder.File("t.json")}, {},
                  {.open = [&](int) { return OpenFakeDevice(state); }});
    INFO(output.err);
    CHECK(output.exit_code == 0);
    CHECK(state->timed == (run == 0 ? 2 : 0));
  }
  CHECK_THAT(folder.Read("t.json"), Contains("double 4 2 3"));
  const ToolOutput output =
      RunAmpRun({model, "--random-inputs", "--device", "cuda", "--autotune", folder.Write("notes.json", "notes")}, {},
                {.open = [](int) { return OpenFakeDevice(); }});
  CHECK(output.exit_code == 2);
  CHECK_THAT(output.err, Contains("notes.json: expected a file that --autotune wrote"));
}

TEST_CASE(
    "amp-run --autotune times convolutions too, and says what of a file it does not use, but for other machines") {
  const ScratchFolder folder;
  const std::string model = folder.Write("m.onnx", *ParseOnnxText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2,5,5] a, float[3,2,3,3] b) => (float[1,3,3,3] y) { y = Conv (a, b) })"));
  const auto run = [&](const std::string& file) {
    return RunAmpRun({model, "--random-inputs", "--device", "cuda", "--autotune", file}, {},
                     {.open = [](int) { return OpenFakeDevice(); }});
  };
  CHECK(run(folder.File("t.json")).err.empty());
  CHECK_THAT(folder.Read("t.json"), Contains("\"double convolution 2 3\": \"MQ==\""));
  const std::string spoilt = folder.Write(
      "s.json", R"({"schema": 1, "choices": {"double convolution 2 3": "Mg==", "cudnn 90000 another": "Mg=="}})");
  CHECK(run(spoilt).err == "amp-run: warning: " + spoilt +
                               ": the choice for 'double convolution 2 3' is not used: the double has the first one "
                               "alone\n");
  CHECK_THAT(folder.Read("s.json"),
             Contains("\"double convolution 2 3\": \"MQ==\"") && Contains("\"cudnn 90000 another\": \"Mg==\""));
  CHECK(run(spoilt).err.empty());
}

}  // namespace
}  // namespace amp
