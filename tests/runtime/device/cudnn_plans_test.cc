// Checks which engines of cuDNN would compute real models' convolutions and attention, on GPUs that are described, not
// there. In 16 bits the engines use Tensor Cores; in float32 they use none unless TF32 is allowed.
//
// Plans are those that libamp_cuda.so makes. Where there is no cuDNN, the program says so in one line, exit code 77.
// With --why-not it prints why nothing, or no attention, can be planned; with --why-no-handle why cuDNN does not start.
#include "runtime/cuda/cudnn_plans.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace amp::cuda {
namespace {

using device::LibraryAttention;
using device::LibraryConvolution;
using device::ResultStep;
using device::Storage;

constexpr int kSkipped = 77;

// ---- GPUs -----------------------------------------------------------------------------------------------------------

struct Gpu {
  const char* name;
  int sm_version, multiprocessors, shared_per_block, shared_per_multiprocessor, clock_khz, memory_clock_khz;
  int64_t cache_bytes, memory_bytes;
  int bus_bits;
};
constexpr Gpu kGpus[] = {{"NVIDIA H200", 90, 132, 232448, 233472, 1980000, 3201000, 62914560, 150754820096, 6144},
                         {"NVIDIA A100", 80, 108, 166912, 167936, 1410000, 1593000, 41943040, 85899345920, 5120}};

// As cuDNN writes its properties down, with the names of 9.8 and what later versions have besides.
std::string JsonOf(const Gpu& gpu) {
  char json[2000];
  std::snprintf(json, sizeof(json),
                R"({"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "cudaDeviceId": 0,
"deviceVer": %d, "driverVer": 13000, "regsPerBlock": 65536, "multiProcessorCount": %d, "smCountOrigin": 0,
"warpSize": 32, "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": %d,
"oversizedSharedMemoryPerBlock": 0, "reservedSharedMemoryPerBlock": 1024, "maxSharedMemoryPerSM": %d,
"maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
"pciDeviceId": 0, "pciBusId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "smClockRateKHz": %d,
"memClockRateKHz": %d, "l2CacheSize": %lld, "deviceName": "%s", "totalGlobalMem": %lld, "memBusWidth": %d,
"memoryBusWidth": %d})",
                gpu.sm_version * 10, gpu.multiprocessors, gpu.shared_per_block, gpu.shared_per_multiprocessor,
                gpu.clock_khz, gpu.memory_clock_khz, static_cast<long long>(gpu.cache_bytes), gpu.name,
                static_cast<long long>(gpu.memory_bytes), gpu.bus_bits, gpu.bus_bits);
  return json;
}

// ---- what is planned ------------------------------------------------------------------------------------------------

// The operators behind a convolution of ResNet-50.
enum class Behind { kNothing, kRelu, kResidualAndRelu };

struct Layer {
  int64_t channels, filters;
  int32_t size, kernel, stride;
  Behind behind;
};

// The distinct ones, of images of 224 x 224, batch norms folded in. `size`: of what is read.
const std::vector<Layer>& ResNet50() {
  static const auto& layers = *[] {
    auto* const all = new std::vector<Layer>{{3, 64, 224, 7, 2, Behind::kRelu}};
    struct Stage {
      int64_t before, inner;
      int32_t size;
    };
    for (const Stage& stage : {Stage{64, 64, 56}, {256, 128, 56}, {512, 256, 28}, {1024, 512, 14}}) {
      const int64_t after = 4 * stage.inner;
      const int32_t stride = stage.inner == 64 ? 1 : 2, inside = stage.size / stride;
      all->push_back({stage.before, stage.inner, stage.size, 1, 1, Behind::kRelu});
      all->push_back({stage.inner, stage.inner, stage.size, 3, stride, Behind::kRelu});
      all->push_back({stage.inner, after, inside, 1, 1, Behind::kResidualAndRelu});
      all->push_back({stage.before, after, stage.size, 1, stride, Behind::kNothing});
      all->push_back({after, stage.inner, inside, 1, 1, Behind::kRelu});
      if (stride == 2) all->push_back({stage.inner, stage.inner, inside, 3, 1, Behind::kRelu});
    }
    return all;
  }();
  return layers;
}

// Plans look at no element.
void* Somewhere() {
  alignas(256) static char place[256];
  return place;
}

