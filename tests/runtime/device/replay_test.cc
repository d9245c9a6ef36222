// Recordings of a device, by its test double: when it records, what it replays, and what ends that.
#include <thread>

#include "runtime/device/storage.h"
#include "runtime/device_run/find_kernels.h"
#include "tests/catch2.h"
#include "tests/runtime/device/fake_device.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

// A session, its double, and the same model on the processor.
struct Both {
  explicit Both(const SessionText& text, const FakeDeviceLimits& limits = {}, SessionOptions options = {})
      : state(std::make_shared<FakeDeviceState>()), expected(MakeSession(text, OneByOne())) {
    options.device = OpenFakeDevice(state, limits);
    device = options.device;
    options.fuse_attention = false;  // which is what these networks look like
    session = MakeSession(text, options);
  }

  // Where a run of other numbers differs from the processor's, and how much was replayed in it.
  std::string Differs(const NamedDatums& inputs, double tolerance = 1e-5) {
    const int before = state->replays;
    std::string difference = DifferenceOf(RunSession(*session, inputs), RunSession(*expected, inputs), tolerance);
    replayed = state->replays - before;
    return difference;
  }

  std::shared_ptr<FakeDeviceState> state;
  std::weak_ptr<Accelerator> device;
  std::unique_ptr<Session> session, expected;
  int replayed = 0;
};

NamedDatums Random(const Dims& dims) { return {{"x", RandomTensor(DType::kFloat32, dims)}}; }

const SessionText kMlp = {.text = R"(<ir_version: 10, opset_import: ["" : 21]>
  g (float[n,8] x) => (float[n,8] y, float[n,8] z) {
    a = MatMul (x, w) b = Softmax (a) c = MatMul (b, w) y = Softmax (c) d = MatMul (c, w) z = LogSoftmax (d) })",
                          .constants = {{"w", RandomTensor(DType::kFloat32, {8, 8})}}};

TEST_CASE("a recording that is dropped leaves nothing, and the device may record again") {
  const auto state = std::make_shared<FakeDeviceState>();
  const std::shared_ptr<Accelerator> device = OpenFakeDevice(state);
  device->DropRecording();  // there is none
  REQUIRE(device->StartRecording().ok());
  device->DropRecording();
  CHECK(state->recordings == 0);
  REQUIRE(device->StartRecording().ok());
  const absl::StatusOr<std::unique_ptr<CapturedGraph>> recording = device->StopRecording();
  REQUIRE(recording.ok());
  CHECK(state->recordings == 1);
}

TEST_CASE("the first run is plain, the second one records, all others replay, whatever the numbers are") {
  Both both(kMlp);
  CHECK(both.Differs(Random({5, 8})) == "");
  CHECK(both.replayed == 0);
  CHECK(both.Differs(Random({5, 8})) == "");
  CHECK(both.replayed == 1);
  CHECK(both.state->recordings == 1);
  const int launches = both.state->launches, allocations = both.state->allocations;
  for (int run = 0; run < 3; ++run) {
    CHECK(both.Differs(Random({5, 8})) == "");
    CHECK(both.replayed == 1);
    CHECK(both.session->LastCopies().in == 1);
    CHECK(both.session->LastCopies().out == 2);
  }
  CHECK(both.state->launches == launches);
  CHECK(both.state->allocations == allocations);
  both.session.reset();
  CHECK(both.state->recordings == 0);
  CHECK(both.state->is_closed);
}

TEST_CASE("what fails while the device records has not happened: the run begins again, and the device is as it was") {
  const SessionText text = {.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[1,2,5,5] x) => (float[] y) { a = Softmax (x) b = Conv (a, w) y = Softmax (b) })",
                            .constants = {{"w", RandomTensor(DType::kFloat32, {3, 2, 3, 3})}}};
  Both both(text, {.records_operations = false});
  for (int run = 0; run < 4; ++run) {
    CHECK(both.Differs(Random({1, 2, 5, 5})) == "");
    CHECK(both.replayed == 0);
  }
  CHECK(both.state->operations == 4);
  // Nothing of what the recording would have run instead.
  CHECK(both.device.lock()->TakeWarnings() ==
        std::vector<std::string>{"kernels are started one by one: the device does not "
                                 "record: no error of the double's (error 901)"});
}

TEST_CASE("a device that does not record starts kernels one by one, which a warning says") {
  Both both(kMlp, {.starts_recordings = false});
  for (int run = 0; run < 4; ++run) CHECK(both.Differs(Random({5, 8})) == "");
  CHECK(both.device.lock()->TakeWarnings() ==
        std::vector<std::string>{"kernels are started one by one: the device does not record: no error of the double's "
                                 "(error 900)"});
}

