#include "runtime/hardware/compatibility.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"

namespace amp {
namespace {

using Level = Compatibility::Level;

bool IsSupported(const Gpu& gpu, DType low) {
  return gpu.HasTensorCores() && CudaTarget(*gpu.capability).IsFastEnough(low);
}

std::string GpuText(const Gpu& gpu) {
  const std::string name = Escaped(gpu.name);
  if (!gpu.capability) return absl::StrCat(name, ", no compute capability (probably not an NVIDIA GPU)");
  const bool lacks_tensor_cores = *gpu.capability >= ComputeCapability{7, 0} && !gpu.HasTensorCores();
  return absl::StrCat(name, ", compute capability ", CapabilityText(*gpu.capability),
                      lacks_tensor_cores ? " but no Tensor Cores" : "");
}

// "A, compute capability 9.0 (x2); B, compute capability 6.1": supported ones first, each kept in the machine's order.
std::string ListGpus(std::vector<Gpu> gpus, DType low) {
  std::stable_partition(gpus.begin(), gpus.end(), [&](const Gpu& gpu) { return IsSupported(gpu, low); });
  std::vector<std::pair<std::string, int>> lines;
  for (const Gpu& gpu : gpus) {
    const std::string text = GpuText(gpu);
    const auto same = std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.first == text; });
    if (same == lines.end()) {
      lines.emplace_back(text, 1);
    } else {
      ++same->second;
    }
  }
  return absl::StrJoin(lines, "; ", [](std::string* out, const std::pair<std::string, int>& line) {
    absl::StrAppend(out, line.first);
    if (line.second > 1) absl::StrAppend(out, " (x", line.second, ")");
  });
}

absl::string_view LeastCapability(DType low) { return low == DType::kFloat16 ? "7.0" : "8.0"; }

std::string WhichIsFast(DType low) {
  return absl::StrCat(
      "Fast are NVIDIA GPUs of compute capability ", LeastCapability(low), " or higher",
      low == DType::kFloat16 ? " with Tensor Cores, and processors with AMX_FP16" : ", and processors with AMX_BF16",
      "; ignore this if the model runs on such a machine.");
}

// A GPU that is fast with both low types.
constexpr ComputeCapability kFastExample = {8, 0};

// Returns the end of a verdict that closes the gate. `what`: what the other machine would have.
std::string NothingIsConverted(absl::string_view what) {
  return absl::StrCat(", so nothing is converted; for a machine that ", what, ": --target ",
                      CudaTarget(kFastExample).name, ", or leave --target out.");
}

constexpr absl::string_view kIsFast = "is fast with it";

// Returns a warning for processors that compute in the type, if common runtimes have no kernels for it.
absl::string_view RuntimesThatLack(DType low) {
  if (low != DType::kBfloat16) return "";
  return " with a runtime that has bfloat16 kernels; ONNX Runtime's CPU provider does not load such models";
}

// Returns how fast the processor is with the type, as the end of a sentence that names the type.
std::string CpuVerdict(const CpuFeatures& cpu, DType low) {
  const bool is_half = low == DType::kFloat16;
  switch (CpuTarget(cpu).SpeedOf(low)) {
    case KernelSpeed::kFast:
      return absl::StrCat("fast on this processor (", is_half ? "AMX_FP16" : "AMX_BF16", ")", RuntimesThatLack(low));
    case KernelSpeed::kSomewhatFast:
      return absl::StrCat("somewhat faster than float32 on this processor (AVX512_BF16)", RuntimesThatLack(low));
    case KernelSpeed::kSlow:
    case KernelSpeed::kEmulated:
      break;
  }
  return "stored in 16 bits and computed in float32 on this processor";
}

Compatibility WithoutGpu(const Hardware& hardware, DType low, Gate gate) {
  const std::string verdict = CpuVerdict(hardware.cpu, low);
  const std::string why = hardware.no_gpu_why.empty() ? "no GPU" : hardware.no_gpu_why;
  if (CpuTarget(hardware.cpu).IsFastEnough(low)) {
    return {Level::kOk, absl::StrCat(DTypeName(low), " is ", verdict, ". There is no GPU: ", why, ".")};
  }
  const std::string rest = absl::StrCat("o GPU (", why, "), and ", DTypeName(low), " is ", verdict);
  if (gate == Gate::kClosed) return {Level::kWarning, absl::StrCat("N", rest, NothingIsConverted(kIsFast))};
  const bool has_bfloat16 = low == DType::kFloat16 && CpuTarget(hardware.cpu).IsFastEnough(DType::kBfloat16);
  const std::string other = has_bfloat16 ? absl::StrCat(" bfloat16 is ", CpuVerdict(hardware.cpu, DType::kBfloat16),
                                                        "; --dtype bfloat16 chooses it.")
                                         : "";
  return {Level::kWarning, absl::StrCat("May be slow: n", rest, ", no speed-up expected. ", WhichIsFast(low), other)};
}

}  // namespace