LibraryConvolution ConvolutionOf(const Layer& layer, int64_t batch, Storage storage) {
  const int32_t pad = layer.kernel / 2, output = (layer.size + 2 * pad - layer.kernel) / layer.stride + 1;
  const device::PoolAxis one = {
      .input = 1, .output = 1, .kernel = 1, .stride = 1, .dilation = 1, .pad_begin = 0, .pad_end = 0};
  const device::PoolAxis axis = {.input = layer.size,
                                 .output = output,
                                 .kernel = layer.kernel,
                                 .stride = layer.stride,
                                 .dilation = 1,
                                 .pad_begin = pad,
                                 .pad_end = pad};
  LibraryConvolution convolution = {.x = Somewhere(),
                                    .w = Somewhere(),
                                    .bias = Somewhere(),
                                    .y = Somewhere(),
                                    .storage = storage,
                                    .stored_as = storage,
                                    .is_transposed = false,
                                    .channels_last = false,
                                    .allows_tf32 = false,
                                    .batch = batch,
                                    .channels = layer.channels,
                                    .filters = layer.filters,
                                    .groups = 1,
                                    .num_axes = 2,
                                    .axes = {one, axis, axis},
                                    .num_steps = 0,
                                    .steps = {}};
  if (layer.behind == Behind::kResidualAndRelu) {
    convolution.steps[convolution.num_steps++] = {.operand = ResultStep::Operand::kWhole, .elements = Somewhere()};
  }
  if (layer.behind != Behind::kNothing) {
    convolution.steps[convolution.num_steps++] = {.function = device::UnaryFunction::kRelu};
  }
  return convolution;
}

struct Special {
  const char* name;
  LibraryConvolution convolution;
};

// Returns convolutions that ResNet-50 does not have: with other numbers of axes, with groups, transposed, or with other
// operators behind them.
std::vector<Special> Specials(Storage storage) {
  const device::PoolAxis one = {
      .input = 1, .output = 1, .kernel = 1, .stride = 1, .dilation = 1, .pad_begin = 0, .pad_end = 0};
  const LibraryConvolution plain = ConvolutionOf({64, 128, 28, 3, 1, Behind::kNothing}, 8, storage);
  LibraryConvolution list = plain, volume = plain, groups = plain, odd = plain, uneven = plain;
  list.num_axes = 1;
  list.axes[1] = one;
  volume.num_axes = 3;
  volume.axes[0] = volume.axes[1];
  groups.groups = 32;
  odd.channels = 37;
  odd.filters = 51;
  uneven.axes[2] = {.input = 28, .output = 14, .kernel = 3, .stride = 2, .dilation = 1, .pad_begin = 0, .pad_end = 1};
  std::vector<Special> specials = {{"one axis", list},
                                   {"three axes", volume},
                                   {"32 groups", groups},
                                   {"odd channels", odd},
                                   {"uneven pads", uneven}};
  LibraryConvolution transposed = plain;
  transposed.is_transposed = true;
  for (const int axis : {1, 2}) {
    transposed.axes[axis] = {
        .input = 56, .output = 28, .kernel = 2, .stride = 2, .dilation = 1, .pad_begin = 0, .pad_end = 0};
  }
  transposed.bias = nullptr;
  specials.push_back({"transposed", transposed});
  return specials;
}

// Returns an attention of BERT. Its heads lie beside each other in a row, and a mask for each sentence is added to the
// scores.
LibraryAttention AttentionOf(int64_t batch, int64_t heads, int64_t length, Storage storage) {
  constexpr int64_t kSize = 64;
  const device::HeadSteps steps = {{length * heads * kSize, kSize, heads * kSize, 1}};
  return {.q = Somewhere(),
          .k = Somewhere(),
          .v = Somewhere(),
          .mask = Somewhere(),
          .y = Somewhere(),
          .storage = storage,
          .batch = batch,
          .heads = heads,
          .key_heads = heads,
          .queries = length,
          .keys = length,
          .size = kSize,
          .value_size = kSize,
          .q_steps = steps,
          .k_steps = steps,
          .v_steps = steps,
          .y_steps = steps,
          .mask_dims = {batch, 1, 1, length},
          .scale = 0.125F};
}

// ---- the checks -----------------------------------------------------------------------------------------------------

struct Tally {
  int plans = 0, wrong = 0;
};

void Check(const std::string& what, const CudnnPlan* plan, const std::string& why_not, bool wants_tensor_cores,
           Tally& tally) {
  ++tally.plans;
  if (plan == nullptr) {
    std::printf("%s: no plan: %s\n", what.c_str(), why_not.c_str());
    ++tally.wrong;
  } else if (plan->uses_tensor_cores() != wants_tensor_cores) {
    std::printf("%s: %s: expected %s Tensor Cores\n", what.c_str(), plan->engine().c_str(),
                wants_tensor_cores ? "engines with" : "no engines with");
    ++tally.wrong;
  }
}

const char* NameOf(Storage storage) {
  return storage == Storage::kFloat32 ? "float32" : storage == Storage::kFloat16 ? "float16" : "bfloat16";
}

