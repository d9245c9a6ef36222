// Sessions with a device, by its test double: where nodes run, what is copied, the memory there, and what happens when
// it is short of memory or fails.
#include <thread>

#include "ir/base/status.h"
#include "runtime/run/arena.h"
#include "tests/catch2.h"
#include "tests/runtime/device/fake_device.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

SessionOptions WithDouble(const std::shared_ptr<FakeDeviceState>& state = nullptr,
                          const FakeDeviceLimits& limits = {}) {
  SessionOptions options;
  options.device = OpenFakeDevice(state, limits);
  return options;
}

// Runs the session three times on the double. Returns the first difference from the outputs of the processor, or "".
std::string Differs(const SessionText& text, const NamedDatums& inputs, double tolerance = 1e-5) {
  const auto session = MakeSession(text, WithDouble());
  const std::vector<Tensor> expected = RunSession(*MakeSession(text), inputs);
  for (int run = 0; run < 3; ++run) {
    std::string difference = DifferenceOf(RunSession(*session, inputs), expected, tolerance);
    if (!difference.empty()) return difference;
  }
  return "";
}

const SessionText kChain = {.text = R"(<ir_version: 10, opset_import: ["" : 21]>
  g (float[n,8] x) => (float[n,8] y) { h = Mul (x, w) s = Sigmoid (h) t = Add (s, w) y = Relu (t) })",
                            .constants = {{"w", RandomTensor(DType::kFloat32, {8})}}};

TEST_CASE("inputs go to the device and outputs come back, and nothing else is copied") {
  const auto session = MakeSession(kChain, WithDouble());
  const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {5, 8})}};
  for (int run = 0; run < 3; ++run) {
    RunSession(*session, inputs);
    const CopyCounts copies = session->LastCopies();
    CHECK(copies.in == 1);
    CHECK(copies.in_bytes == 5 * 8 * 4);
    CHECK(copies.out == 1);
    CHECK(copies.out_bytes == 5 * 8 * 4);
    CHECK(session->DeviceConstantBytes() == 8 * 4);
  }
  CHECK(KernelsOf(*session) == std::vector<std::string>{"device Chain"});
  CHECK(session->DeviceName() == "double");
  CHECK(Differs(kChain, inputs) == "");
}

TEST_CASE("element-wise nodes are one kernel, in every type, with operands that broadcast in every way") {
  for (const std::string type : {"float", "float16", "bfloat16"}) {
    const DType dtype = type == "float" ? DType::kFloat32 : type == "float16" ? DType::kFloat16 : DType::kBfloat16;
    const SessionText text = {
        .text = absl::StrCat("<ir_version: 10, opset_import: [\"\" : 22]> g (", type, "[n,3,8] x, ", type,
                             "[n,1,8] z) => (", type, R"([n,3,8] y, bool[n,3,8] c) {
        h = Mul (x, w) s = Sigmoid (h) t = Add (s, z) f = Cast <to = 1> (t) e = Exp (f) g = Cast <to = 1> (one)
        u = Div (e, g) low = CastLike (u, x) c = Greater (x, z) r = Where (c, h, low2) y = PRelu (r, w)
        low2 = Relu (t) })"),
        .constants = {{"w", RandomTensor(dtype, {3, 1})}, {"one", RandomTensor(dtype, {1})}}};
    const NamedDatums inputs = {{"x", RandomTensor(dtype, {5, 3, 8})}, {"z", RandomTensor(dtype, {5, 1, 8})}};
    CHECK(Differs(text, inputs, dtype == DType::kFloat32 ? 1e-5 : 1e-2) == "");
  }
}

TEST_CASE("a chain made of shapes stays on the processor, one that has one among its operands does not") {
  const SessionText text = {.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,8] x) => (float[n,8] y) {
      s = Shape (x) zero = Constant <value_int = 0> () n = Gather (s, zero) f = Cast <to = 1> (n)
      root = Sqrt (f) half = Reciprocal (root)
      a = Mul (x, half) b = Exp (a) y = Add (b, x) })"};
  const auto session = MakeSession(text, WithDouble());
  const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {3, 8})}};
  CHECK(Differs(text, inputs) == "");
  RunSession(*session, inputs);
  CHECK(session->LastCopies().out == 1);
}

TEST_CASE("a value that several read is copied once in each direction") {
  // Cumulative sums have no kernel there; x is read by it and by the device, c by two nodes there.
  const SessionText text = {.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,8] x) => (float[n,8] y, float[n,8] z) {
      axis = Constant <value_int = 1> ()
      a = Relu (x) c = CumSum (a, axis) y = Add (c, x) z = Mul (c, a) })"};
  const auto session = MakeSession(text, WithDouble());
  const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {3, 8})}};
  RunSession(*session, inputs);
  CHECK(KernelsOf(*session) == std::vector<std::string>{"device Relu", "reference CumSum", "device Add", "device Mul"});
  CHECK(session->LastCopies().in == 2);   // x, c
  CHECK(session->LastCopies().out == 3);  // a, y, z
  CHECK(Differs(text, inputs) == "");
}

