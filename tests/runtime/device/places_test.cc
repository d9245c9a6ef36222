// Outputs that stay on the device: in the tensors that inputs come from, as a step of training has it.
#include <algorithm>

#include "tests/catch2.h"
#include "tests/runtime/device/fake_device.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

const SessionText kStep = {.text = R"(<ir_version: 10, opset_import: ["" : 21]>
  step (float[4] x, float[4] w, float[4] v) => (float[4] w_next, float[4] v_next, float[4] y) {
    v_next = Identity (w)
    sum = Add (x, w)
    w_next = Mul (sum, v)
    top = ReduceMax <keepdims = 0> (w_next)
    y = Sub (w_next, top) })"};

Tensor Floats(const std::vector<float>& elements) {
  return Tensor::Of<float>(DType::kFloat32, {static_cast<int64_t>(elements.size())}, elements);
}

// A session of the text on the double, and tensors w and v in its memory.
struct Stepper {
  explicit Stepper(const SessionText& text = kStep, const FakeDeviceLimits& limits = {})
      : state(std::make_shared<FakeDeviceState>()), device(OpenFakeDevice(state, limits)) {
    SessionOptions options;
    options.device = device;
    session = MakeSession(text, options);
    w = *device->CopyIn(Floats({1, 2, 3, 4}), nullptr);
    v = *device->CopyIn(Floats({1, -1, 1, -1}), nullptr);
  }

  NamedDatums Inputs() const { return {{"x", Floats({1, 1, 1, 1})}, {"w", w}, {"v", v}}; }
  NamedDatums Places() const { return {{"w_next", w}, {"v_next", v}}; }
  absl::StatusOr<std::vector<Datum>> Run(const NamedDatums& places) const {
    return session->Run(Inputs(), {.output_buffers = &places});
  }
  std::string Error(const NamedDatums& places) const { return std::string(Run(places).status().message()); }
  std::vector<float> Read(const Tensor& tensor) const {
    const Tensor copy = *device->CopyOut(tensor, nullptr);
    return {copy.elements<float>().begin(), copy.elements<float>().end()};
  }

  std::shared_ptr<FakeDeviceState> state;
  std::shared_ptr<Accelerator> device;
  std::unique_ptr<Session> session;
  Tensor w, v;
};

TEST_CASE("states are overwritten where they are, with what they were before the run") {
  const Stepper stepper;
  std::vector<float> w = {1, 2, 3, 4}, v = {1, -1, 1, -1};
  for (int run = 0; run < 5; ++run) {
    const auto outputs = stepper.Run({{"w_next", stepper.w}, {"v_next", stepper.v}});
    INFO(outputs.status().message());
    REQUIRE(outputs.ok());
    for (size_t i = 0; i < w.size(); ++i) {
      const float next = (1 + w[i]) * v[i];
      v[i] = w[i];
      w[i] = next;
    }
    for (size_t i = 0; i < w.size(); ++i) {
      CHECK((*outputs)[2].tensor()->elements<float>()[i] == w[i] - *std::max_element(w.begin(), w.end()));
    }
    CHECK((*outputs)[0].tensor()->data() == stepper.w.data());
    CHECK((*outputs)[1].tensor()->data() == stepper.v.data());
    CHECK(stepper.Read(stepper.w) == w);
    CHECK(stepper.Read(stepper.v) == v);
    CHECK(stepper.session->LastCopies().in == 1);
    CHECK(stepper.session->LastCopies().out == 1);
  }
  CHECK(stepper.state->replays > 1);
}

SessionText OptimizerStep(const std::string& nodes) {
  return {.text = absl::StrCat(R"(<ir_version: 10, opset_import: ["" : 21, "ai.amp" : 1]>
    step (float[4] x, float[4] w, float[4] v) => (float[4] w_next, float[4] v_next, float[4] y) {
      rate = Constant <value_float = 0.5> ()
      k = Neg (x)
      )",
                               nodes, "}")};
}