std::string NameOf(const Layer& layer, int64_t batch) {
  char name[200];
  std::snprintf(name, sizeof(name), "%ld x %ld x %d x %d, %ld filters of %d x %d, stride %d", batch, layer.channels,
                layer.size, layer.size, layer.filters, layer.kernel, layer.kernel, layer.stride);
  return name;
}

// The gradient of the weights of a convolution, and the one of operands that were widened from 16 bits.
void CheckWeights(const std::string& what, LibraryConvolution convolution, const CudnnTarget& target, Tally& tally) {
  convolution.bias = nullptr;
  convolution.num_steps = 0;
  convolution.gives_weights = true;
  for (const bool allows_tf32 : {false, true}) {
    convolution.allows_tf32 = allows_tf32;
    CudnnFailure failure;
    const auto plan = PlanConvolution(convolution, target, {}, failure);
    Check(what + ", its weights", plan.get(), failure.text, allows_tf32, tally);
  }
}

void CheckConvolutions(const Gpu& gpu, Tally& tally) {
  const CudnnTarget target = {.device = JsonOf(gpu), .sm_version = gpu.sm_version};
  for (const Storage storage : {Storage::kFloat16, Storage::kBfloat16, Storage::kFloat32}) {
    for (const int64_t batch : {int64_t{1}, int64_t{16}, int64_t{128}}) {
      for (const Layer& layer : ResNet50()) {
        const std::string what = std::string(gpu.name) + ": " + NameOf(storage) + ": " + NameOf(layer, batch);
        LibraryConvolution convolution = ConvolutionOf(layer, batch, storage);
        CudnnFailure failure;
        const auto plan = PlanConvolution(convolution, target, {}, failure);
        Check(what, plan.get(), failure.text, storage != Storage::kFloat32, tally);
        if (storage != Storage::kFloat32 && batch != 1) {
          convolution.channels_last = true;
          const auto turned = PlanConvolution(convolution, target, {}, failure);
          Check(what + ", channels last", turned.get(), failure.text, true, tally);
        }
        if (storage != Storage::kFloat32 || batch != 16) continue;
        CheckWeights(what, convolution, target, tally);
        convolution.allows_tf32 = true;
        const auto in_tf32 = PlanConvolution(convolution, target, {}, failure);
        Check(what + ", TF32 allowed", in_tf32.get(), failure.text, true, tally);
      }
    }
  }
}

void CheckSpecials(const Gpu& gpu, Tally& tally) {
  const CudnnTarget target = {.device = JsonOf(gpu), .sm_version = gpu.sm_version};
  for (const Storage storage : {Storage::kFloat16, Storage::kBfloat16, Storage::kFloat32}) {
    for (const Special& special : Specials(storage)) {
      CudnnFailure failure;
      const auto plan = PlanConvolution(special.convolution, target, {}, failure);
      Check(std::string(gpu.name) + ": " + NameOf(storage) + ": " + special.name, plan.get(), failure.text,
            storage != Storage::kFloat32, tally);
    }
  }
}

// Plans attention that BERT does not have: heads that share keys, heads apart, one query at a time.
void CheckSpecialAttention(const Gpu& gpu, Tally& tally) {
  const CudnnTarget target = {.device = JsonOf(gpu), .sm_version = gpu.sm_version};
  const LibraryAttention plain = AttentionOf(4, 8, 256, Storage::kFloat16);
  LibraryAttention shared = plain, apart = plain, decoding = plain;
  shared.key_heads = 2;
  shared.k_steps = shared.v_steps = {{256 * 2 * 64, 64, 2 * 64, 1}};
  apart.q_steps = apart.k_steps = apart.v_steps = apart.y_steps = {{8 * 256 * 64, 256 * 64, 64, 1}};
  decoding.queries = 1;
  decoding.q_steps = decoding.y_steps = {{8 * 64, 64, 8 * 64, 1}};
  for (const auto& [name, attention] : {std::pair<const char*, LibraryAttention>{"heads that share keys", shared},
                                        {"heads apart", apart},
                                        {"one query", decoding}}) {
    CudnnFailure failure;
    const auto plan = PlanAttention(attention, target, {}, failure);
    Check(std::string(gpu.name) + ": " + name, plan.get(), failure.text, true, tally);
  }
}

