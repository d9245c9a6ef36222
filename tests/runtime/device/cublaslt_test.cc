// cuBLASLt as libamp_cuda.so opens it: every function that is asked for is there, and without a driver it says no.
#include "runtime/cuda/cublaslt.h"

#include "runtime/cuda/pick_fastest.h"
#include "tests/catch2.h"

namespace amp::cuda {
namespace {

TEST_CASE("cuBLASLt opens where it is, with all functions, and needs a GPU for the rest") {
  char why_not[200] = "";
  const CublasLt* const library = OpenCublasLt(why_not, sizeof(why_not));
  if (library == nullptr) {
    WARN("no cuBLASLt: " << why_not);
    CHECK_THAT(why_not, Catch::Matchers::Contains("cuBLASLt"));
    return;
  }
  CHECK(library->get_version() >= 120000);
  cublasLtHandle_t handle = nullptr;
  const cublasStatus_t status = library->create(&handle);
  if (status != CUBLAS_STATUS_SUCCESS) {
    WARN("no GPU: cublasLtCreate gives " << static_cast<int>(status));
    return;
  }
  CHECK(library->destroy(handle) == CUBLAS_STATUS_SUCCESS);
}

TEST_CASE("the fastest is who has the best time but for the first one, and who does not run is never it") {
  int calls = 0;
  const std::vector<std::vector<float>> times = {{1, 9, 8, 9}, {50, 6, 7, 9}, {kNoTime, 0, 0, 0}, {9, 9, 9, 6.5F}};
  std::vector<size_t> turns(times.size(), 0);
  const size_t fastest = PickFastest(times.size(), [&](size_t i) {
    ++calls;
    return times[i][turns[i]++];
  });
  CHECK(fastest == 1);
  CHECK(calls == 13);
  CHECK(PickFastest(3, [](size_t) { return kNoTime; }) == 0);
  CHECK(PickFastest(0, [](size_t) { return 1.0F; }) == 0);
}

}  // namespace
}  // namespace amp::cuda
