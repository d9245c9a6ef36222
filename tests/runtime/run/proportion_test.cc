// Work that must cost in proportion to a model's size: a model 16 times as large may take some 16 times as long, and
// not 256 times.
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/file/text.h"
#include "tests/catch2.h"
#include "tests/runtime/session_text.h"

namespace {
std::atomic<int> times_asked = 0;
}

// The program's own, in place of the C library's: counts.
extern "C" int sched_getaffinity(pid_t process, size_t size, cpu_set_t* set) noexcept {
  ++times_asked;
  const long found = ::syscall(SYS_sched_getaffinity, process, size, set);
  return found < 0 ? -1 : 0;
}

namespace amp {
namespace {

constexpr absl::string_view kHead = R"(<ir_version: 10, opset_import: ["" : 21]> g )";

double LeastSeconds(const std::function<void()>& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    timespec before = {}, after = {};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    work();
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    least = std::min(least, static_cast<double>(after.tv_sec - before.tv_sec) +
                                1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec));
  }
  return least;
}

std::unique_ptr<Session> SessionOf(const onnx::ModelProto& model) {
  absl::StatusOr<LoadedFile> file = ParseModel(model.SerializeAsString());
  REQUIRE(file.ok());
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(*std::move(file), {});
  INFO(session.status());
  REQUIRE(session.ok());
  return *std::move(session);
}

onnx::ModelProto ModelOf(const std::string& graph) {
  const absl::StatusOr<std::string> bytes = ParseOnnxText(absl::StrCat(kHead, graph));
  INFO(bytes.status());
  REQUIRE(bytes.ok());
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(*bytes));
  return model;
}

// One node that reads one value so often.
onnx::ModelProto ConcatOf(int times) {
  onnx::ModelProto model = ModelOf("(float[1] x) => (float[n] y) { h = Neg (x)  y = Concat <axis = 0> (h) }");
  onnx::NodeProto& concat = *model.mutable_graph()->mutable_node(1);
  const std::string read = concat.input(0);
  for (int i = 1; i < times; ++i) *concat.add_input() = read;
  return model;
}

// One node that reads so many values, each for the last time.
onnx::ModelProto ConcatOfDifferent(int times) {
  onnx::ModelProto model = ModelOf("(float[1] x) => (float[n] y) { h = Neg (x)  y = Concat <axis = 0> (h) }");
  onnx::NodeProto first = model.graph().node(0), concat = model.graph().node(1);
  model.mutable_graph()->clear_node();
  concat.clear_input();
  for (int i = 0; i < times; ++i) {
    *first.mutable_output(0) = absl::StrCat("h", i);
    *model.mutable_graph()->add_node() = first;
    *concat.add_input() = first.output(0);
  }
  *model.mutable_graph()->add_node() = std::move(concat);
  return model;
}

TEST_CASE("a node that reads one value many times is loaded, planned and run in proportion") {
  const NamedDatums inputs = {{"x", Tensor::Of<float>(DType::kFloat32, {1}, {1})}};
  for (const auto make : {ConcatOf, ConcatOfDifferent}) {
    const auto seconds = [&](int times) {
      const onnx::ModelProto model = make(times);
      return LeastSeconds([&] { REQUIRE(SessionOf(model)->Run(inputs).ok()); });
    };
    CHECK(seconds(40'000) < 64 * seconds(2'500));  // in proportion 16, by squares 256
  }
}

// A loop that inserts so often, and one that erases all again.
constexpr char kLoops[] = R"((int64 n, float[1] x) => (int64 most, int64 rest) {
  true = Constant <value = bool {1}> ()
  empty = SequenceEmpty ()
  grown = Loop (n, true, empty) <body = grow (int64 i, bool c, seq(float[1]) s) => (bool d, seq(float[1]) t) {
    d = Identity (c)
    t = SequenceInsert (s, x)
  }>
  most = SequenceLength (grown)
  shrunk = Loop (n, true, grown) <body = shrink (int64 j, bool e, seq(float[1]) u) => (bool f, seq(float[1]) v) {
    f = Identity (e)
    v = SequenceErase (u)
  }>
  rest = SequenceLength (shrunk)
})";

// Asking the system takes longer than a small run.
TEST_CASE("runs do not find out anew how many threads they may use") {
  const auto session =
      CreateSession({.text = std::string(kHead) + "(float[2] x) => (float[2] y) { y = Relu (x) }"}, {});
  REQUIRE(session.ok());
  const NamedDatums inputs = {{"x", Datum(*Tensor::Create(DType::kFloat32, {2}))}};
  REQUIRE(TryToRun(**session, inputs).ok());
  REQUIRE(times_asked > 0);
  const int before = times_asked;
  for (int i = 0; i < 10; ++i) REQUIRE(TryToRun(**session, inputs).ok());
  CHECK(times_asked == before);
}

TEST_CASE("a loop that inserts into a sequence, or erases from it, takes time in proportion") {
  const std::unique_ptr<Session> session = SessionOf(ModelOf(kLoops));
  const auto seconds = [&](int64_t rounds) {
    const NamedDatums inputs = {{"n", Tensor::Scalar(rounds)}, {"x", Tensor::Of<float>(DType::kFloat32, {1}, {1})}};
    return LeastSeconds([&] {
      const absl::StatusOr<std::vector<Datum>> outputs = session->Run(inputs);
      INFO(outputs.status());
      REQUIRE(outputs.ok());
      CHECK(outputs->at(0).tensor()->elements<int64_t>()[0] == rounds);
      CHECK(outputs->at(1).tensor()->elements<int64_t>()[0] == 0);
    });
  };
  CHECK(seconds(16'000) < 32 * seconds(2'000));  // in proportion 8, by squares 64
}

TEST_CASE("a sequence that somebody needs later, or has besides, is left as it is") {
  const std::unique_ptr<Session> session = SessionOf(ModelOf(R"((seq(float[1]) given, float[1] x) =>
      (seq(float[1]) longer, int64 n_given, int64 n_kept, seq(float[1]) kept, int64 n_same) {
    longer = SequenceInsert (given, x)
    n_given = SequenceLength (given)
    kept = SequenceConstruct (x, x)
    shorter = SequenceErase (kept)
    same = Identity (shorter)
    erased = SequenceErase (shorter)
    n_same = SequenceLength (same)
    n_kept = SequenceLength (kept)
  })"));
  const Tensor x = Tensor::Of<float>(DType::kFloat32, {1}, {1});
  const NamedDatums inputs = {{"given", Sequence{{x, x, x}}}, {"x", x}};
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<std::vector<Datum>> outputs = session->Run(inputs);
    INFO(outputs.status());
    REQUIRE(outputs.ok());
    CHECK(outputs->at(0).sequence()->elements.size() == 4);
    CHECK(outputs->at(1).tensor()->elements<int64_t>()[0] == 3);
    CHECK(outputs->at(2).tensor()->elements<int64_t>()[0] == 2);
    CHECK(outputs->at(3).sequence()->elements.size() == 2);
    CHECK(outputs->at(4).tensor()->elements<int64_t>()[0] == 1);
    CHECK(inputs.at("given").sequence()->elements.size() == 3);
  }
}

}  // namespace
}  // namespace amp