TEST_CASE("a view of an input, behind kernels that are replayed, is of this run's input") {
  for (const char* const view : {"Flatten", "Identity", "Squeeze"}) {
    INFO(view);
    Both both({.text = absl::StrCat(R"(<ir_version: 10, opset_import: ["" : 21]>
      g (float[4,8] x) => (float[4,8] y, float[4,8] z) {
        a = Softmax (x) b = MatMul (a, w) y = Softmax (b) v = )",
                                    view, " (x) z = MatMul (v, w) }"),
               .constants = {{"w", RandomTensor(DType::kFloat32, {8, 8})}}});
    for (int run = 0; run < 4; ++run) CHECK(both.Differs(Random({4, 8})) == "");
    CHECK(both.replayed == 1);
  }
}

TEST_CASE("an initializer that a caller gives another value is not what was recorded") {
  const SessionText text = {.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,8] x, float[8,8] w) => (float[n,8] y, float[n,8] z)
      <float[8,8] w = {1,2,3,4,5,6,7,8, 1,2,3,4,5,6,7,8, 1,2,3,4,5,6,7,8, 1,2,3,4,5,6,7,8,
                       8,7,6,5,4,3,2,1, 8,7,6,5,4,3,2,1, 8,7,6,5,4,3,2,1, 8,7,6,5,4,3,2,1}> {
      a = Softmax (x) b = MatMul (a, w) y = Softmax (b) c = MatMul (y, w) z = Softmax (c) })"};
  Both both(text);
  for (int run = 0; run < 3; ++run) CHECK(both.Differs(Random({5, 8})) == "");
  CHECK(both.replayed == 1);
  for (int run = 0; run < 3; ++run) {
    NamedDatums inputs = Random({5, 8});
    if (run != 1) inputs["w"] = RandomTensor(DType::kFloat32, {8, 8});
    CHECK(both.Differs(inputs) == "");
  }
}

TEST_CASE("what is laid out anew within a recording is so behind its replay") {
  Both both({.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float16[2,8,6,5] x) => (float16[2,16,6,5] y, float[] m, float[] n) {
      c = Conv (x, w) first = Constant <value_int = 0> ()
      p = ReduceMax <keepdims = 0> (c) q = Cast <to = 1> (p) l = Unsqueeze (q, axis) k = CumSum (l, first) m = Squeeze (k)
      a = Softmax (c) b = Softmax (a) d = Softmax (b)
      r = ReduceMax <keepdims = 0> (d) s = Cast <to = 1> (r) t = Unsqueeze (s, axis) u = CumSum (t, first) n = Squeeze (u)
      y = Add (c, d) })",
             .constants = {{"w", RandomTensor(DType::kFloat16, {16, 8, 1, 1})}, {"axis", Tensor::OfInts({0})}}});
  for (int run = 0; run < 6; ++run) {
    CHECK(both.Differs({{"x", RandomTensor(DType::kFloat16, {2, 8, 6, 5})}}, 4e-3) == "");
  }
  CHECK(both.replayed > 0);
}

TEST_CASE("what a device's library computes is replayed with the rest") {
  Both both({.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,4,6,6] x) => (float[n,4,2,2] y) {
      a = Softmax (x) b = Conv (a, w) c = Relu (b) d = Softmax (c) y = Conv (d, w) })",
             .constants = {{"w", RandomTensor(DType::kFloat32, {4, 4, 3, 3})}}});
  for (int run = 0; run < 2; ++run) CHECK(both.Differs(Random({2, 4, 6, 6})) == "");
  const int operations = both.state->operations;
  CHECK(operations == 4);
  CHECK(both.Differs(Random({2, 4, 6, 6})) == "");
  CHECK(both.replayed == 1);
  CHECK(both.state->operations == operations);
}

TEST_CASE("quantised networks are replayed whole: scales and zero points are constants") {
  const int8_t points[] = {3, -2, 0, 1};
  const auto scale = [](float value) { return Tensor::Scalar(value); };
  Both both({.text = R"(<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
    g (float[n,8] x) => (float[n,4] y) {
      q = QuantizeLinear (x, s, z) p = QLinearMatMul (q, s, z, w, t, v, u, z)
      a = com.microsoft.QLinearAdd (p, u, z, c, u, z, s, z) l = com.microsoft.QLinearLeakyRelu (a, s, z, s, z)
      y = DequantizeLinear (l, s, z) })",
             .constants = {{"s", scale(0.05f)},
                           {"t", RandomTensor(DType::kFloat32, {4}, Values::kPositive, 0.1)},
                           {"u", scale(0.4f)},
                           {"z", RandomTensor(DType::kUint8, {}, Values::kPlain, 40)},
                           {"v", Tensor::Of<int8_t>(DType::kInt8, {4}, points)},
                           {"w", RandomTensor(DType::kInt8, {8, 4}, Values::kPlain, 40)},
                           {"c", RandomTensor(DType::kUint8, {4}, Values::kPlain, 90)}}});
  for (int run = 0; run < 4; ++run) {
    CHECK(both.Differs(Random({5, 8}), 0) == "");
    CHECK(both.replayed == (run == 0 ? 0 : 1));
    CHECK(both.session->LastCopies().in == 1);
    CHECK(both.session->LastCopies().out == 1);
  }
  CHECK(both.state->recordings == 1);
}

