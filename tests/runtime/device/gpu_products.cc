// Checks of runtime/cuda/products.cc that only a GPU can run: which units compute products, and how fast.
//
//   gpu_products kinds     compares what --explain says of products of each type with what it should say, and again
//                          with 16 bits on Tensor Cores alone, where a product that has no such algorithm is none
//   gpu_products best N    times [N, N] in float16 against the fastest that cuBLASLt has for it, and against strict
//                          float32, in turns on random numbers; prints "figure NAME VALUE" at the end of each
//
// Exit code 8 without a GPU, 1 where something is not as it should be.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/cuda/pick_fastest.h"
#include "runtime/cuda/products.h"

namespace amp::cuda {
namespace {

using device::ProductArguments;
using device::Storage;

void Check(int error, const char* what) {
  if (error == 0) return;
  std::printf("%s: %s (error %d)\n", what, cudaGetErrorString(static_cast<cudaError_t>(error)), error);
  std::exit(1);
}

const char* NameOf(Storage storage) {
  return storage == Storage::kFloat16 ? "float16" : storage == Storage::kBfloat16 ? "bfloat16" : "float32";
}
size_t BytesOf(Storage storage) { return storage == Storage::kFloat32 ? sizeof(float) : sizeof(uint16_t); }

// Numbers between 0.5 and 1, or the negative of them, whatever the type: random in their other bits.
class Matrices {
 public:
  Matrices(Storage storage, int64_t m, int64_t n, int64_t k)
      : product_({.a = Make(storage, m * k),
                  .b = Make(storage, k * n),
                  .bias = nullptr,
                  .y = Make(storage, m * n),
                  .storage = storage,
                  .y_storage = storage,
                  .m = m,
                  .n = n,
                  .k = k,
                  .batch = 1,
                  .a_step = 0,
                  .b_step = 0,
                  .transposes_a = false,
                  .transposes_b = false,
                  .activation = device::ProductActivation::kNone,
                  .allows_tf32 = false,
                  .alpha = 1}) {}
  ~Matrices() {
    for (void* const block : blocks_) Check(cudaFree(block), "cudaFree");
  }
  Matrices(const Matrices&) = delete;
  Matrices& operator=(const Matrices&) = delete;

  const ProductArguments& product() const { return product_; }

