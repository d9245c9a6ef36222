// Weights that are in memory once: packed, or as they are stored where somebody reads them so.
#include <cmath>
#include <thread>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "runtime/onednn/open_library.h"
#include "tests/catch2.h"
#include "tests/runtime/resident.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

const Tensor& ConstantOf(const Session& session, const std::string& name) {
  return *session.program().constants[session.model().graph(kMainGraph).names.at(name)].tensor();
}

double ShareOf(const Session& session, const std::string& name) {
  return ResidentShare(ConstantOf(session, name).bytes());
}

SessionOptions Keeping() {
  SessionOptions options;
  options.free_packed_weights = false;
  return options;
}

// Returns the type as ONNX's text has it.
std::string TypeName(DType dtype) { return dtype == DType::kFloat32 ? "float" : std::string(DTypeName(dtype)); }

// Two convolutions, whose weights every processor's library packs.
SessionText Convolutions(DType dtype, absl::string_view more_nodes = "", absl::string_view outputs = "") {
  return {.text = absl::StrCat(R"(<ir_version: 10, opset_import: ["" : 22]>
            g ()",
                               TypeName(dtype), "[n,128,h,h] x) => (", TypeName(dtype), "[] y", outputs, R"() {
            h = Conv <pads = [1, 1, 1, 1]> (x, v)
            i = Relu (h)
            y = Conv (i, w) )",
                               more_nodes, "}"),
          .constants = {{"v", RandomTensor(dtype, {256, 128, 3, 3})}, {"w", RandomTensor(dtype, {512, 256, 1, 1})}}};
}

NamedDatums Image(DType dtype, int64_t count, int64_t size) {
  return {{"x", RandomTensor(dtype, {count, 128, size, size})}};
}

// Whether the library packs weights of the type here. Where it packs 16 bits of its own, it may not be able to unpack.
bool HasToGo(DType dtype) {
  const onednn::Library* const library = onednn::OpenLibrary().library;
  return library != nullptr && (dtype == DType::kFloat32 || !library->ComputesIn(dtype));
}

TEST_CASE("weights of convolutions go once they are packed, and outputs keep their bits") {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBfloat16}) {
    INFO(DTypeName(dtype));
    const SessionText text = Convolutions(dtype);
    const auto session = MakeSession(text), kept = MakeSession(text, Keeping());
    CHECK(ShareOf(*session, "v") == 1);
    for (const auto& [count, size] : {std::pair(1, 14), std::pair(2, 7), std::pair(1, 1), std::pair(1, 14)}) {
      const NamedDatums inputs = Image(dtype, count, size);
      CHECK(DifferenceOf(RunSession(*session, inputs), RunSession(*kept, inputs), 0) == "");
      if (HasToGo(dtype)) CHECK(ShareOf(*session, "v") == 0);
      if (HasToGo(dtype)) CHECK(ShareOf(*session, "w") == 0);
      CHECK(ShareOf(*kept, "v") == 1);
    }
  }
}

TEST_CASE("weights that something else reads stay") {
  const auto read = MakeSession(Convolutions(DType::kFloat32, "s = ReduceMax (x) z = Mul (w, s)", ", float[] z"));
  const auto given = MakeSession(Convolutions(DType::kFloat32, "", ", float[512,256,1,1] w"));
  for (const Session* const session : {read.get(), given.get()}) {
    for (int run = 0; run < 2; ++run) RunSession(*session, Image(DType::kFloat32, 1, 7));
    CHECK(ShareOf(*session, "w") == 1);
    if (HasToGo(DType::kFloat32)) CHECK(ShareOf(*session, "v") == 0);
  }
}

TEST_CASE("two nodes that pack one weight share it") {
  const SessionText text = {.text = R"(<ir_version: 10, opset_import: ["" : 22]>
            g (float[n,256,h,h] x) => (float[] y) { h = Conv (x, w)  y = Conv (h, w) })",
                            .constants = {{"w", RandomTensor(DType::kFloat32, {256, 256, 1, 1})}}};
  const auto session = MakeSession(text), kept = MakeSession(text, Keeping());
  const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {1, 256, 9, 9})}};
  for (int run = 0; run < 2; ++run) {
    CHECK(DifferenceOf(RunSession(*session, inputs), RunSession(*kept, inputs), 0) == "");
  }
  if (HasToGo(DType::kFloat32)) CHECK(ShareOf(*session, "w") == 0);
}

// AVX2 packs a multiple of 512 columns, too.
SessionText Product(DType dtype) {
  return {.text = absl::StrCat(R"(<ir_version: 10, opset_import: ["" : 22]>
            g ()",
                               TypeName(dtype), "[n,1024] x) => (", TypeName(dtype), R"([] y) {
            h = MatMul (x, w)
            i = Add (h, b)
            y = Relu (i) })"),
          .constants = {{"w", RandomTensor(dtype, {1024, 1024})}, {"b", RandomTensor(dtype, {1024})}}};
}