// Runs a step of an optimizer, with other nodes `before` and `behind` it, five times on the double and on the
// processor. Returns the number of copies from place to place in the first run.
int CopiesOf(const std::string& before, const std::string& behind, const std::string& update,
             const std::string& places = "wv") {
  const SessionText text = OptimizerStep(absl::StrCat(before, "\n", update, behind));
  INFO(text.text);
  const Stepper stepper(text);
  const auto here = MakeSession(text, OneByOne());
  const bool are_swapped = places == "vw";
  Tensor w = Floats({1, 2, 3, 4}), v = Floats({1, -1, 1, -1});
  int copies = 0;
  for (int run = 0; run < 5; ++run) {
    const int copies_before = stepper.state->kernels[static_cast<size_t>(device::Kernel::kCopyBlocks)];
    const auto outputs =
        stepper.Run({{"w_next", are_swapped ? stepper.v : stepper.w}, {"v_next", are_swapped ? stepper.w : stepper.v}});
    INFO(outputs.status().message());
    REQUIRE(outputs.ok());
    if (run == 0) copies = stepper.state->kernels[static_cast<size_t>(device::Kernel::kCopyBlocks)] - copies_before;
    const std::vector<Tensor> expected = RunSession(*here, {{"x", Floats({1, 1, 1, 1})}, {"w", w}, {"v", v}});
    w = expected[are_swapped ? 1 : 0];
    v = expected[are_swapped ? 0 : 1];
    CHECK(DifferenceOf(*stepper.device->CopyOut(stepper.w, nullptr), w, 0).empty());
    CHECK(DifferenceOf(*stepper.device->CopyOut(stepper.v, nullptr), v, 0).empty());
    CHECK(DifferenceOf(*(*outputs)[2].tensor(), expected[2], 1e-6) == "");
    CHECK((*outputs)[0].tensor()->data() == (are_swapped ? stepper.v : stepper.w).data());
  }
  CHECK(stepper.state->replays > 1);
  return copies;
}

constexpr char kMomentum[] = "w_next, v_next = ai.amp.Momentum <momentum = 0.5> (w, k, v, rate)\n";

TEST_CASE("an optimizer writes the next state over the present one, and no state is copied") {
  CHECK(CopiesOf("", "y = Softmax (k)", kMomentum) == 0);
  CHECK(CopiesOf("y = Add (w, v)", "", kMomentum) == 0);  // read before
  CHECK(CopiesOf("a = Softmax (w) b = Softmax (v)", "y = Add (a, b)", kMomentum) == 0);
  CHECK(CopiesOf("i = Identity (w) y = Softmax (i)", "", kMomentum) == 0);
}

TEST_CASE("a state that a step may give back as it was is chosen where it lies") {
  const std::string update = "a = Softmax (k) w_next = Where (yes, a, w) b = Softmax (v) v_next = Where (no, b, v)\n";
  const std::string flags = "zero = Sub (rate, rate) yes = Less (zero, rate) no = Not (yes)\n";
  CHECK(CopiesOf(flags, "y = Softmax (k)", update) == 0);
  CHECK(CopiesOf(flags, "y = Softmax (w)", update) == 1);
}

TEST_CASE("a state that somebody reads behind the optimizer, or that lies elsewhere, is copied at the end") {
  CHECK(CopiesOf("", "y = Softmax (w)", kMomentum) == 1);
  CHECK(CopiesOf("", "y = Add (w, v)", kMomentum) == 2);
  CHECK(CopiesOf("i = Identity (w)", "y = Softmax (i)", kMomentum) == 1);  // by a view
  // Given as it was, by a view.
  const std::string sum = "h = ReduceMax (k) g = Add (k, h)\n";
  const std::string update = "w_next, v_next = ai.amp.Momentum <momentum = 0.5> (w, g, v, rate)\n";
  CHECK(CopiesOf(sum, "y = Identity (w)", update) == 1);
  CHECK(CopiesOf(sum + "y = Identity (w)", "", update) == 1);
  CHECK(CopiesOf("", "y = Softmax (k)", kMomentum, "vw") > 1);
  CHECK(CopiesOf("", "y = Softmax (k)",
                 "w_next = ai.amp.Sgd (w, k, rate)\nv_next = Identity (w)\n") > 0);  // one is what the other was
  CHECK(CopiesOf("", "y = Softmax (k)", "w_next = ai.amp.Sgd (w, w, rate)\nv_next = Neg (v)\n") > 0);
}

// Returns the outputs of a step that the processor runs alone.
std::vector<Tensor> Expected(const SessionText& text, const Tensor& w, const Tensor& v) {
  return RunSession(*MakeSession(text, OneByOne()), {{"x", Floats({1, 1, 1, 1})}, {"w", w}, {"v", v}});
}

// As Expected, as far as the processor sees it.
void CheckOutputs(const std::vector<Datum>& outputs, const std::vector<Tensor>& expected) {
  REQUIRE(outputs.size() == expected.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    INFO("output " << i);
    REQUIRE(outputs[i].tensor()->IsOnHost());
    CHECK(DifferenceOf(*outputs[i].tensor(), expected[i], 1e-6) == "");
  }
}

