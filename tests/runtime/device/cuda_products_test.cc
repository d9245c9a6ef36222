// runtime/cuda/products.cc with a cuBLASLt of our own, which has the algorithms that a test gives it: which of them may
// be chosen, what is said of it, and what is missing.
#include <algorithm>
#include <cstring>

#include "runtime/cuda/products.h"
#include "runtime/device/raw/device_table.h"
#include "tests/catch2.h"
#include "tests/runtime/device/fake_cuda_runtime.h"
#include "tests/runtime/device/kept_choices.h"

namespace amp::cuda {
namespace {

using Catch::Matchers::Contains;

constexpr uint64_t kFma = CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA, kHmma = CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA,
                   kSum32 = CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F,
                   kSum16 = CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F,
                   kOf32 = CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F, kOfTf32 = CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32,
                   kOf16 = CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F, kOfB16 = CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF;

struct FakeLibrary {
  bool is_there = true;
  bool heeds_mask = true;
  cublasStatus_t creates = CUBLAS_STATUS_SUCCESS, multiplies = CUBLAS_STATUS_SUCCESS;
  std::vector<uint64_t> algorithms = {};  // their flags, the best first; an algorithm's number is its place
  size_t workspace_bytes = 0;             // of what it checks
  // The last request to the library.
  uint64_t mask = 0;
  cublasComputeType_t compute = CUBLAS_COMPUTE_16F;
  int products = 0;
  float beta = -1;
  const void* added = nullptr;
};
FakeLibrary fake;

char something;
template <typename Handle>
cublasStatus_t Give(Handle* handle) {
  *handle = reinterpret_cast<Handle>(&something);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t Create(cublasLtHandle_t* handle) {
  return fake.creates == CUBLAS_STATUS_SUCCESS ? Give(handle) : fake.creates;
}
cublasStatus_t CreateOperation(cublasLtMatmulDesc_t* operation, cublasComputeType_t compute, cudaDataType_t) {
  fake.compute = compute;
  return Give(operation);
}
cublasStatus_t SetPreference(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t attribute,
                             const void* value, size_t size) {
  if (attribute == CUBLASLT_MATMUL_PREF_IMPL_MASK) std::memcpy(&fake.mask, value, size);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t GetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                            cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int most,
                            cublasLtMatmulHeuristicResult_t* results, int* count) {
  *count = 0;
  for (size_t i = 0; i < fake.algorithms.size() && *count < most; ++i) {
    if (fake.heeds_mask && (fake.algorithms[i] & ~fake.mask) != 0) continue;
    results[*count] = {};
    results[(*count)++].algo.data[0] = i;
  }
  return *count > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t GetConfiguration(const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulAlgoConfigAttributes_t,
                                void* value, size_t size, size_t* written) {
  const int number = static_cast<int>(algorithm->data[0]);
  std::memcpy(value, &number, *written = std::min(size, sizeof(number)));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t GetCapability(const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulAlgoCapAttributes_t, void* value,
                             size_t size, size_t* written) {
  std::memcpy(value, &fake.algorithms[algorithm->data[0]], *written = std::min(size, sizeof(uint64_t)));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t Multiply(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*, cublasLtMatrixLayout_t,
                        const void*, cublasLtMatrixLayout_t, const void* beta, const void* c, cublasLtMatrixLayout_t,
                        void*, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t) {
  ++fake.products;
  std::memcpy(&fake.beta, beta, sizeof(fake.beta));
  fake.added = c;
  return fake.multiplies;
}

cublasStatus_t Check(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t* algorithm,
                     cublasLtMatmulHeuristicResult_t* checked) {
  if (algorithm->data[0] >= fake.algorithms.size()) return CUBLAS_STATUS_INVALID_VALUE;
  checked->workspaceSize = fake.workspace_bytes;
  return CUBLAS_STATUS_SUCCESS;
}

const CublasLt kLibrary = {.create = Create,
                           .destroy = [](cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; },
                           .get_version = [] { return size_t{130100}; },
                           .matmul = Multiply,
                           .check = Check,
                           .get_capability = GetCapability,
                           .get_configuration = GetConfiguration,
                           .get_heuristic = GetHeuristic,
                           .create_operation = CreateOperation,
                           .destroy_operation = [](cublasLtMatmulDesc_t) { return CUBLAS_STATUS_SUCCESS; },
                           .set_operation = [](cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void*,
                                               size_t) { return CUBLAS_STATUS_SUCCESS; },
                           .create_preference = [](cublasLtMatmulPreference_t* preference) { return Give(preference); },
                           .destroy_preference = [](cublasLtMatmulPreference_t) { return CUBLAS_STATUS_SUCCESS; },
                           .set_preference = SetPreference,
                           .create_layout = [](cublasLtMatrixLayout_t* layout, cudaDataType, uint64_t, uint64_t,
                                               int64_t) { return Give(layout); },
                           .destroy_layout = [](cublasLtMatrixLayout_t) { return CUBLAS_STATUS_SUCCESS; },
                           .set_layout = [](cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, const void*,
                                            size_t) { return CUBLAS_STATUS_SUCCESS; }};

device::ProductArguments ProductOf(device::Storage storage) {
  static float memory[4];
  return {.a = memory,
          .b = memory,
          .bias = nullptr,
          .y = memory,
          .storage = storage,
          .y_storage = storage,
          .m = 2,
          .n = 2,
          .k = 2,
          .batch = 1,
          .a_step = 0,
          .b_step = 0,
          .transposes_a = false,
          .transposes_b = false,
          .activation = device::ProductActivation::kNone,
          .allows_tf32 = false,
          .alpha = 1};
}

struct Answer {
  int error = 0;
  std::string text;
};
Answer Ask(Products& products, const device::ProductArguments& product) {
  char text[device::kMaxProductText] = "";
  const int error = products.Multiply(product, nullptr, text);
  return {error, text};
}
Answer AskOnce(const device::ProductArguments& product) {
  Products products(0);
  return Ask(products, product);
}

TEST_CASE("cuBLASLt that is missing, or does not start, is no product that others may compute") {
  fake = {.is_there = false};
  const device::ProductArguments product = ProductOf(device::Storage::kFloat32);
  Answer answer = AskOnce(product);
  CHECK(answer.error == device::kNoLibrary);
  CHECK(answer.text == "cuBLASLt cannot be opened: planted");
  fake = {.creates = CUBLAS_STATUS_NOT_INITIALIZED};
  answer = AskOnce(product);
  CHECK(answer.error == device::kNoLibrary);
  CHECK(answer.text == "cublasLtCreate failed (status 1)");
  fake = {};
  answer = AskOnce(product);
  CHECK(answer.error == device::kNoProduct);
  CHECK(answer.text == "cuBLASLt has no algorithm for it");
}

TEST_CASE("no memory for cuBLASLt is that, and does not last") {
  fake = {.algorithms = {kFma | kSum32 | kOf32}};
  FakeCuda() = {.room_bytes = 1000};
  const device::ProductArguments product = ProductOf(device::Storage::kFloat32);
  {
    Products products(0);
    const Answer answer = Ask(products, product);
    CHECK(answer.error == device::kOutOfMemory);
    CHECK(answer.text == "no workspace of 32 MiB for cuBLASLt");
    CHECK(FakeCuda().last_error == 0);
    FakeCuda().room_bytes = size_t{1} << 30;
    fake.creates = CUBLAS_STATUS_ALLOC_FAILED;
    CHECK(Ask(products, product).error == device::kOutOfMemory);
    fake.creates = CUBLAS_STATUS_SUCCESS;
    CHECK(Ask(products, product).error == 0);
    fake.multiplies = CUBLAS_STATUS_ALLOC_FAILED;
    CHECK(Ask(products, product).error == device::kOutOfMemory);
    CHECK(FakeCuda().live_blocks == 1);
  }
  CHECK(FakeCuda().live_blocks == 0);
  FakeCuda() = {};
}

// As cuBLAS 12.9 and newer have them: what rounds float32 or splits it comes first.
const std::vector<uint64_t> kOfFloat32 = {kHmma | kSum32 | kOfTf32, kHmma | kSum32 | kOfB16, kHmma | kSum32 | kOf32,
                                          kFma | kSum32 | kOf16, kFma | kSum32 | kOf32};

TEST_CASE("float32 is strict: neither TF32 nor BF16x9, which its text says") {
  fake = {.algorithms = kOfFloat32};
  const device::ProductArguments product = ProductOf(device::Storage::kFloat32);
  const Answer answer = AskOnce(product);
  CHECK(answer.error == 0);
  CHECK(answer.text == "cublasLt algorithm 4, FMA, float32 accumulators, strict float32: no TF32, no BF16x9 emulation");
  CHECK(fake.compute == CUBLAS_COMPUTE_32F);
  CHECK(fake.mask == (kFma | kSum32 | kOf32));
  fake.algorithms.pop_back();
  CHECK(AskOnce(product).error == device::kNoProduct);
  fake.heeds_mask = false;
  CHECK(AskOnce(product).error == device::kNoProduct);
  CHECK_THAT(AskOnce(product).text, Contains("is no float32 of the kind that is allowed"));
}

TEST_CASE("what is added to a product is read by cuBLASLt; nothing else is") {
  fake = {.algorithms = kOfFloat32};
  device::ProductArguments product = ProductOf(device::Storage::kFloat32);
  Products products(0);
  CHECK(Ask(products, product).error == 0);
  CHECK(fake.beta == 0);
  float addend[4] = {};
  product.addend = addend;
  CHECK(Ask(products, product).error == 0);
  CHECK(fake.beta == 1);
  CHECK(fake.added == addend);
}

TEST_CASE("TF32 is for who allows it, and no other rounding with it") {
  fake = {.algorithms = {kHmma | kSum32 | kOfB16, kHmma | kSum16 | kOfTf32, kHmma | kSum32 | kOfTf32}};
  device::ProductArguments product = ProductOf(device::Storage::kFloat32);
  product.allows_tf32 = true;
  const Answer answer = AskOnce(product);
  CHECK(answer.text ==
        "cublasLt algorithm 2, HMMA, TF32 inputs, float32 accumulators, TF32 allowed, no BF16x9 emulation");
  CHECK(fake.compute == CUBLAS_COMPUTE_32F_FAST_TF32);
}

TEST_CASE("16 bits are added up in float32, and where Tensor Cores are all that is allowed, never computed by others") {
  for (const device::Storage storage : {device::Storage::kFloat16, device::Storage::kBfloat16}) {
    const uint64_t input = storage == device::Storage::kFloat16 ? kOf16 : kOfB16;
    const device::ProductArguments product = ProductOf(storage);
    fake = {.algorithms = {kHmma | kSum16 | input, kFma | kSum32 | input, kHmma | kSum32 | input}};
    CHECK(AskOnce(product).text == "cublasLt algorithm 1, FMA, float32 accumulators");
    Products forced(0, Products::Units::kTensorCores);
    CHECK(Ask(forced, product).text == "cublasLt algorithm 2, HMMA, float32 accumulators");
    fake.algorithms.pop_back();
    Products none(0, Products::Units::kTensorCores);
    CHECK(Ask(none, product).error == device::kNoProduct);
    CHECK(Ask(none, product).text == "cuBLASLt has no algorithm for it");
  }
}

TEST_CASE("an algorithm that was kept and is not good any more is refused, and the fastest is found anew") {
  const device::ProductArguments product = ProductOf(device::Storage::kFloat32);
  const std::string timed =
      "cublasLt algorithm 4, FMA, float32 accumulators, fastest of 1, strict float32: no TF32, no "
      "BF16x9 emulation";
  const auto algorithm = [](uint64_t number) {
    cublasLtMatmulAlgo_t value = {};
    value.data[0] = number;
    return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  struct Spoilt {
    std::string value;
    size_t workspace_bytes;
    std::string why;
  };
  for (const auto& [value, workspace_bytes, why] :
       {Spoilt{"x", 0, "it is no algorithm of cuBLASLt"}, Spoilt{algorithm(99), 0, "cuBLASLt does not take it"},
        Spoilt{algorithm(4), size_t{1} << 40, "its workspace is larger than what there is"},
        Spoilt{algorithm(0), 0, "it is no float32 of the kind that is allowed"}}) {
    fake = {.algorithms = kOfFloat32};
    KeptChoices kept;
    Products first(0), next(0), second(0);
    first.UseChoices(&kept.choices);
    CHECK(Ask(first, product).text == timed);
    CHECK(kept.by_key.begin()->second == algorithm(4));
    next.UseChoices(&kept.choices);
    CHECK_THAT(Ask(next, product).text, Contains("chosen by time before"));
    CHECK(kept.refused.empty());
    kept.by_key.begin()->second = value;
    fake.workspace_bytes = workspace_bytes;
    second.UseChoices(&kept.choices);
    CHECK(Ask(second, product).text == timed);
    CHECK(kept.refused == std::vector<std::string>{why});
  }
}

}  // namespace

const CublasLt* OpenCublasLt(char* why_not, size_t size) {
  if (fake.is_there) return &kLibrary;
  std::snprintf(why_not, size, "cuBLASLt cannot be opened: planted");
  return nullptr;
}

}  // namespace amp::cuda
