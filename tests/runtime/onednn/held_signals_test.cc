// Products while signals arrive, as Ctrl-C, alarms and profilers send them. Without runtime/onednn/held_signals.h the
// library's kernel for AVX2 wrote beyond its arrays in two of three runs of this.
#include "runtime/onednn/held_signals.h"

#include <sys/time.h>

#include <atomic>

#include "tests/catch2.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

std::atomic<int> handled = 0;

void Handle(int) { ++handled; }

// SIGALRM every 200 us of time.
class Alarms {
 public:
  Alarms() {
    ::signal(SIGALRM, Handle);
    constexpr int kEveryUs = 200;
    const itimerval every = {{0, kEveryUs}, {0, kEveryUs}};
    ::setitimer(ITIMER_REAL, &every, nullptr);
  }
  ~Alarms() {
    const itimerval never = {};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::signal(SIGALRM, SIG_DFL);
  }
};

TEST_CASE("held signals: products are right while signals arrive") {
  SessionOptions options;
  options.threads = GENERATE(1, 2);
  constexpr int kRows = 64, kTerms = 1024, kColumns = 10, kRuns = 3000;
  const auto session = MakeSession({.text = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[64,1024] a, float[1024,10] b) => (float[64,10] y) { y = MatMul (a, b) })"},
                                   options);
  std::vector<float> a(size_t{kRows} * kTerms), b(size_t{kTerms} * kColumns);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  const NamedDatums inputs = {{"a", Tensor::Of<float>(DType::kFloat32, {kRows, kTerms}, a)},
                              {"b", Tensor::Of<float>(DType::kFloat32, {kTerms, kColumns}, b)}};
  const auto product = [&] {
    const auto outputs = session->Run(inputs);
    REQUIRE(outputs.ok());
    const auto elements = (*outputs)[0].tensor()->elements<float>();
    return std::vector<float>(elements.begin(), elements.end());
  };
  const std::vector<float> expected = product();
  int wrong = 0;
  {
    const Alarms alarms;
    for (int i = 0; i < kRuns; ++i) wrong += product() == expected ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(handled > 0);  // signals come through between products
}

TEST_CASE("held signals: the library's products by gemm:jit have them held, others not") {
  CHECK(onednn::KeepsValuesBelowStack("gemm:jit:f32"));
  CHECK(onednn::KeepsValuesBelowStack("x64:gemm:jit"));
  CHECK_FALSE(onednn::KeepsValuesBelowStack("brg_matmul:avx512_core"));
  CHECK_FALSE(onednn::KeepsValuesBelowStack("jit:avx2"));
}

}  // namespace
}  // namespace amp