TEST_CASE("GRU that resets first, Einsum and dynamic quantisation are replayed") {
  Both both({.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[5,3,4] x) => (float[5,3,6] y, int32[5,3,2] z) {
      all = GRU <hidden_size = 6> (x, w, r) zero = Constant <value_ints = [1]> () h = Squeeze (all, zero)
      e = Einsum <equation = "sbi,tbi->sbt"> (h, h) y = Einsum <equation = "sbt,tbi->sbi"> (e, h)
      q, s, p = DynamicQuantizeLinear (y) z = MatMulInteger (q, b, p) })",
             .constants = {{"w", RandomTensor(DType::kFloat32, {1, 18, 4}, Values::kPlain, 0.5)},
                           {"r", RandomTensor(DType::kFloat32, {1, 18, 6}, Values::kPlain, 0.5)},
                           {"b", RandomTensor(DType::kInt8, {6, 2}, Values::kPlain, 40)}}});
  const NamedDatums inputs = Random({5, 3, 4});
  for (int run = 0; run < 4; ++run) {
    RunSession(*both.session, inputs);
    CHECK(both.session->LastCopies().in == 1);
    CHECK(both.session->LastCopies().out == 2);
  }
  CHECK(both.state->recordings == 1);
  CHECK(both.state->replays == 3);
}

TEST_CASE("other shapes have recordings of their own, and where memory moves there are new ones") {
  Both both(kMlp);
  for (int round = 0; round < 4; ++round) {
    for (const int64_t rows : {3, 5, 300}) {
      for (int run = 0; run < round + 1; ++run) CHECK(both.Differs(Random({rows, 8})) == "");
    }
  }
  CHECK(both.replayed == 1);
  CHECK(both.state->recordings == 3);
}

TEST_CASE("what the processor does in between is done in every run") {
  // Cumulative sums have no kernel on the device.
  Both both({.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,8] x) => (float[n,8] y) {
      axis = Constant <value_int = 1> ()
      a = Softmax (x) b = MatMul (a, w) c = Softmax (b)
      d = CumSum (c, axis)
      e = MatMul (d, w) f = Softmax (e) g1 = MatMul (f, c) y = Softmax (g1) })",
             .constants = {{"w", RandomTensor(DType::kFloat32, {8, 8})}}});
  for (int run = 0; run < 4; ++run) CHECK(both.Differs(Random({8, 8})) == "");
  CHECK(both.replayed == 2);
}

TEST_CASE("arithmetic with shapes may be inside, the contents of an input may not") {
  Both by_shape({.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,8] x) => (float[n,m] y, float[k,8] z, int64[2] s) {
      a = Softmax (x) s = Shape (a) half = Constant <value_ints = [1, 2]> () t = Div (s, half)
      last = Constant <value_ints = [2, -1]> () b = Reshape (a, last) c = Softmax (b) d = Reshape (c, s)
      e = Softmax (d) y = MatMul (e, w) z = Expand (e, s) })",
                 .constants = {{"w", RandomTensor(DType::kFloat32, {8, 3})}}});
  for (int run = 0; run < 4; ++run) CHECK(by_shape.Differs(Random({4, 8})) == "");
  CHECK(by_shape.replayed == 1);

  Both by_input({.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[4,8] x, int64[2] s) => (float[n,m] y) {
      a = Softmax (x) b = Softmax (a) c = Reshape (b, s) d = Softmax (c) y = Softmax (d) })"});
  for (int64_t rows = 1; rows <= 16; rows *= 2) {
    NamedDatums inputs = Random({4, 8});
    inputs["s"] = Tensor::OfInts({rows, -1});
    CHECK(by_input.Differs(inputs) == "");
  }
  NamedDatums inputs = Random({4, 8});
  inputs["s"] = Tensor::OfInts({3, -1});
  CHECK_FALSE(by_input.session->Run(inputs).ok());
}