 private:
  void* Make(Storage storage, int64_t count) {
    const bool is_wide = storage == Storage::kFloat32;
    const uint32_t exponent = is_wide ? 0x3f000000 : storage == Storage::kFloat16 ? 0x3800 : 0x3f00;
    const uint32_t rest = is_wide ? 0x807fffff : storage == Storage::kFloat16 ? 0x83ff : 0x807f;
    std::vector<std::byte> bytes(static_cast<size_t>(count) * BytesOf(storage));
    uint64_t state = 88172645463325252;
    for (size_t i = 0; i < bytes.size(); i += BytesOf(storage)) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      const uint32_t bits = exponent | (static_cast<uint32_t>(state >> 16) & rest);
      std::memcpy(bytes.data() + i, &bits, BytesOf(storage));
    }
    void* memory = nullptr;
    Check(cudaMalloc(&memory, bytes.size()), "cudaMalloc");
    blocks_.push_back(memory);
    Check(cudaMemcpy(memory, bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
    return memory;
  }

  std::vector<void*> blocks_;
  ProductArguments product_;
};

// Milliseconds of one of several runs; kNoTime where it does not run.
float TimeOf(const std::function<bool()>& run) {
  constexpr int kRuns = 3;
  cudaEvent_t begin = nullptr, end = nullptr;
  Check(cudaEventCreate(&begin), "cudaEventCreate");
  Check(cudaEventCreate(&end), "cudaEventCreate");
  Check(cudaEventRecord(begin, nullptr), "cudaEventRecord");
  bool runs = true;
  for (int i = 0; i < kRuns; ++i) runs = runs && run();
  Check(cudaEventRecord(end, nullptr), "cudaEventRecord");
  Check(cudaEventSynchronize(end), "cudaEventSynchronize");
  float milliseconds = 0;
  Check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
  Check(cudaEventDestroy(begin), "cudaEventDestroy");
  Check(cudaEventDestroy(end), "cudaEventDestroy");
  return runs ? milliseconds / kRuns : kNoTime;
}

// ---- kinds ----------------------------------------------------------------------------------------------------------

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// "as expected", or what is wrong about the text of an algorithm for the type.
std::string Verdict(Storage storage, const std::string& text) {
  if (!Has(text, ", float32 accumulators") || Has(text, "float16 accumulators")) return "WRONG: other accumulators";
  if (storage != Storage::kFloat32) return Has(text, ", HMMA") ? "as expected" : "WRONG: no Tensor Cores";
  const bool is_strict = Has(text, ", FMA") && !Has(text, "HMMA") && Has(text, "strict float32: no TF32, no BF16x9");
  return is_strict ? "as expected" : "WRONG: not strict";
}

int ShowKinds() {
  struct Shape {
    int64_t m, n, k;
    bool has_algorithm;  // surely, on Tensor Cores
  };
  const Shape shapes[] = {{1024, 1024, 1024, true},  {8192, 8192, 8192, true}, {1, 4096, 784, true},
                          {16384, 1024, 1024, true}, {7, 5, 3, false},         {129, 1001, 77, false}};
  int wrong = 0;
  for (const Products::Units units : {Products::Units::kAny, Products::Units::kTensorCores}) {
    const bool is_forced = units == Products::Units::kTensorCores;
    Products products(0, units);
    for (const Storage storage : {Storage::kFloat16, Storage::kBfloat16, Storage::kFloat32}) {
      for (const Shape& shape : shapes) {
        const Matrices matrices(storage, shape.m, shape.n, shape.k);
        char text[device::kMaxProductText] = "";
        const int error = products.Multiply(matrices.product(), nullptr, text);
        Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        // Where Tensor Cores are all that is allowed, small odd shapes may have no algorithm: none is as good as one.
        const bool may_lack = error == device::kNoProduct && is_forced && !shape.has_algorithm;
        const bool must_be = is_forced || shape.has_algorithm || storage == Storage::kFloat32;
        std::string verdict = error == 0 ? Verdict(storage, text) : "WRONG: error " + std::to_string(error);
        if (may_lack || (error == 0 && !must_be)) verdict = "noted";
        wrong += verdict[0] == 'W' ? 1 : 0;
        std::printf("%s%-8s %5dx%dx%d: %s: %s\n", is_forced ? "forced " : "", NameOf(storage),
                    static_cast<int>(shape.m), static_cast<int>(shape.n), static_cast<int>(shape.k), text,
                    verdict.c_str());
      }
    }
  }
  std::printf("%s\n", wrong == 0 ? "16 bits on Tensor Cores, float32 by FMA, sums in float32" : "not all as expected");
  return wrong == 0 ? 0 : 1;
}

// ---- the fastest ----------------------------------------------------------------------------------------------------

// All that cuBLASLt has for y = a b of square matrices in float16, that adds up in float32.
class Candidates {
 public:
  explicit Candidates(const ProductArguments& product) : product_(product) {
    char why_not[device::kMaxProductText] = "";
    library_ = OpenCublasLt(why_not, sizeof(why_not));
    if (library_ == nullptr) {
      std::printf("%s\n", why_not);
      std::exit(1);
    }
    Check(cudaMalloc(&workspace_, kWorkspaceBytes), "cudaMalloc");
    const auto side = static_cast<uint64_t>(product.m);
    Expect(library_->create(&handle_));
    Expect(library_->create_operation(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    Expect(library_->create_layout(&layout_, CUDA_R_16F, side, side, product.m));
    cublasLtMatmulPreference_t preference = nullptr;
    Expect(library_->create_preference(&preference));
    Expect(library_->set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes,
                                    sizeof(kWorkspaceBytes)));
    constexpr int kMost = 512;
    found_.resize(kMost);
    int count = 0;
    Expect(library_->get_heuristic(handle_, operation_, layout_, layout_, layout_, layout_, preference, kMost,
                                   found_.data(), &count));
    Expect(library_->destroy_preference(preference));
    found_.resize(static_cast<size_t>(count));
  }
  ~Candidates() {
    Expect(library_->destroy_layout(layout_));
    Expect(library_->destroy_operation(operation_));
    Expect(library_->destroy(handle_));
    Check(cudaFree(workspace_), "cudaFree");
  }
  Candidates(const Candidates&) = delete;
  Candidates& operator=(const Candidates&) = delete;

  size_t size() const { return found_.size(); }
  bool Run(size_t which) const {
    const float beta = 0;
    return library_->matmul(handle_, operation_, &product_.alpha, product_.b, layout_, product_.a, layout_, &beta,
                            product_.y, layout_, product_.y, layout_, &found_[which].algo, workspace_,
                            found_[which].workspaceSize, nullptr) == CUBLAS_STATUS_SUCCESS;
  }

 private:
  static constexpr size_t kWorkspaceBytes = size_t{32} << 20;
  static void Expect(cublasStatus_t status) { Check(status == CUBLAS_STATUS_SUCCESS ? 0 : 1, "cuBLASLt"); }

  const ProductArguments product_;
  const CublasLt* library_ = nullptr;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t layout_ = nullptr;
  void* workspace_ = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> found_;
};

// Choices that are kept as long as the program runs.
struct Memory {
  std::map<std::string, std::string> known;
  device::Choices choices = {.self = this,
                             .find = [](void* self, const char* key, void* value, size_t size) -> size_t {
                               const auto& known = static_cast<Memory*>(self)->known;
                               const auto found = known.find(key);
                               if (found == known.end()) return 0;
                               std::memcpy(value, found->second.data(), std::min(size, found->second.size()));
                               return found->second.size();
                             },
                             .keep =
                                 [](void* self, const char* key, const void* value, size_t size) {
                                   static_cast<Memory*>(self)->known[key] = {static_cast<const char*>(value), size};
                                 }};
};

// Does what the product asks for, on the stream that runs the others.
std::function<bool()> RunOf(Products& products, const ProductArguments& product, std::string& text) {
  return [&products, product, &text] {
    char said[device::kMaxProductText] = "";
    const bool runs = products.Multiply(product, nullptr, said) == 0;
    text = said;
    return runs;
  };
}

int CompareWithBest(int64_t side) {
  const Matrices low(Storage::kFloat16, side, side, side), wide(Storage::kFloat32, side, side, side);
  const Candidates candidates(low.product());
  const size_t best =
      PickFastest(candidates.size(), [&](size_t i) { return TimeOf([&] { return candidates.Run(i); }); });
  Memory memory;
  Products plain(0, Products::Units::kTensorCores), tuned(0);
  tuned.UseChoices(&memory.choices);
  enum Way : size_t { kBest, kPlain, kTuned, kWide, kWays };
  std::string texts[kWays];
  texts[kBest] = "the fastest of " + std::to_string(candidates.size()) + " algorithms";
  const std::function<bool()> ways[kWays] = {
      [&] { return candidates.Run(best); }, RunOf(plain, low.product(), texts[kPlain]),
      RunOf(tuned, low.product(), texts[kTuned]), RunOf(plain, wide.product(), texts[kWide])};
  constexpr size_t kRounds = 15;
  std::vector<float> times[kWays];
  for (size_t round = 0; round < kRounds + 1; ++round) {
    for (size_t way = 0; way < kWays; ++way) {
      const float time = TimeOf(ways[way]);
      if (round > 0) times[way].push_back(time);  // the first one is to warm up
    }
  }
  const char* const names[kWays] = {"cuBLASLt's best", "float16", "float16 --autotune", "strict float32"};
  double medians[kWays] = {};
  for (size_t way = 0; way < kWays; ++way) {
    std::sort(times[way].begin(), times[way].end());
    medians[way] = static_cast<double>(times[way][kRounds / 2]);
    const double operations = 2.0 * static_cast<double>(side * side) * static_cast<double>(side);
    std::printf("%-18s %9.4f ms %8.1f TFLOP/s  %s\n", names[way], medians[way], operations / medians[way] / 1e9,
                texts[way].c_str());
  }
  std::printf("figure products_best %.4f\n", medians[kBest] / medians[kPlain]);
  std::printf("figure products_tuned %.4f\n", medians[kBest] / medians[kTuned]);
  for (const char* const name : {"products_gain", "products_rate"}) {
    std::printf("figure %s %.3f\n", name, medians[kWide] / medians[kPlain]);
  }
  return candidates.size() > 0 && medians[kWide] < static_cast<double>(kNoTime) ? 0 : 1;
}

int Run(const std::vector<std::string>& words) {
  int count = 0;
  if (const int error = cudaGetDeviceCount(&count); error != 0 || count == 0) {
    std::printf("no GPU: %s\n", cudaGetErrorString(static_cast<cudaError_t>(error)));
    return 8;
  }
  if (words.size() == 1 && words[0] == "kinds") return ShowKinds();
  const int64_t side = words.size() == 2 && words[0] == "best" ? std::atoll(words[1].c_str()) : 0;
  if (side > 0) return CompareWithBest(side);
  std::printf("usage: gpu_products kinds | best N\n");
  return 2;
}

}  // namespace
}  // namespace amp::cuda

int main(int count, char** words) { return amp::cuda::Run({words + 1, words + count}); }