TEST_CASE("rows that read a matrix as it lies get it back, and it stays") {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBfloat16}) {
    INFO(DTypeName(dtype));
    const SessionText text = Product(dtype);
    const auto session = MakeSession(text), kept = MakeSession(text, Keeping());
    for (const int64_t rows : {200, 1, 300, 7, 200, 64, 1}) {
      INFO(rows);
      NamedDatums inputs = {{"x", RandomTensor(dtype, {rows, 1024})}};
      CHECK(DifferenceOf(RunSession(*session, inputs), RunSession(*kept, inputs), 0) == "");
    }
    const bool is_read_plain = KernelsOf(*session).front().find("onednn") == std::string::npos;
    if (is_read_plain) CHECK(ShareOf(*session, "w") == 1);
    if (dtype != DType::kFloat32) continue;
    const auto many = MakeSession(text);
    RunSession(*many, {{"x", RandomTensor(dtype, {200, 1024})}});
    if (HasToGo(dtype)) CHECK(ShareOf(*many, "w") == 0);
  }
}

TEST_CASE("NaN in weights that have gone is seen behind a Relu") {
  SessionText text = Product(DType::kFloat32);
  text.constants[0].second.mutable_elements<float>()[5] = std::nanf("");
  const auto session = MakeSession(text), kept = MakeSession(text, Keeping());
  for (const int64_t rows : {200, 1, 64}) {
    const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {rows, 1024})}};
    const Tensor y = RunSession(*session, inputs)[0];
    CHECK(std::isnan(y.elements<float>()[5]));
    CHECK(DifferenceOf({y}, RunSession(*kept, inputs), 0) == "");
  }
}

TEST_CASE("threads with other shapes have the weights as each wants them") {
  const SessionText text = Product(DType::kFloat32);
  const auto kept = MakeSession(text, Keeping());
  for (int round = 0; round < 10; ++round) {
    const auto session = MakeSession(text);
    const std::vector<int64_t> rows = {1, 64, 200, 2};
    std::vector<std::string> found(rows.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < rows.size(); ++i) {
      threads.emplace_back([&, i] {
        for (int64_t run = 0; run < 3; ++run) {
          const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {rows[i] + run, 1024})}};
          const absl::StatusOr<std::vector<Tensor>> a = TryToRun(*session, inputs), b = TryToRun(*kept, inputs);
          if (!a.ok() || !b.ok()) {
            found[i] = "fails";
          } else if (const std::string difference = DifferenceOf(*a, *b, 1e-5); !difference.empty()) {
            found[i] = difference;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& each : found) CHECK(each == "");
  }
}

TEST_CASE("weights in bodies, and those of the graph around them, keep their values") {
  SessionText text = Product(DType::kFloat32);
  text.text = R"(<ir_version: 10, opset_import: ["" : 22]>
    g (bool c, float[n,1024] x) => (float[] y) {
      a = MatMul (x, w)
      y = If (c) <then_branch = t () => (float[] p) { p = MatMul (a, w) },
                  else_branch = e () => (float[] q) { q = Add (a, b) }> })";
  const auto session = MakeSession(text), kept = MakeSession(text, Keeping());
  for (const auto& [rows, is_taken] : {std::pair(100, true), std::pair(1, true), std::pair(100, false)}) {
    const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {rows, 1024})}, {"c", Tensor::Scalar(is_taken)}};
    CHECK(DifferenceOf(RunSession(*session, inputs), RunSession(*kept, inputs), 0) == "");
  }
}

TEST_CASE("what was folded into another constant goes") {
  SessionText text = Product(DType::kFloat32);
  text.text = R"(<ir_version: 10, opset_import: ["" : 22]>
    g (float[n,1024] x) => (float[] y) { t = Transpose (w)  a = MatMul (x, t)  y = Add (a, b) })";
  const auto session = MakeSession(text), kept = MakeSession(text, Keeping());
  CHECK(ShareOf(*session, "w") == 0);
  const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {3, 1024})}};
  CHECK(DifferenceOf(RunSession(*session, inputs), RunSession(*kept, inputs), 0) == "");
}

// The first tells that a form comes back; the second is narrower than bfloat16, which float16 may be computed in.
TEST_CASE("weights of 16 bits come back as they were, after one that any type holds") {
  Tensor zeros = RandomTensor(DType::kFloat16, {512, 256, 1, 1});
  for (std::byte& byte : zeros.mutable_bytes()) byte = std::byte{0};
  const SessionText text = {.text = R"(<ir_version: 10, opset_import: ["" : 22]>
        g (float16[n,256,h,h] x) => (float16[] y, float16[] z) { y = Conv (x, v)  z = Conv (x, w) })",
                            .constants = {{"v", zeros}, {"w", RandomTensor(DType::kFloat16, {512, 256, 1, 1})}}};
  SessionOptions options, keeping = Keeping();
  options.allow_bfloat16 = keeping.allow_bfloat16 = true;
  const auto session = MakeSession(text, options), kept = MakeSession(text, keeping);
  const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat16, {1, 256, 5, 5})}};
  CHECK(DifferenceOf(RunSession(*session, inputs), RunSession(*kept, inputs), 0) == "");
  const auto& site = session->program().blocks[kMainGraph][1].site;
  REQUIRE(site->droppable.size() > 1);
  const absl::StatusOr<ConstantHold> hold = site->droppable[1]->Hold(ConstantUse::kOnce);
  REQUIRE(hold.ok());
  CHECK(absl::c_equal(ConstantOf(*session, "w").bytes(), ConstantOf(*kept, "w").bytes()));
}

}  // namespace
}  // namespace amp
