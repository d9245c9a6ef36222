// Runs that compute with zeros instead of subnormal numbers, on all of their threads.
#include <algorithm>
#include <cmath>

#include "runtime/kernel/float_mode.h"
#include "runtime/onednn/open_library.h"
#include "tests/catch2.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

constexpr int64_t kRows = 512, kColumns = 256;  // enough for two threads

// Results are about 2e-39.
constexpr absl::string_view kProduct =
    "<ir_version: 8, opset_import: [\"\": 17]> g (float[n,256] x, float[256,256] w) => (float[] y) { y = MatMul(x, w) "
    "}";
constexpr absl::string_view kElements =
    "<ir_version: 8, opset_import: [\"\": 17]> g (float[n,256] x, float[] w) => (float[] y) { y = Mul(x, w) }";

Tensor Filled(const Dims& dims, float element) {
  Tensor tensor = *Tensor::Create(DType::kFloat32, dims);
  std::fill(tensor.mutable_elements<float>().begin(), tensor.mutable_elements<float>().end(), element);
  return tensor;
}

bool HasMode() {
  if (!FloatMode::kCanFlush) WARN("not tested: this processor has no such mode");
  return FloatMode::kCanFlush;
}

SessionOptions Options(bool flushes, int threads = 1) {
  SessionOptions options;
  options.flush_subnormals = flushes;
  options.threads = threads;
  return options;
}

int64_t Subnormals(const SessionOptions& options, absl::string_view text, const NamedDatums& inputs) {
  const std::unique_ptr<Session> session = MakeSession({.text = std::string(text), .constants = {}}, options);
  const std::vector<Tensor> outputs = RunSession(*session, inputs);
  const auto y = outputs.at(0).elements<float>();
  REQUIRE(y.size() == kRows * kColumns);
  return std::count_if(y.begin(), y.end(), [](float element) { return std::fpclassify(element) == FP_SUBNORMAL; });
}

TEST_CASE("subnormal results are zeros where that is asked for, on every thread") {
  if (!HasMode()) return;
  const NamedDatums of_product = {{"x", Filled({kRows, kColumns}, 1e-20f)}, {"w", Filled({256, kColumns}, 1e-21f)}};
  const NamedDatums of_elements = {{"x", Filled({kRows, kColumns}, 2e-38f)}, {"w", Filled({}, 0.1f)}};
  for (const int threads : {1, 2}) {
    INFO(threads);
    // The second run has threads that the first one has used.
    for (const bool flushes : {true, false, true}) {
      const SessionOptions options = Options(flushes, threads);
      CHECK(Subnormals(options, kElements, of_elements) == (flushes ? 0 : kRows * kColumns));
      CHECK(Subnormals(options, kProduct, of_product) == (flushes ? 0 : kRows * kColumns));
    }
  }
}

TEST_CASE("subnormal operands are zeros where that is asked for") {
  if (!HasMode()) return;
  const NamedDatums inputs = {{"x", Filled({kRows, kColumns}, 1e-39f)}, {"w", Filled({}, 1e20f)}};
  for (const bool flushes : {true, false}) {
    const std::unique_ptr<Session> session =
        MakeSession({.text = std::string(kElements), .constants = {}}, Options(flushes));
    const std::vector<Tensor> outputs = RunSession(*session, inputs);
    CHECK((outputs.at(0).elements<float>()[0] == 0) == flushes);
  }
}

TEST_CASE("a run leaves its caller's mode as it was") {
  if (!HasMode()) return;
  const NamedDatums inputs = {{"x", Filled({kRows, kColumns}, 1.0f)}, {"w", Filled({}, 1.0f)}};
  RunSession(*MakeSession({.text = std::string(kElements), .constants = {}}, Options(true)), inputs);
  volatile float small = 2e-38f;
  const float less = small * 0.1f;
  CHECK(less > 0);
}

}  // namespace
}  // namespace amp