void CheckAttention(const Gpu& gpu, Tally& tally) {
  const CudnnTarget target = {.device = JsonOf(gpu), .sm_version = gpu.sm_version};
  for (const Storage storage : {Storage::kFloat16, Storage::kBfloat16}) {
    for (const int64_t heads : {int64_t{12}, int64_t{16}}) {  // base, large
      for (const auto& [batch, length] : {std::pair<int64_t, int64_t>{1, 128}, {32, 512}}) {
        for (const bool is_masked : {true, false}) {
          LibraryAttention attention = AttentionOf(batch, heads, length, storage);
          if (!is_masked) attention.mask = nullptr;
          const std::string what = std::string(gpu.name) + ": " + NameOf(storage) + ": attention of " +
                                   std::to_string(heads) + " heads, " + std::to_string(batch) + " x " +
                                   std::to_string(length) + (is_masked ? ", masked" : "");
          CudnnFailure failure;
          const auto plan = PlanAttention(attention, target, {}, failure);
          Check(what, plan.get(), failure.text, true, tally);
        }
      }
    }
  }
}

// Plans several engines for one convolution, as they are timed on a GPU. Each may be taken, and its name alone finds it
// again.
void CheckCandidates(const Gpu& gpu, Tally& tally) {
  const CudnnTarget target = {.device = JsonOf(gpu), .sm_version = gpu.sm_version};
  for (const Storage storage : {Storage::kFloat16, Storage::kFloat32}) {
    const LibraryConvolution convolution = ConvolutionOf({64, 64, 56, 3, 1, Behind::kRelu}, 16, storage);
    const std::string what = std::string(gpu.name) + ": " + NameOf(storage) + ": candidates";
    CudnnFailure failure;
    constexpr size_t kMost = 3;
    const auto best = PlanConvolution(convolution, target, {}, failure);
    const auto plan = PlanConvolution(convolution, target, {.most_candidates = kMost}, failure);
    Check(what, plan.get(), failure.text, storage != Storage::kFloat32, tally);
    if (plan == nullptr || best == nullptr) continue;
    std::set<std::string> engines;
    bool is_right = plan->engine() == best->engine() && plan->num_candidates() == kMost;
    for (size_t i = 0; i < plan->num_candidates(); ++i) {
      plan->Take(i);
      is_right = is_right && engines.insert(plan->engine()).second;
      const auto again = PlanConvolution(convolution, target, {.engine = plan->engine()}, failure);
      is_right = is_right && again != nullptr && again->engine() == plan->engine() &&
                 again->workspace_bytes() == plan->workspace_bytes() &&
                 again->uses_tensor_cores() == plan->uses_tensor_cores();
    }
    const auto none = PlanConvolution(convolution, target, {.engine = "eng99999"}, failure);
    is_right = is_right && none == nullptr && failure.text == "cuDNN: 'eng99999' is not proposed";
    if (is_right) continue;
    std::printf("%s: expected %zu, the best first, each to be found again; found %zu; %s\n", what.c_str(), kMost,
                plan->num_candidates(), failure.text.c_str());
    ++tally.wrong;
  }
}

int Run() {
  const CudnnLibrary& library = OpenCudnn();
  if (library.version == 0) {
    std::printf("SKIPPED, NOTHING WAS PLANNED: %s\n", library.why_not.c_str());
    return kSkipped;
  }
  Tally tally;
  for (const Gpu& gpu : kGpus) {
    CheckCandidates(gpu, tally);
    CheckSpecials(gpu, tally);
    CheckConvolutions(gpu, tally);
    if (library.version >= kLeastCudnnForAttention) {
      CheckAttention(gpu, tally);
      CheckSpecialAttention(gpu, tally);
    } else {
      std::printf("SKIPPED, NO ATTENTION: cuDNN %s\n", CudnnVersionText(library.version).c_str());
    }
  }
  std::printf("cuDNN %s: %d plans, %d wrong\n", CudnnVersionText(library.version).c_str(), tally.plans, tally.wrong);
  return tally.wrong == 0 ? 0 : 1;
}

int PrintWhyNot() {
  CudnnFailure failure = {.text = OpenCudnn().why_not};
  if (failure.text.empty()) PlanAttention(AttentionOf(1, 1, 8, Storage::kFloat16), {}, {}, failure);
  std::printf("%s\n", failure.text.c_str());
  return 0;
}

int PrintWhyNoHandle() {
  CudnnFailure failure;
  if (OpenCudnn().version == 0 || MakeCudnnHandle(nullptr, failure) != nullptr) return 1;
  std::printf("%s%s\n", failure.text.c_str(), failure.is_out_of_memory ? ", out of memory" : "");
  return 0;
}

}  // namespace
}  // namespace amp::cuda

int main(int count, char** words) {
  const std::string flag = count > 1 ? words[1] : "";
  if (flag == "--why-not") return amp::cuda::PrintWhyNot();
  return flag == "--why-no-handle" ? amp::cuda::PrintWhyNoHandle() : amp::cuda::Run();
}
