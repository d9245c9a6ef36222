// Mistakes of a host program give it a status that names the place, printed as it is written. Its process lives on.
#include <sstream>

#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tests/scratch_folder.h"
#include "tests/tools/train/step_graphs.h"
#include "tools/library/amp.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;
using Floats = std::vector<float>;

Tensor FloatsOf(const Dims& dims, const Floats& elements) { return Tensor::Of<float>(DType::kFloat32, dims, elements); }

std::unique_ptr<Session> SessionOf(const std::string& text) {
  absl::StatusOr<std::unique_ptr<Session>> session = MakeSession(ModelFromText(text));
  INFO(session.status().message());
  REQUIRE(session.ok());
  return *std::move(session);
}

std::string Printed(const absl::Status& status) {
  std::ostringstream out;
  out << status;
  return out.str();
}

std::string RunError(const Session& session, const NamedDatums& inputs) {
  const absl::StatusOr<std::vector<Datum>> outputs = session.Run(inputs);
  REQUIRE_FALSE(outputs.ok());
  CHECK(absl::IsInvalidArgument(outputs.status()));
  return std::string(outputs.status().message());
}

constexpr const char* kRelu = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2,2] x) => (float[2,2] y) { y = Relu (x) })";
constexpr const char* kFirst = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (seq(float[2]) x) => (float[2] y) <int64 i = {0}> { y = SequenceAt (x, i) })";

TEST_CASE("a tensor of as many elements as its dims say holds them") {
  const Tensor tensor = FloatsOf({2, 2}, {1, 2, 3, 4});
  CHECK(tensor.status().ok());
  CHECK(tensor.elements<float>()[3] == 4);
  CHECK(FloatsOf({0, 3}, {}).status().ok());
  CHECK(Tensor().status().ok());
  CHECK(SessionOf(kRelu)->Run({{"x", tensor}}).ok());
}

TEST_CASE("a tensor of another number of elements is an error, where it is made and where it is given") {
  const Tensor short_one = FloatsOf({2, 2}, {1, 2, 3});
  CHECK(absl::IsInvalidArgument(short_one.status()));
  CHECK(short_one.status().message() == "expected 4 elements of float32[2,2], found 3");
  CHECK(FloatsOf({2}, {1, 2, 3}).status().message() == "expected 2 elements of float32[2], found 3");
  CHECK(FloatsOf({0}, {1}).status().message() == "expected 0 elements of float32[0], found 1");
  CHECK(RunError(*SessionOf(kRelu), {{"x", short_one}}) == "input 'x': expected 4 elements of float32[2,2], found 3");
  CHECK(RunError(*SessionOf(kFirst), {{"x", Sequence{{Datum(FloatsOf({2}, {1}))}}}}) ==
        "input 'x': expected 2 elements of float32[2], found 1");
}

TEST_CASE("elements of another type, and dims that no tensor has, are errors as well") {
  CHECK_THAT(std::string(Tensor::Of<double>(DType::kFloat32, {1}, {1.0}).status().message()),
             Contains("expected elements as float32 has them, found elements of 8 bytes each"));
  CHECK_THAT(std::string(Tensor::Of<float>(DType::kString, {1}, {1.0F}).status().message()), Contains("string"));
  CHECK_THAT(std::string(Tensor::Of<std::string>(DType::kFloat32, {1}, {"a"}).status().message()), Contains("strings"));
  CHECK(Tensor::Of<std::string>(DType::kString, {1}, {"a"}).status().ok());
  CHECK_THAT(std::string(FloatsOf({-1}, {}).status().message()), Contains("dimensions of at least 0"));
  CHECK_THAT(std::string(FloatsOf({int64_t{1} << 40}, {1}).status().message()), Contains("expected at most"));
  CHECK_FALSE(Tensor::Of<float>(DType::kUndefined, {1}, {1.0F}).status().ok());
}

