#include "runtime/cuda/products.h"

#include <cstdio>

#include "runtime/cuda/pick_fastest.h"
#include "runtime/device/raw/device_table.h"

namespace amp::cuda {
namespace {

using device::ProductActivation;
using device::ProductArguments;
using device::Storage;

cudaDataType_t TypeOf(Storage storage) {
  switch (storage) {
    case Storage::kFloat16:
      return CUDA_R_16F;
    case Storage::kBfloat16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

cublasLtEpilogue_t EpilogueOf(const ProductArguments& product) {
  const bool has_bias = product.bias != nullptr;
  switch (product.activation) {
    case ProductActivation::kNone:
      return has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    case ProductActivation::kRelu:
      return has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case ProductActivation::kGeluTanh:
      return has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

bool UsesTf32(const ProductArguments& product) { return product.allows_tf32 && product.storage == Storage::kFloat32; }

cublasComputeType_t ComputeOf(const ProductArguments& product) {
  return UsesTf32(product) ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

bool IsStrict(const ProductArguments& product) { return product.storage == Storage::kFloat32 && !UsesTf32(product); }

// Returns the kinds of arithmetic that algorithms may use. Strict float32 bars emulations of float32, which use Tensor
// Cores on other types, as it bars TF32, whatever CUBLAS_EMULATE_SINGLE_PRECISION says.
uint64_t AllowedFlags(const ProductArguments& product, Products::Units units) {
  constexpr uint64_t kSums = CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F;
  if (IsStrict(product)) return CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA | kSums | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F;
  if (product.storage == Storage::kFloat32) {
    return CUBLASLT_NUMERICAL_IMPL_FLAGS_OP_TYPE_MASK | kSums | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F |
           CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32;
  }
  if (units == Products::Units::kTensorCores) {
    return CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK | kSums | CUBLASLT_NUMERICAL_IMPL_FLAGS_OP_INPUT_TYPE_MASK;
  }
  return ~uint64_t{CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F};  // includes flags that newer libraries may add
}

// Returns the largest power of 2, up to 256, that divides the addresses of all matrices. Algorithms are chosen for it.
uint32_t AlignmentOf(const ProductArguments& product) {
  constexpr uintptr_t kMost = 256;
  const auto address = [](const void* matrix) { return reinterpret_cast<uintptr_t>(matrix); };
  const uintptr_t all = address(product.a) | address(product.b) | address(product.y) | address(product.addend) | kMost;
  return static_cast<uint32_t>(all & (~all + 1));
}

// Describes what an algorithm computes with: "algorithm 66, HMMA, float32 accumulators".
std::string CapabilityText(int algorithm, uint64_t flags) {
  std::string text = "cublasLt algorithm " + std::to_string(algorithm);
  if ((flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA) != 0) text += ", HMMA";
  if ((flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA) != 0) text += ", FMA";
  if ((flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32) != 0) text += ", TF32 inputs";
  if ((flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F) != 0) text += ", float16 accumulators";
  if ((flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F) != 0) text += ", float32 accumulators";
  return text;
}

// Returns the error, after writing its message to `text`.
int Answer(int error, const std::string& what, char* text) {
  std::snprintf(text, device::kMaxProductText, "%s", what.c_str());
  return error;
}

// For float32 products, says whether inputs are rounded to TF32; else empty.
const char* StrictnessText(const ProductArguments& product) {
  if (product.storage != Storage::kFloat32) return "";
  return UsesTf32(product) ? ", TF32 allowed, no BF16x9 emulation" : ", strict float32: no TF32, no BF16x9 emulation";
}

}  // namespace

// An operation with the layouts of its matrices in the library's order: `left` is b.
struct Products::Plan {
  const CublasLt* library = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t left = nullptr, right = nullptr, result = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};
  size_t workspace_bytes = 0;
  std::string text;  // describes the algorithm; empty: there is none
  std::string why_not;

  void Take(const cublasLtMatmulHeuristicResult_t& proposal) {
    algorithm = proposal.algo;
    workspace_bytes = proposal.workspaceSize;
  }

  ~Plan() {
    // Errors are ignored, as nothing can be done about them here.
    for (cublasLtMatrixLayout_t layout : {left, right, result}) {
      if (layout != nullptr) static_cast<void>(library->destroy_layout(layout));
    }
    if (operation != nullptr) static_cast<void>(library->destroy_operation(operation));
  }
};

Products::Products(int ordinal, Units units) : ordinal_(ordinal), units_(units) {}

Products::~Products() {
  plans_.clear();
  if (handle_ != nullptr) static_cast<void>(library_->destroy(handle_));
  if (workspace_ != nullptr) static_cast<void>(cudaFree(workspace_));
}

int Products::OpenLibrary(char* text) {
  if (handle_ != nullptr) return 0;
  library_ = OpenCublasLt(text, device::kMaxProductText);
  if (library_ == nullptr) return device::kNoLibrary;
  cudaDeviceProp properties = {};
  if (const int error = cudaGetDeviceProperties(&properties, ordinal_); error != 0) {
    return Answer(error, "the device does not say what it is", text);
  }
  device_text_ =
      std::string(properties.name) + " " + std::to_string(properties.major) + "." + std::to_string(properties.minor);
  constexpr int kHopper = 9;
  constexpr size_t kMebibyte = size_t{1} << 20;
  workspace_bytes_ = (properties.major >= kHopper ? 32 : 4) * kMebibyte;
  if (const int error = workspace_ == nullptr ? cudaMalloc(&workspace_, workspace_bytes_) : 0; error != 0) {
    // Clears the error, so that the next call does not return it.
    if (error == device::kOutOfMemory) static_cast<void>(cudaGetLastError());
    workspace_ = nullptr;
    return Answer(error, "no workspace of " + std::to_string(workspace_bytes_ / kMebibyte) + " MiB for cuBLASLt", text);
  }
  const cublasStatus_t status = library_->create(&handle_);
  if (status == CUBLAS_STATUS_SUCCESS) return 0;
  handle_ = nullptr;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) {
    static_cast<void>(cudaGetLastError());
    return Answer(device::kOutOfMemory, "cublasLtCreate finds none", text);
  }
  return Answer(device::kNoLibrary, "cublasLtCreate failed (status " + std::to_string(status) + ")", text);
}

const char* Products::Describe(const ProductArguments& product, Plan& plan) const {
  if (library_->create_operation(&plan.operation, ComputeOf(product), CUDA_R_32F) != CUBLAS_STATUS_SUCCESS) {
    return "no operation";
  }
  const auto set_operation = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return library_->set_operation(plan.operation, attribute, static_cast<const void*>(&value), sizeof(value)) ==
           CUBLAS_STATUS_SUCCESS;
  };
  const cublasOperation_t left = product.transposes_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t right = product.transposes_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const bool is_set = set_operation(CUBLASLT_MATMUL_DESC_TRANSA, left) &&
                      set_operation(CUBLASLT_MATMUL_DESC_TRANSB, right) &&
                      set_operation(CUBLASLT_MATMUL_DESC_EPILOGUE, EpilogueOf(product)) &&
                      (product.bias == nullptr || set_operation(CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias));
  if (!is_set) return "no operation of this kind";
  // A row-major matrix [rows, columns] is a column-major matrix [columns, rows].
  const auto make_layout = [&](cublasLtMatrixLayout_t& layout, Storage storage, int64_t rows, int64_t columns,
                               int64_t step) {
    const auto batch = static_cast<int32_t>(product.batch);
    return library_->create_layout(&layout, TypeOf(storage), static_cast<uint64_t>(columns),
                                   static_cast<uint64_t>(rows), columns) == CUBLAS_STATUS_SUCCESS &&
           library_->set_layout(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch)) ==
               CUBLAS_STATUS_SUCCESS &&
           library_->set_layout(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof(step)) ==
               CUBLAS_STATUS_SUCCESS;
  };
  const int64_t m = product.m, n = product.n, k = product.k;
  const bool has_layouts = make_layout(plan.left, product.storage, product.transposes_b ? n : k,
                                       product.transposes_b ? k : n, product.b_step) &&
                           make_layout(plan.right, product.storage, product.transposes_a ? k : m,
                                       product.transposes_a ? m : k, product.a_step) &&
                           make_layout(plan.result, product.y_storage, m, n, m * n);
  return has_layouts ? nullptr : "no layout of these matrices";
}

const char* Products::Propose(const ProductArguments& product, Plan& plan,
                              std::vector<cublasLtMatmulHeuristicResult_t>& proposals) const {
  cublasLtMatmulPreference_t preference = nullptr;
  if (library_->create_preference(&preference) != CUBLAS_STATUS_SUCCESS) return "no preference";
  bool is_set = library_->set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes_,
                                         sizeof(workspace_bytes_)) == CUBLAS_STATUS_SUCCESS;
  const uint32_t alignment = AlignmentOf(product);
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    is_set = is_set &&
             library_->set_preference(preference, attribute, &alignment, sizeof(alignment)) == CUBLAS_STATUS_SUCCESS;
  }
  // Partial sums must be added up in float32, too.
  const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  is_set = is_set && library_->set_preference(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions,
                                              sizeof(reductions)) == CUBLAS_STATUS_SUCCESS;
  const uint64_t allowed = AllowedFlags(product, units_);
  is_set = is_set && library_->set_preference(preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, &allowed, sizeof(allowed)) ==
                         CUBLAS_STATUS_SUCCESS;
  int count = 0;
  const bool is_found = is_set && library_->get_heuristic(handle_, plan.operation, plan.left, plan.right, plan.result,
                                                          plan.result, preference, static_cast<int>(proposals.size()),
                                                          proposals.data(), &count) == CUBLAS_STATUS_SUCCESS;
  const bool is_done = library_->destroy_preference(preference) == CUBLAS_STATUS_SUCCESS;
  proposals.resize(is_found && count > 0 ? static_cast<size_t>(count) : 0);
  std::erase_if(proposals, [](const auto& each) { return each.state != CUBLAS_STATUS_SUCCESS; });
  return proposals.empty() || !is_done ? "cuBLASLt has no algorithm for it" : nullptr;
}