TEST_CASE("arithmetic with shapes stays on the processor, and copies nothing") {
  const SessionText text = {.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,8] x) => (float[m,k] y) {
      r = Relu (x)
      s = Shape (r)
      zero = Constant <value_ints = [0]> () one = Constant <value_ints = [1]> () two = Constant <value_ints = [2]> ()
      n = Gather (s, zero) k = Gather (s, one)
      half = Div (k, two) twice = Mul (n, two)
      target = Concat <axis = 0> (twice, half)
      y = Reshape (r, target) })"};
  const auto session = MakeSession(text, WithDouble());
  const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {3, 8})}};
  CHECK(Differs(text, inputs) == "");
  RunSession(*session, inputs);
  CHECK(session->LastCopies().in == 1);
  CHECK(session->LastCopies().out == 1);
  std::vector<std::string> reasons;
  for (const Instruction& instruction : session->program().blocks[kMainGraph]) {
    if (instruction.why_on_host == nullptr) continue;
    reasons.push_back(absl::StrCat(session->model().node(instruction.node).op_type(), ": ", instruction.why_on_host));
  }
  CHECK(reasons == std::vector<std::string>{"Shape: made of shapes", "Gather: made of shapes", "Gather: made of shapes",
                                            "Div: made of shapes", "Mul: made of shapes", "Concat: made of shapes"});
}

TEST_CASE("floats that are made of shapes are data where they have more than one axis") {
  const SessionText text = {.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,8] x) => (float[n,8] y) {
      s = Shape (x) e = Expand (c, s) y = Add (e, x) })",
                            .constants = {{"c", RandomTensor(DType::kFloat32, {8})}}};
  const auto session = MakeSession(text, WithDouble());
  const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {3, 8})}};
  CHECK(Differs(text, inputs) == "");
  RunSession(*session, inputs);
  CHECK(KernelsOf(*session) == std::vector<std::string>{"reference Shape", "device Expand", "device Add"});
}

TEST_CASE("bodies run with values of both places") {
  const SessionText branches = {.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,8] x, bool c) => (float[n,8] y) {
      h = Relu (x)
      z = If (c) <then_branch = t () => (float[n,8] a) { a = Exp (h) },
                  else_branch = e () => (float[n,8] b) { b = Neg (h) }>
      y = Add (z, h) })"};
  for (const bool condition : {true, false}) {
    const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {3, 8})}, {"c", Tensor::Scalar(condition)}};
    CHECK(Differs(branches, inputs) == "");
  }
  const SessionText loop = {.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[8] x) => (float[8] y, float[m,8] all) {
      h = Relu (x)
      count = Constant <value_int = 4> ()
      y, all = Loop (count, , h) <body = b (int64 i, bool c, float[8] v) => (bool o, float[8] w, float[8] each) {
        o = Identity (c) w = Add (v, h) each = Sigmoid (w) }> })"};
  CHECK(Differs(loop, {{"x", RandomTensor(DType::kFloat32, {8})}}) == "");
}

TEST_CASE("observers see values of the device as of the processor") {
  const auto session = MakeSession(kChain, WithDouble());
  int seen = 0;
  const ValueObserver observe = [&](ValueId, const Datum& datum) {
    if (datum.tensor() != nullptr) seen += datum.tensor()->elements<float>().empty() ? 0 : 1;
  };
  CHECK(session->Run({{"x", RandomTensor(DType::kFloat32, {2, 8})}}, {.observer = &observe}).ok());
  CHECK(seen == 5);
}

TEST_CASE("memory of the device is planned, and one block from the second run on") {
  const auto state = std::make_shared<FakeDeviceState>();
  {
    const auto session = MakeSession(kChain, WithDouble(state));
    const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {100, 8})}};
    RunSession(*session, inputs);
    RunSession(*session, inputs);
    const int allocations = state->allocations;
    CHECK(state->live_blocks == 2);  // arena and constant
    for (int run = 0; run < 3; ++run) RunSession(*session, inputs);
    CHECK(state->allocations == allocations);
    CHECK(session->ActivationBytes() % 256 == 0);
  }
  CHECK(state->is_closed);
  CHECK(state->live_bytes == 0);
}

TEST_CASE("a dozen shapes in turns allocate nothing more, and shapes that are always new hardly ever") {
  const auto state = std::make_shared<FakeDeviceState>();
  const auto session = MakeSession(kChain, WithDouble(state));
  const auto run = [&](int64_t rows) {
    const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {rows, 8})}};
    CHECK(DifferenceOf(RunSession(*session, inputs), RunSession(*MakeSession(kChain), inputs), 1e-5) == "");
  };
  int allocations = 0;
  for (int round = 0; round < 4; ++round) {
    allocations = state->allocations;
    for (int64_t rows = 1; rows <= 12; ++rows) run(16 * rows);
  }
  CHECK(state->allocations == allocations);
  for (int64_t rows = 200; rows < 400; ++rows) run(rows);
  CHECK(state->allocations < allocations + 20);
}