// Five runs of a step whose outputs are all seen by the processor, those with places, too.
void CheckShown(const SessionText& text) {
  INFO(text.text);
  const Stepper stepper(text);
  const NamedDatums places = stepper.Places();
  const absl::flat_hash_set<std::string> shown = {"w_next", "v_next"};
  Tensor w = Floats({1, 2, 3, 4}), v = Floats({1, -1, 1, -1});
  for (int run = 0; run < 5; ++run) {
    INFO("run " << run);
    const int waits = stepper.state->waits;
    const auto outputs = stepper.session->Run(stepper.Inputs(), {.output_buffers = &places, .shown = &shown});
    INFO(outputs.status().message());
    REQUIRE(outputs.ok());
    CHECK(stepper.state->waits == waits + 1);
    const std::vector<Tensor> expected = Expected(text, w, v);
    CheckOutputs(*outputs, expected);
    w = expected[0];
    v = expected[1];
    CHECK(DifferenceOf(*stepper.device->CopyOut(stepper.w, nullptr), w, 1e-6) == "");
    CHECK(DifferenceOf(*stepper.device->CopyOut(stepper.v, nullptr), v, 1e-6) == "");
  }
  CHECK(stepper.state->replays > 1);
}

TEST_CASE("what the processor sees of outputs is what they were before places were written") {
  const std::string gradient = "h = ReduceMax (k) g = Add (k, h)\n", sgd = "w_next = ai.amp.Sgd (w, g, rate)\n",
                    momentum = "w_next, v_next = ai.amp.Momentum <momentum = 0.5> (w, g, v, rate)\n";
  CheckShown(OptimizerStep(gradient + momentum + "y = Identity (w)"));
  CheckShown(OptimizerStep(gradient + "y = Identity (w)\n" + momentum));
  CheckShown(OptimizerStep(gradient + momentum + "y = Identity (w_next)"));  // a view of a place written at once
  CheckShown(OptimizerStep(gradient + sgd + "v_next = Identity (w) y = Identity (w)"));
  CheckShown(OptimizerStep(gradient + "w_next = Identity (v) v_next = Identity (w) y = Softmax (g)"));
}

TEST_CASE("a run without places, or with others, leaves those of the runs before it as they are") {
  const SessionText text = OptimizerStep(absl::StrCat(kMomentum, "y = Softmax (k)"));
  const Stepper stepper(text);
  for (int run = 0; run < 4; ++run) REQUIRE(stepper.Run(stepper.Places()).ok());
  CHECK(stepper.state->replays > 1);
  const std::vector<float> w = stepper.Read(stepper.w), v = stepper.Read(stepper.v);
  const std::vector<Tensor> expected = Expected(text, Floats(w), Floats(v));
  const int replays = stepper.state->replays;
  for (int run = 0; run < 6; ++run) {
    INFO("run " << run);
    const auto outputs = stepper.session->Run(stepper.Inputs());
    REQUIRE(outputs.ok());
    CheckOutputs(*outputs, expected);
    CHECK(stepper.Read(stepper.w) == w);
    CHECK(stepper.Read(stepper.v) == v);
  }
  CHECK(stepper.state->replays > replays + 1);
  const Tensor other = *stepper.device->CopyIn(Floats({0, 0, 0, 0}), nullptr);
  for (int run = 0; run < 4; ++run) {
    REQUIRE(stepper.Run({{"w_next", other}}).ok());
    CHECK(DifferenceOf(*stepper.device->CopyOut(other, nullptr), expected[0], 1e-6) == "");
    CHECK(stepper.Read(stepper.w) == w);
    CHECK(stepper.Read(stepper.v) == v);
  }
  REQUIRE(stepper.Run(stepper.Places()).ok());
  CHECK(DifferenceOf(*stepper.device->CopyOut(stepper.w, nullptr), expected[0], 1e-6) == "");
  CHECK(DifferenceOf(*stepper.device->CopyOut(stepper.v, nullptr), expected[1], 1e-6) == "");
}

// Behind the optimizer the processor looks at a shape that is given, and something else is read.
constexpr char kReadsBehind[] = R"(<ir_version: 10, opset_import: ["" : 21, "ai.amp" : 1]>
  step (float[4] x, float[4] w, float[4] v, float[4] u, int64[1] shape)
    => (float[4] w_next, float[4] v_next, float[m] y) {
    rate = Constant <value_float = 0.5> ()
    k = Neg (x)
    h = Softmax (k)
    g = Softmax (h)
    w_next, v_next = ai.amp.Momentum <momentum = 0.5> (w, g, v, rate)
    r = Reshape (x, shape)
    y = Add (r, u) })";

