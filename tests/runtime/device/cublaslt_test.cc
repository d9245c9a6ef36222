// cuBLASLt as libamp_cuda.so opens it: every function that is asked for is there, and without a driver it says no.
#include "runtime/cuda/cublaslt.h"

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

}  // namespace
}  // namespace amp::cuda