TEST_CASE("plans keep the alignment that is asked for") {
  std::vector<ArenaBlock> blocks = {{.size_bytes = 100, .born = 1, .died = 4},
                                    {.size_bytes = 300, .born = 2, .died = 5},
                                    {.size_bytes = 10, .born = 3, .died = 6}};
  CHECK(PlanOffsets(blocks, 256) == 1024);
  for (const ArenaBlock& block : blocks) CHECK(block.offset % 256 == 0);
  CHECK(LargestLiveBytes(blocks, 256) == 1024);
}

TEST_CASE("a device without memory is a limit, one that fails is exit code 8, and both leave the session whole") {
  const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {100, 8})}};
  const auto small = MakeSession(kChain, WithDouble(nullptr, {.memory_bytes = 5000}));
  const absl::Status short_of_memory = TryToRun(*small, inputs).status();
  CHECK(ExitCode(short_of_memory) == 5);
  CHECK_THAT(std::string(short_of_memory.message()),
             Contains("the device is out of memory for a tensor float32[100,8]"));
  CHECK(TryToRun(*small, {{"x", RandomTensor(DType::kFloat32, {1, 8})}}).ok());

  SessionOptions one_by_one = WithDouble(nullptr, {.launches = 2});
  one_by_one.fuse_chains = false;
  const auto failing = MakeSession(kChain, one_by_one);
  const absl::Status failed = TryToRun(*failing, inputs).status();
  CHECK(ExitCode(failed) == 8);
  CHECK_THAT(std::string(failed.message()), Contains("Add") && Contains("double failed: planted (error 700)"));
}

TEST_CASE("no memory for a list that a kernel reads is a limit, told once, and does not last") {
  // With n indices, x and y have 4 n bytes each, and the list of places has 8 n.
  const SessionText text = {.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n] x, int64[n] i) => (float[n] y) { y = Gather (x, i) })"};
  const auto session = MakeSession(text, WithDouble(nullptr, {.memory_bytes = 12000}));
  const auto inputs = [](int64_t n) {
    std::vector<int64_t> indices(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) indices[static_cast<size_t>(i)] = n - 1 - i;
    return NamedDatums{{"x", RandomTensor(DType::kFloat32, {n})}, {"i", Tensor::OfInts(indices)}};
  };
  const absl::Status status = TryToRun(*session, inputs(1000)).status();
  CHECK(ExitCode(status) == 5);
  CHECK_THAT(std::string(status.message()),
             Contains("Gather") && Contains("the device is out of memory for a list that a kernel reads"));
  const NamedDatums few = inputs(10);
  CHECK(DifferenceOf(RunSession(*session, few), RunSession(*MakeSession(text), few), 0) == "");
}

TEST_CASE("no memory for a library's workspace is a limit, whatever the library, and nobody else takes over") {
  const std::string head = R"(<ir_version: 10, opset_import: ["" : 21]> g )";
  const SessionText product = {.text = head + "(float[4,8] x) => (float[4,8] y) { y = MatMul (x, w) }",
                               .constants = {{"w", RandomTensor(DType::kFloat32, {8, 8})}}};
  const SessionText convolution = {
      .text = head + "(float[1,4,8] x) => (float[1,2,6] y) { h = Conv (x, w) y = Relu (h) }",
      .constants = {{"w", RandomTensor(DType::kFloat32, {2, 4, 3})}}};
  for (const auto& [text, dims] : {std::pair(product, Dims{4, 8}), std::pair(convolution, Dims{1, 4, 8})}) {
    const auto session = MakeSession(text, WithDouble(nullptr, {.has_workspaces = false}));
    for (int run = 0; run < 2; ++run) {
      const absl::Status status = TryToRun(*session, {{"x", RandomTensor(DType::kFloat32, dims)}}).status();
      CHECK(ExitCode(status) == 5);
      CHECK_THAT(std::string(status.message()), Contains("the device is out of memory: no workspace for the double"));
    }
  }
}

TEST_CASE("several threads may run a session with a device") {
  const auto session = MakeSession(kChain, WithDouble());
  const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {30, 8})}};
  const std::vector<Tensor> expected = RunSession(*MakeSession(kChain), inputs);
  std::vector<std::string> differences(3);
  std::vector<std::thread> threads;
  threads.reserve(differences.size());
  for (std::string& difference : differences) {
    threads.emplace_back([&] {
      for (int run = 0; run < 20 && difference.empty(); ++run) {
        difference = DifferenceOf(*TryToRun(*session, inputs), expected, 1e-5);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(differences == std::vector<std::string>(3));
}

}  // namespace
}  // namespace amp