const char* Products::Choose(const ProductArguments& product, const Key& key, cudaStream_t stream, Plan& plan) const {
  constexpr size_t kMostProposals = 16;  // to be timed
  const std::string text = choices_ == nullptr ? "" : TextOf(key);
  if (choices_ == nullptr || !Recall(product, text, plan)) {
    std::vector<cublasLtMatmulHeuristicResult_t> proposals(choices_ == nullptr ? 1 : kMostProposals);
    if (const char* const why_not = Propose(product, plan, proposals); why_not != nullptr) return why_not;
    plan.Take(proposals[0]);
    if (choices_ != nullptr) PickAndKeep(product, text, stream, plan, proposals);
  }
  if (IsBarred(product, plan)) return "cuBLASLt's algorithm for it is no float32 of the kind that is allowed";
  int algorithm = -1;
  size_t written = 0;
  const std::optional<uint64_t> flags = FlagsOf(plan);
  const bool is_told =
      flags.has_value() && library_->get_configuration(&plan.algorithm, CUBLASLT_ALGO_CONFIG_ID, &algorithm,
                                                       sizeof(algorithm), &written) == CUBLAS_STATUS_SUCCESS;
  plan.text = (is_told ? CapabilityText(algorithm, *flags) : "cublasLt, an algorithm that does not say what it is") +
              plan.text + StrictnessText(product);
  return nullptr;
}