std::string Compatibility::Text(DType low) const {
  return absl::StrCat("Mixed precision compatibility check (mixed_", DTypeName(low),
                      "): ", level == Level::kOk ? "OK" : "WARNING", "\n  ", explanation, "\n");
}

Compatibility CheckCompatibility(const Hardware& hardware, DType low, Gate gate) {
  if (hardware.gpus.empty()) return WithoutGpu(hardware, low, gate);
  const auto num_supported = static_cast<size_t>(
      std::count_if(hardware.gpus.begin(), hardware.gpus.end(), [&](const Gpu& gpu) { return IsSupported(gpu, low); }));
  const std::string gpus = ListGpus(hardware.gpus, low);
  if (num_supported == hardware.gpus.size()) {
    return {Level::kOk, absl::StrCat(num_supported == 1 ? "Likely fast on " : "Likely fast on all GPUs: ", gpus, ".")};
  }
  if (num_supported > 0) return {Level::kWarning, absl::StrCat("Some GPUs may be slow: ", gpus, ".")};
  if (gate == Gate::kClosed) {
    return {Level::kWarning, absl::StrCat(DTypeName(low), " is not fast on ", gpus, NothingIsConverted(kIsFast))};
  }
  const std::string cpu = CpuTarget(hardware.cpu).IsFastEnough(low)
                              ? absl::StrCat(" ", DTypeName(low), " is ", CpuVerdict(hardware.cpu, low), ".")
                              : "";
  return {Level::kWarning, absl::StrCat("May be slow on ", gpus, ".", cpu, " ", WhichIsFast(low))};
}

Compatibility CheckCompatibility(const Target& target, DType low) {
  const absl::string_view type = DTypeName(low);
  const absl::string_view only =
      target.IsRewriteOnly() ? " The model is rewritten for it; nothing of it can run here." : "";
  const absl::string_view runtimes = target.device == Device::kCpu ? RuntimesThatLack(low) : "";
  switch (target.SpeedOf(low)) {
    case KernelSpeed::kFast:
      return {Level::kOk, absl::StrCat("Likely fast on ", target.name, runtimes, ".", only)};
    case KernelSpeed::kSomewhatFast:
      return {Level::kOk, absl::StrCat(type, " is somewhat faster than float32 on ", target.name, runtimes, ".")};
    case KernelSpeed::kSlow:
      return {Level::kWarning,
              absl::StrCat(target.name, " computes in ", type, ", but not fast", NothingIsConverted(kIsFast))};
    case KernelSpeed::kEmulated:
      break;
  }
  if (low == DType::kFloat16 && target.IsFastEnough(DType::kBfloat16)) {
    return {Level::kWarning, absl::StrCat(target.name,
                                          " has no fast float16 kernels, so nothing is converted; bfloat16 "
                                          "is fast there: --dtype bfloat16, or leave --target out.")};
  }
  return {Level::kWarning,
          absl::StrCat(target.name, " has no fast ", type, " kernels", NothingIsConverted("has them"))};
}

DType ChooseLowType(const Hardware& hardware) {
  const auto has_tensor_cores = [](const Gpu& gpu) { return gpu.HasTensorCores(); };
  if (std::any_of(hardware.gpus.begin(), hardware.gpus.end(), has_tensor_cores)) return DType::kFloat16;
  const bool has_bfloat16 = hardware.cpu.amx_bf16 || hardware.cpu.avx512_bf16;
  return has_bfloat16 ? DType::kBfloat16 : DType::kFloat16;
}

std::optional<Gpu> ChooseGpu(const Hardware& hardware, DType low) {
  std::optional<Gpu> best;
  for (const Gpu& gpu : hardware.gpus) {
    if (!gpu.capability || (best && *gpu.capability <= *best->capability)) continue;
    best = gpu;
  }
  const bool is_fast = best && CudaTarget(*best->capability).IsFastEnough(low);
  return is_fast || !CpuTarget(hardware.cpu).IsFastEnough(low) ? best : std::nullopt;
}

Target ChooseTarget(const Hardware& hardware, DType low) {
  const std::optional<Gpu> gpu = ChooseGpu(hardware, low);
  return gpu ? CudaTarget(*gpu->capability) : CpuTarget(hardware.cpu);
}

}  // namespace amp