TEST_CASE("branches are looked at in every run, and random numbers are drawn in every run") {
  Both branches({.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,8] x, bool c) => (float[n,8] y) {
      f = Softmax (x) h = Softmax (f) i = Softmax (h)
      z = If (c) <then_branch = t () => (float[n,8] a) { a = Exp (i) },
                  else_branch = e () => (float[n,8] b) { b = Neg (i) }>
      j = Softmax (z) k = Softmax (j) y = Softmax (k) })"});
  for (int run = 0; run < 6; ++run) {
    NamedDatums inputs = Random({3, 8});
    inputs["c"] = Tensor::Scalar(run % 2 == 0);
    CHECK(branches.Differs(inputs) == "");
  }
  CHECK(branches.replayed == 2);
  Both random({.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,8] x) => (float[n,8] y) {
      a = Softmax (x) b = Softmax (a) r = RandomNormal <shape = [8]> () c = Add (b, r) y = Softmax (c) })"});
  const NamedDatums inputs = Random({3, 8});
  std::vector<Tensor> before = RunSession(*random.session, inputs);
  for (uint64_t seed = 1; seed < 5; ++seed) {
    const auto now = random.session->Run(inputs, {.seed = seed});
    CHECK(now.ok());
    CHECK(DifferenceOf({*(*now)[0].tensor()}, before, 1e-5) != "");
    before = {*(*now)[0].tensor()};
  }
}

TEST_CASE("values that outlive a stretch share elements as they did, and are freed as they were") {
  Both both({.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[4,8] x) => (float[4,8] y, float[2,16] z, float[4,8] v) {
      axis = Constant <value_int = 1> () shape = Constant <value_ints = [2, 16]> ()
      a = Softmax (x) b = Reshape (a, shape) c = Softmax (a) d = Exp (c)
      s = CumSum (d, axis)
      e = Add (a, s) y = Softmax (e) z = Softmax (b) v = Relu (c) })"},
            {}, {.limits = {}, .fuse_chains = false});
  for (int run = 0; run < 5; ++run) CHECK(both.Differs(Random({4, 8})) == "");
  CHECK(both.replayed == 2);
}

TEST_CASE("nothing is recorded where that is turned off, where the device cannot, where somebody looks on") {
  Both off(kMlp, {}, {.limits = {}, .replay = false}), without(kMlp, {.has_recordings = false}), seen(kMlp);
  for (int run = 0; run < 4; ++run) {
    CHECK(off.Differs(Random({5, 8})) == "");
    CHECK(without.Differs(Random({5, 8})) == "");
    const ValueObserver observe = [](ValueId, const Datum&) {};
    CHECK(seen.session->Run(Random({5, 8}), {.observer = &observe}).ok());
    std::vector<InstructionTiming> timings;
    CHECK(seen.session->Run(Random({5, 8}), {.timings = &timings}).ok());
  }
  CHECK(off.state->replays + without.state->replays + seen.state->replays == 0);
}

// Copies a new list to the device in every run, which no recording can have.
absl::Status CopyWithList(KernelContext& context) {
  static int calls = 0;
  Accelerator& device = *context.resources().device;
  const auto list = device.Share(std::vector<int>{++calls});
  if (list == nullptr) return absl::CancelledError("no list");
  context.SetOutput(0, context.Input(0));
  return absl::OkStatus();
}
constexpr KernelRow kCopyWithList = DeviceRow("Identity", CopyWithList, nullptr);

std::vector<const KernelRow*> FindWithLists(absl::string_view domain, absl::string_view op_type, int version) {
  if (op_type == "Identity") return {&kCopyWithList};
  return FindAllKernelsAndDevices(domain, op_type, version);
}

TEST_CASE("a recording that breaks off is given up, and the run begins once more") {
  Both both({.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,8] x) => (float[n,8] y) { a = Softmax (x) b = Softmax (a) c = Identity (b) y = Softmax (c) })"},
            {}, {.limits = {}, .find_kernels = FindWithLists});
  for (int run = 0; run < 4; ++run) CHECK(both.Differs(Random({5, 8})) == "");
  CHECK(both.state->replays == 0);
  CHECK(both.state->recordings == 0);
}

TEST_CASE("a device that fails while it records, or replays, leaves the session whole") {
  Both both(kMlp, {.launches = 5});
  CHECK(both.Differs(Random({5, 8})) == "");
  CHECK_FALSE(both.session->Run(Random({5, 8})).ok());
  CHECK_FALSE(both.session->Run(Random({5, 8})).ok());
  both.session.reset();
  CHECK(both.state->live_bytes == 0);
}

TEST_CASE("several threads record and replay, each in its own memory") {
  Both both(kMlp);
  const NamedDatums inputs = Random({30, 8});
  const std::vector<Tensor> expected = RunSession(*both.expected, inputs);
  std::vector<std::string> differences(3);
  std::vector<std::thread> threads;
  threads.reserve(differences.size());
  for (std::string& difference : differences) {
    threads.emplace_back([&] {
      for (int run = 0; run < 20 && difference.empty(); ++run) {
        difference = DifferenceOf(*TryToRun(*both.session, inputs), expected, 1e-5);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(differences == std::vector<std::string>(3));
}

}  // namespace
}  // namespace amp