std::optional<uint64_t> Products::FlagsOf(const Plan& plan) const {
  uint64_t flags = 0;
  size_t written = 0;
  const cublasStatus_t status = library_->get_capability(&plan.algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS,
                                                         &flags, sizeof(flags), &written);
  return status == CUBLAS_STATUS_SUCCESS ? std::optional(flags) : std::nullopt;
}

bool Products::IsBarred(const ProductArguments& product, const Plan& plan) const {
  return product.storage == Storage::kFloat32 && (FlagsOf(plan).value_or(0) & ~AllowedFlags(product, units_)) != 0;
}

// ---- choosing by time -----------------------------------------------------------------------------------------------

void Products::UseChoices(const device::Choices* choices) {
  const std::lock_guard<std::mutex> lock(mutex_);
  choices_ = choices;
}

std::string Products::TextOf(const Key& key) const {
  std::string text = "cublasLt " + std::to_string(library_->get_version()) + " " + device_text_;
  std::apply([&](const auto&... parts) { ((text += " " + std::to_string(parts)), ...); }, key);
  return text;
}

bool Products::Recall(const ProductArguments& product, const std::string& key, Plan& plan) const {
  cublasLtMatmulAlgo_t algorithm = {};
  const size_t size = choices_->find(choices_->self, key.c_str(), &algorithm, sizeof(algorithm));
  if (size == 0) return false;
  const auto refuse = [&](const char* why) {
    choices_->refuse(choices_->self, key.c_str(), why);
    return false;
  };
  if (size != sizeof(algorithm)) return refuse("it is no algorithm of cuBLASLt");
  cublasLtMatmulHeuristicResult_t checked = {};
  const cublasStatus_t status =
      library_->check(handle_, plan.operation, plan.left, plan.right, plan.result, plan.result, &algorithm, &checked);
  if (status != CUBLAS_STATUS_SUCCESS) return refuse("cuBLASLt does not take it");
  if (checked.workspaceSize > workspace_bytes_) return refuse("its workspace is larger than what there is");
  checked.algo = algorithm;
  plan.Take(checked);
  if (IsBarred(product, plan)) return refuse("it is no float32 of the kind that is allowed");
  plan.text = ", chosen by time before";
  return true;
}