NamedDatums InputsOfReadsBehind(const Stepper& stepper) {
  NamedDatums inputs = stepper.Inputs();
  inputs["u"] = *stepper.device->CopyIn(Floats({5, 6, 7, 8}), nullptr);
  inputs["shape"] = Tensor::OfInts({4});
  return inputs;
}

TEST_CASE("a replay does not write over what is read behind it by another name") {
  const Stepper stepper({.text = kReadsBehind});
  const NamedDatums places = stepper.Places();
  NamedDatums inputs = InputsOfReadsBehind(stepper);
  for (int run = 0; run < 4; ++run) REQUIRE(stepper.session->Run(inputs, {.output_buffers = &places}).ok());
  CHECK(stepper.state->replays > 1);
  inputs["u"] = stepper.w;
  for (int run = 0; run < 4; ++run) {
    INFO("run " << run);
    const std::vector<float> w = stepper.Read(stepper.w);
    const auto outputs = stepper.session->Run(inputs, {.output_buffers = &places});
    REQUIRE(outputs.ok());
    CHECK(DifferenceOf(*(*outputs)[2].tensor(), Floats({1 + w[0], 1 + w[1], 1 + w[2], 1 + w[3]}), 1e-6) == "");
    CHECK(stepper.Read(stepper.w) != w);
  }
}

TEST_CASE("weights of one launch are written over where they are, each by itself") {
  const SessionText text = {.text = R"(<ir_version: 10, opset_import: ["" : 21, "ai.amp" : 1]>
    step (float[4] x, float[4] w, float[4] v) => (float[4] w_next, float[4] v_next) {
      rate = Constant <value_float = 0.5> ()
      w_next = ai.amp.Sgd (w, x, rate)
      v_next = ai.amp.Sgd (v, x, rate) })"};
  const Stepper stepper(text);
  for (int run = 1; run < 5; ++run) {
    REQUIRE(stepper.Run({{"w_next", stepper.w}, {"v_next", stepper.v}}).ok());
    const float down = 0.5F * static_cast<float>(run);
    CHECK(stepper.Read(stepper.w) == std::vector<float>{1 - down, 2 - down, 3 - down, 4 - down});
    CHECK(stepper.Read(stepper.v) == std::vector<float>{1 - down, -1 - down, 1 - down, -1 - down});
  }
  CHECK(stepper.state->kernels[static_cast<size_t>(device::Kernel::kCopyBlocks)] == 0);
  CHECK(stepper.state->kernels[static_cast<size_t>(device::Kernel::kOptimize)] == 4);  // one in each run
}

