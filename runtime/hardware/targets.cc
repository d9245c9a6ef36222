#include "runtime/hardware/targets.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace amp {
namespace {

// All these backends compute the statistics of normalisations and the sums of reductions in float32.
TargetPromises PromisesOf(Device device, KernelSpeed bfloat16) {
  return {.device = device,
          .float32_accumulation = true,
          .float32_softmax = true,
          .float32_statistics = true,
          .bfloat16_recurrence = bfloat16 >= KernelSpeed::kSomewhatFast};
}

struct Row {
  const char* name;
  Device device;
  KernelSpeed float16, bfloat16;
};

// Processors from the weakest to the best. AVX512_FP16, which processors with AMX have, does not count: its arithmetic
// is never faster than float32, and convolutions are 1.4 to 2 times slower with it (oneDNN on Emerald Rapids), so the
// executor computes float16 in float32 there. AMX_FP16 is handled in CpuTarget.
constexpr Row kRows[] = {
    {"cpu:avx2", Device::kCpu, KernelSpeed::kEmulated, KernelSpeed::kEmulated},
    {"cpu:avx512", Device::kCpu, KernelSpeed::kEmulated, KernelSpeed::kEmulated},
    {"cpu:avx512_bf16", Device::kCpu, KernelSpeed::kEmulated, KernelSpeed::kSomewhatFast},
    {"cpu:amx", Device::kCpu, KernelSpeed::kEmulated, KernelSpeed::kFast},
    {"xpu", Device::kXpu, KernelSpeed::kFast, KernelSpeed::kFast},
    {"tpu", Device::kTpu, KernelSpeed::kEmulated, KernelSpeed::kFast},
};

Target FromRow(const Row& row) {
  Target target;
  target.name = row.name;
  target.device = row.device;
  target.float16 = row.float16;
  target.bfloat16 = row.bfloat16;
  target.promises = PromisesOf(row.device, row.bfloat16);
  return target;
}

KernelSpeed CudaFloat16(ComputeCapability capability) {
  if (capability >= ComputeCapability{7, 0}) return KernelSpeed::kFast;
  return capability >= ComputeCapability{5, 3} ? KernelSpeed::kSlow : KernelSpeed::kEmulated;
}

// Parses "7.5" or "9": at most two digits before the point and one behind it.
std::optional<ComputeCapability> ParseCapability(absl::string_view text) {
  const size_t point = std::min(text.find('.'), text.size());
  const absl::string_view major = text.substr(0, point);
  const absl::string_view minor = point < text.size() ? text.substr(point + 1) : "0";
  const auto is_number = [](absl::string_view digits, size_t most) {
    return !digits.empty() && digits.size() <= most && std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
  };
  constexpr int kMostPlausible = 30;  // sm_80 is 8.0, not 80
  ComputeCapability capability;
  if (!is_number(major, 2) || !is_number(minor, 1) || !absl::SimpleAtoi(major, &capability.major) ||
      !absl::SimpleAtoi(minor, &capability.minor) || capability.major == 0 || capability.major > kMostPlausible) {
    return std::nullopt;
  }
  return capability;
}

}  // namespace

std::vector<std::string> TargetNames() {
  std::vector<std::string> names = {"any", "auto", "cuda:CC"};
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

Target CudaTarget(ComputeCapability capability) {
  Target target;
  target.name = absl::StrCat("cuda:", CapabilityText(capability));
  target.device = Device::kCuda;
  target.capability = capability;
  target.float16 = CudaFloat16(capability);
  target.bfloat16 = capability >= ComputeCapability{8, 0} ? KernelSpeed::kFast : KernelSpeed::kEmulated;
  target.promises = PromisesOf(Device::kCuda, target.bfloat16);
  return target;
}

Target CpuTarget(const CpuFeatures& cpu) {
  const char* name = "cpu:avx2";
  if (cpu.avx512) name = "cpu:avx512";
  if (cpu.avx512_bf16) name = "cpu:avx512_bf16";
  if (cpu.amx_bf16) name = "cpu:amx";
  Target target = *FindTarget(name);
  if (!cpu.avx2) target.name = "cpu";
  if (cpu.amx_fp16) target.float16 = KernelSpeed::kFast;
  return target;
}

std::optional<Target> FindTarget(absl::string_view name) {
  if (absl::ConsumePrefix(&name, "cuda:")) {
    const std::optional<ComputeCapability> capability = ParseCapability(name);
    if (!capability) return std::nullopt;
    return CudaTarget(*capability);
  }
  for (const Row& row : kRows) {
    if (name == row.name) return FromRow(row);
  }
  return std::nullopt;
}

}  // namespace amp