TEST_CASE("elements are read as what they are, or not") {
  const Tensor tensor = FloatsOf({2}, {1, 2});
  REQUIRE(tensor.ElementsAs<float>().ok());
  CHECK((*tensor.ElementsAs<float>())[1] == 2);
  CHECK(absl::IsInvalidArgument(tensor.ElementsAs<uint16_t>().status()));
  CHECK_FALSE(tensor.ElementsAs<std::string>().ok());
  CHECK_FALSE(FloatsOf({2}, {1}).ElementsAs<float>().ok());
}

TEST_CASE("inputs of another kind than the model states are errors before anything runs") {
  const auto first = SessionOf(kFirst);
  CHECK(RunError(*first, {{"x", FloatsOf({2}, {1, 2})}}) == "input 'x': expected a sequence, found float32[2]");
  const Datum ints = Datum(Tensor::OfInts({1, 2}));
  CHECK(RunError(*first, {{"x", Sequence{{ints}}}}) == "input 'x': in the sequence: expected float32, found int64[2]");
  CHECK(RunError(*first, {{"x", Sequence{{Datum()}}}}) ==
        "input 'x': in the sequence: expected a tensor, found nothing");
  CHECK(first->Run({{"x", Sequence{{Datum(FloatsOf({2}, {1, 2}))}}}}).ok());
  Tensor turned = FloatsOf({2, 2}, {1, 2, 3, 4});
  turned.set_layout(Layout::kChannelsLast);
  CHECK(RunError(*SessionOf(kRelu), {{"x", turned}}) == "input 'x': expected elements row by row");
  Tensor picture = FloatsOf({1, 2, 1, 1}, {1, 2});
  picture.set_layout(Layout::kChannelsLast);
  const std::string found = RunError(*first, {{"x", Sequence{{Datum(picture)}}}});
  INFO("what is in a sequence is not turned");
  CHECK(found == "input 'x': expected elements row by row");
  CHECK(RunError(*SessionOf(kRelu), {{"x", Datum()}}) == "input 'x': expected a tensor, found nothing");
}

TEST_CASE("a trainer's state and inputs are judged alike") {
  absl::StatusOr<std::unique_ptr<Trainer>> trainer = Trainer::CreateFromBytes(StepGraph());
  REQUIRE(trainer.ok());
  const std::string state = (*trainer)->StateNames()[0];
  const absl::Status set = (*trainer)->SetState(state, FloatsOf({2}, {1}));
  CHECK(absl::IsInvalidArgument(set));
  CHECK(set.message() == "state '" + state + "': expected 2 elements of float32[2], found 1");
  const auto step = (*trainer)->Step({{"x", FloatsOf({2, 3}, {1})}, {"labels", Tensor::OfInts({0, 1})}});
  CHECK(step.status().message() == "input 'x': expected 6 elements of float32[2,3], found 1");
}

TEST_CASE("errors name the file once, and print without marks of the library") {
  const ScratchFolder folder;
  const std::string broken = folder.Write("broken.onnx", "\xff"), missing = folder.File("none.onnx");
  for (const std::string& path : {broken, missing}) {
    const absl::Status made = Session::Create(path, {}).status(), trains = Trainer::Create(path).status();
    const absl::Status rewritten = RewriteFile(path, folder.File("out.onnx")).status();
    for (const absl::Status& status : {made, trains, rewritten}) {
      INFO(status);
      CHECK(status.message().find(path + ": ") == 0);
      CHECK(status.message().find(path, 1) == absl::string_view::npos);
      CHECK_THAT(Printed(status), !Contains("amp/"));
    }
  }
  absl::StatusOr<std::unique_ptr<Trainer>> trainer = Trainer::CreateFromBytes(StepGraph());
  REQUIRE(trainer.ok());
  const absl::Status loaded = (*trainer)->LoadCheckpoint(missing).status();
  CHECK(Printed(loaded) == "UNAVAILABLE: " + missing + ": expected a file that can be read, found none");
  CHECK_THAT(Printed((*trainer)->SaveCheckpoint(folder.File("none/c.npz"))), !Contains("amp/"));
  CHECK_THAT(Printed((*trainer)->SaveWeights(folder.File("w.onnx"), missing)), !Contains("amp/"));
  CHECK_THAT(Printed(Rewrite(onnx::ModelProto()).status()), !Contains("amp/names"));
}

}  // namespace
}  // namespace amp