void Products::PickAndKeep(const ProductArguments& product, const std::string& key, cudaStream_t stream, Plan& plan,
                           const std::vector<cublasLtMatmulHeuristicResult_t>& proposals) const {
  if (IsCapturing(stream)) return;
  const size_t fastest = PickFastest(proposals.size(), [&](size_t i) {
    plan.Take(proposals[i]);
    return TimeOfRuns(stream, [&] { return Run(product, stream, plan) == CUBLAS_STATUS_SUCCESS; });
  });
  plan.Take(proposals[fastest]);
  plan.text = ", fastest of " + std::to_string(proposals.size());
  choices_->keep(choices_->self, key.c_str(), &plan.algorithm, sizeof(plan.algorithm));
}

// ---- running --------------------------------------------------------------------------------------------------------

Products::Plan& Products::PlanFor(const ProductArguments& product, cudaStream_t stream) {
  const int flags = (product.transposes_a ? 1 : 0) | (product.transposes_b ? 2 : 0) |
                    (product.bias != nullptr ? 4 : 0) | (product.y_storage != product.storage ? 8 : 0) |
                    (product.allows_tf32 ? 16 : 0) | static_cast<int>(product.activation) << 5 |
                    (product.addend != nullptr ? 128 : 0) | static_cast<int>(AlignmentOf(product)) << 8;
  const Key key = {static_cast<int>(product.storage),
                   product.m,
                   product.n,
                   product.k,
                   product.batch,
                   product.a_step,
                   product.b_step,
                   flags};
  std::unique_ptr<Plan>& plan = plans_[key];
  if (plan != nullptr) return *plan;
  plan = std::make_unique<Plan>();
  plan->library = library_;
  const char* why_not = Describe(product, *plan);
  if (why_not == nullptr) why_not = Choose(product, key, stream, *plan);
  if (why_not != nullptr) plan->why_not = why_not;
  return *plan;
}

cublasStatus_t Products::Run(const ProductArguments& product, cudaStream_t stream, const Plan& plan) const {
  const float beta = product.addend != nullptr ? 1 : 0;
  return library_->matmul(handle_, plan.operation, &product.alpha, product.b, plan.left, product.a, plan.right, &beta,
                          product.addend != nullptr ? product.addend : product.y, plan.result, product.y, plan.result,
                          &plan.algorithm, workspace_, plan.workspace_bytes, stream);
}

int Products::Multiply(const ProductArguments& product, cudaStream_t stream, char* text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const int error = OpenLibrary(text); error != 0) return error;
  const Plan& plan = PlanFor(product, stream);
  if (!plan.why_not.empty()) return Answer(device::kNoProduct, plan.why_not, text);
  if (product.bias != nullptr &&
      library_->set_operation(plan.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                              static_cast<const void*>(&product.bias), sizeof(product.bias)) != CUBLAS_STATUS_SUCCESS) {
    return Answer(device::kNoProduct, "cuBLASLt does not take the bias", text);
  }
  const cublasStatus_t status = Run(product, stream, plan);
  if (status == CUBLAS_STATUS_SUCCESS) return Answer(0, plan.text, text);
  int error = cudaGetLastError();
  if (error == 0 && status == CUBLAS_STATUS_ALLOC_FAILED) error = device::kOutOfMemory;
  return Answer(error != 0 ? error : cudaErrorUnknown, "cublasLtMatmul failed (status " + std::to_string(status) + ")",
                text);
}

}  // namespace amp::cuda