TEST_CASE("a run that fails behind what it has written over says so") {
  const SessionText text = {.text = absl::StrCat(R"(<ir_version: 10, opset_import: ["" : 21, "ai.amp" : 1]>
    step (float[4] x, float[4] w, float[4] v) => (float[4] w_next, float[4] v_next, float[2] y) {
      rate = Constant <value_float = 0.5> ()
      k = Neg (x)
      )",
                                                 kMomentum, R"(
      two = Constant <value_ints = [2]> ()
      y = Reshape (x, two) })")};
  const Stepper stepper(text);
  CHECK_THAT(stepper.Error({{"w_next", stepper.w}, {"v_next", stepper.v}}),
             EndsWith("; what it was writing over is lost"));
  CHECK(stepper.Read(stepper.w) != std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("a run that fails behind what it has recorded or replayed over states says so, too") {
  for (const int failing : {1, 2, 3, 5}) {
    INFO("run " << failing);
    const Stepper stepper({.text = kReadsBehind});
    const NamedDatums places = stepper.Places();
    NamedDatums inputs = InputsOfReadsBehind(stepper);
    for (int run = 1; run < failing; ++run) REQUIRE(stepper.session->Run(inputs, {.output_buffers = &places}).ok());
    const int replays = stepper.state->replays;
    const std::vector<float> w = stepper.Read(stepper.w);
    inputs["shape"] = Tensor::OfInts({2});
    const auto outputs = stepper.session->Run(inputs, {.output_buffers = &places});
    CHECK_THAT(std::string(outputs.status().message()), EndsWith("; what it was writing over is lost"));
    CHECK(stepper.state->replays == replays + (failing > 1 ? 1 : 0));
    CHECK(stepper.Read(stepper.w) != w);
    // Not where there was nothing to write over.
    CHECK_THAT(std::string(stepper.session->Run(inputs).status().message()), !Contains("is lost"));
  }
}

TEST_CASE("an output with a place is shown to the processor, where that is asked for, in one wait for all") {
  const Stepper stepper;
  const absl::flat_hash_set<std::string> shown = {"w_next"};
  const NamedDatums places = {{"w_next", stepper.w}, {"v_next", stepper.v}};
  const auto outputs = stepper.session->Run({{"x", Floats({1, 1, 1, 1})}, {"w", stepper.w}, {"v", stepper.v}},
                                            {.output_buffers = &places, .shown = &shown});
  REQUIRE(outputs.ok());
  CHECK(stepper.state->waits == 1);
  REQUIRE((*outputs)[0].tensor()->IsOnHost());
  CHECK((*outputs)[0].tensor()->elements<float>()[1] == -3);
  CHECK((*outputs)[1].tensor()->data() == stepper.v.data());
  CHECK((*outputs)[2].tensor()->IsOnHost());
  CHECK(stepper.Read(stepper.w) == std::vector<float>{2, -3, 4, -5});
  CHECK(stepper.session->LastCopies().out == 2);
}

TEST_CASE("an output that the processor computes goes to its place") {
  const Stepper stepper({.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    step (float[4] x, float[4] w, float[4] v) => (float[4] w_next) {
      shape = Shape (x) f = Cast <to = 1> (shape) four = Constant <value_ints = [4]> () w_next = Expand (f, four) })"});
  REQUIRE(stepper.Run({{"w_next", stepper.w}}).ok());
  CHECK(stepper.Read(stepper.w) == std::vector<float>{4, 4, 4, 4});
}

TEST_CASE("what is no place is an error, and nothing is written") {
  const Stepper stepper;
  CHECK_THAT(stepper.Error({{"w_nxt", stepper.w}}), Contains("'w_nxt' is no output of the model, which has 'w_next'"));
  CHECK(stepper.Error({{"w_next", Floats({1, 2, 3, 4})}}) ==
        "output 'w_next': expected a place on the session's device");
  CHECK(stepper.Error({{"w_next", Datum()}}) == "output 'w_next': expected a place on the session's device");
  const auto other = OpenFakeDevice();
  CHECK(stepper.Error({{"w_next", *other->CopyIn(Floats({1, 2, 3, 4}), nullptr)}}) ==
        "output 'w_next': expected a place on the session's device");
  const Tensor small = *stepper.device->CopyIn(Floats({1, 2}), nullptr);
  CHECK(stepper.Error({{"w_next", stepper.w}, {"v_next", small}}) ==
        "output 'v_next': expected float32[2] as its place has, found float32[4]");
  CHECK(stepper.Read(stepper.w) == std::vector<float>{1, 2, 3, 4});
  const NamedDatums places = {{"w_next", stepper.w}};
  CHECK_THAT(std::string(MakeSession(kStep)->Run({}, {.output_buffers = &places}).status().message()),
             Contains("expected input"));
}

TEST_CASE("a place without elements is one") {
  const Stepper stepper({.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    step (float[4] x, float[4] w, float[4] v) => (float[0] none, float[4] y) {
      zero = Constant <value_ints = [0]> () none = Slice (x, zero, zero) y = Add (x, w) })"});
  CHECK(stepper.Run({{"none", Floats({})}}).ok());
}

TEST_CASE("an input in the memory of another device is an error") {
  const Stepper stepper;
  const auto other = OpenFakeDevice();
  const Tensor w = *other->CopyIn(Floats({1, 2, 3, 4}), nullptr);
  const NamedDatums inputs = {{"x", Floats({1, 1, 1, 1})}, {"w", w}, {"v", stepper.v}};
  const char* const expected = "input 'w': it lies in the memory of another device than the session's";
  CHECK(stepper.session->Run(inputs).status().message() == expected);
  CHECK_THAT(std::string(MakeSession(kStep)->Run(inputs).status().message()), Contains("of another device"));
}

TEST_CASE("a run that fails on the device is an error") {
  const Stepper stepper(kStep, {.launches = 2});
  CHECK(absl::IsAborted(stepper.Run({{"w_next", stepper.w}, {"v_next", stepper.v}}).status()));
}

}  // namespace
}  // namespace amp
