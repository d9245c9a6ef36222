// Targets, what CPUID words mean, and every row of the device check, over made-up machines.
#include "runtime/hardware/hardware.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/match.h"
#include "runtime/hardware/compatibility.h"
#include "runtime/hardware/targets.h"
#include "runtime/hardware/usable_memory.h"
#include "tests/catch2.h"

namespace amp {
namespace {

using Level = Compatibility::Level;

constexpr DType kHalf = DType::kFloat16, kBrain = DType::kBfloat16;

Gpu GpuOf(const char* name, int major, int minor) { return {name, ComputeCapability{major, minor}}; }

Hardware Machine(std::vector<Gpu> gpus, const CpuFeatures& cpu = {.avx2 = true}) {
  return {.gpus = std::move(gpus), .no_gpu_why = "", .cpu = cpu};
}

Hardware NoGpu(const CpuFeatures& cpu) { return {.gpus = {}, .no_gpu_why = "no NVIDIA driver", .cpu = cpu}; }

constexpr CpuFeatures kAvx2 = {.avx2 = true};
constexpr CpuFeatures kAvx512Bf16 = {.avx2 = true, .avx512 = true, .avx512_bf16 = true};
constexpr CpuFeatures kAmx = {.avx2 = true, .avx512 = true, .avx512_bf16 = true, .avx512_fp16 = true, .amx_bf16 = true};
constexpr CpuFeatures kAmxFp16 = {
    .avx2 = true, .avx512 = true, .avx512_bf16 = true, .avx512_fp16 = true, .amx_bf16 = true, .amx_fp16 = true};

TEST_CASE("targets by name") {
  CHECK_FALSE(FindTarget("any").has_value());
  CHECK_FALSE(FindTarget("auto").has_value());
  for (const char* name : {"cuda", "cuda:", "cuda:x", "cuda:7.", "cuda:.5", "cuda:7.55", "cuda:-7", "cuda:0.1",
                           "cuda:123", "cpu", "cpu:avx", "CPU:AMX", ""}) {
    INFO(name);
    CHECK_FALSE(FindTarget(name).has_value());
  }
  for (const std::string& name : TargetNames()) {
    if (name == "any" || name == "auto" || name == "cuda:CC") continue;
    INFO(name);
    REQUIRE(FindTarget(name).has_value());
    CHECK(FindTarget(name)->name == name);
  }
  CHECK(FindTarget("cuda:8")->name == "cuda:8.0");
  CHECK(FindTarget("cuda:12.1")->capability == ComputeCapability{12, 1});
}

TEST_CASE("which type is fast on which target") {
  struct Row {
    const char* target;
    KernelSpeed float16, bfloat16;
  };
  using enum KernelSpeed;
  for (const Row& row :
       {Row{"cuda:5.2", kEmulated, kEmulated}, Row{"cuda:5.3", kSlow, kEmulated}, Row{"cuda:6.2", kSlow, kEmulated},
        Row{"cuda:7.0", kFast, kEmulated}, Row{"cuda:7.5", kFast, kEmulated}, Row{"cuda:8.0", kFast, kFast},
        Row{"cuda:9.0", kFast, kFast}, Row{"cpu:avx2", kEmulated, kEmulated}, Row{"cpu:avx512", kEmulated, kEmulated},
        Row{"cpu:avx512_bf16", kEmulated, kSomewhatFast}, Row{"cpu:amx", kEmulated, kFast}, Row{"xpu", kFast, kFast},
        Row{"tpu", kEmulated, kFast}}) {
    INFO(row.target);
    const Target target = *FindTarget(row.target);
    CHECK(target.SpeedOf(kHalf) == row.float16);
    CHECK(target.SpeedOf(kBrain) == row.bfloat16);
    CHECK(target.IsFastEnough(kHalf) == (row.float16 >= kSomewhatFast));
    CHECK(target.IsFastEnough(kBrain) == (row.bfloat16 >= kSomewhatFast));
    CHECK(target.promises.bfloat16_recurrence == (row.bfloat16 >= kSomewhatFast));
  }
  CHECK(FindTarget("cpu:amx")->promises.device == Device::kCpu);
  CHECK(FindTarget("cuda:8.0")->promises.float32_statistics);
  CHECK(FindTarget("xpu")->IsRewriteOnly());
  CHECK_FALSE(FindTarget("cuda:7.0")->IsRewriteOnly());
}

TEST_CASE("the processor as a target") {
  CHECK(CpuTarget({}).name == "cpu");
  CHECK(CpuTarget(kAvx2).name == "cpu:avx2");
  CHECK(CpuTarget(kAvx512Bf16).name == "cpu:avx512_bf16");
  CHECK(CpuTarget(kAmx).SpeedOf(kHalf) == KernelSpeed::kEmulated);  // AVX512_FP16 is no faster than float32
  CHECK(CpuTarget(kAmxFp16).SpeedOf(kHalf) == KernelSpeed::kFast);
  CHECK(CpuTarget(kAmxFp16).SpeedOf(kBrain) == KernelSpeed::kFast);
}

TEST_CASE("Tensor Cores: from 7.0, except the chips that are 7.5 without") {
  CHECK(GpuOf("Tesla V100-SXM2-16GB", 7, 0).HasTensorCores());
  CHECK(GpuOf("Tesla T4", 7, 5).HasTensorCores());
  CHECK(GpuOf("NVIDIA GeForce RTX 2080 Ti", 7, 5).HasTensorCores());
  CHECK(GpuOf("NVIDIA T400E", 8, 6).HasTensorCores());
  CHECK_FALSE(GpuOf("NVIDIA GeForce GTX 1660 Ti", 7, 5).HasTensorCores());
  CHECK_FALSE(GpuOf("GeForce GTX 1650", 7, 5).HasTensorCores());
  CHECK_FALSE(GpuOf("NVIDIA T400 4GB", 7, 5).HasTensorCores());
  CHECK_FALSE(GpuOf("NVIDIA GeForce MX450", 7, 5).HasTensorCores());
  CHECK_FALSE(GpuOf("Tesla P100", 6, 0).HasTensorCores());
  CHECK_FALSE((Gpu{"some GPU", std::nullopt}.HasTensorCores()));
}

TEST_CASE("CPUID words") {
  constexpr uint32_t kOsxsaveFmaF16c = (1u << 27) | (1u << 12) | (1u << 29);
  constexpr uint32_t kAvx2Bit = 1u << 5, kAvx512Bits = (1u << 16) | (1u << 17) | (1u << 30) | (1u << 31);
  constexpr uint32_t kTiles = (1u << 24) | (1u << 22), kHalfBit = 1u << 23;
  constexpr uint32_t kBf16Bit = 1u << 5, kAmxHalfBit = 1u << 21;
  CpuidWords words = {.leaf1_ecx = kOsxsaveFmaF16c,
                      .leaf7_ebx = kAvx2Bit | kAvx512Bits,
                      .leaf7_edx = kTiles | kHalfBit,
                      .leaf7_1_eax = kBf16Bit | kAmxHalfBit,
                      .xcr0 = 0x600e7,
                      .may_use_tiles = true};
  CHECK(FeaturesOf(words) == kAmxFp16);

  const auto with = [&](auto change) {
    CpuidWords changed = words;
    change(changed);
    return FeaturesOf(changed);
  };
  SECTION("nothing is there") { CHECK(FeaturesOf({}) == CpuFeatures{}); }
  SECTION("the system refuses tiles") {
    const CpuFeatures f = with([](CpuidWords& w) { w.may_use_tiles = false; });
    CHECK_FALSE(f.amx_bf16);
    CHECK_FALSE(f.amx_fp16);
    CHECK(f.tiles_refused);
    CHECK(f.avx512_fp16);
  }
  SECTION("the system saves no tiles") {
    CHECK_FALSE(with([](CpuidWords& w) { w.xcr0 = 0xe7; }).amx_bf16);
  }
  SECTION("the system saves no 512-bit registers") {
    CHECK(with([](CpuidWords& w) { w.xcr0 = 0x7; }) == kAvx2);
  }
  SECTION("the system saves no wide registers at all") {
    CHECK(with([](CpuidWords& w) { w.xcr0 = 0x3; }) == CpuFeatures{});
    CHECK(with([](CpuidWords& w) { w.leaf1_ecx &= ~(1u << 27); }) == CpuFeatures{});
  }
  SECTION("AMX without AMX_FP16") {
    CHECK(with([](CpuidWords& w) { w.leaf7_1_eax = kBf16Bit; }) == kAmx);
  }
  SECTION("AVX-512 without its byte and word part is none") {
    CHECK(with([](CpuidWords& w) { w.leaf7_ebx &= ~(1u << 30); }) == kAvx2);
  }
}

TEST_CASE("device check: one GPU, fast") {
  const Compatibility c = CheckCompatibility(Machine({GpuOf("NVIDIA H200", 9, 0)}), kHalf);
  CHECK(c.Text(kHalf) ==
        "Mixed precision compatibility check (mixed_float16): OK\n"
        "  Likely fast on NVIDIA H200, compute capability 9.0.\n");
}

TEST_CASE("device check: several GPUs, all fast; equal ones are one entry") {
  const Gpu v100 = GpuOf("V100", 7, 0);
  const Compatibility c = CheckCompatibility(Machine({v100, GpuOf("H200", 9, 0), v100, v100}), kHalf);
  CHECK(c.level == Level::kOk);
  CHECK(c.explanation == "Likely fast on all GPUs: V100, compute capability 7.0 (x3); H200, compute capability 9.0.");
}

TEST_CASE("device check: no GPU") {
  const Compatibility c = CheckCompatibility(NoGpu(kAvx2), kHalf);
  CHECK(c.Text(kHalf) ==
        "Mixed precision compatibility check (mixed_float16): WARNING\n"
        "  May be slow: no GPU (no NVIDIA driver), and float16 is stored in 16 bits and computed in float32 on this "
        "processor, no speed-up expected. Fast are NVIDIA GPUs of compute capability 7.0 or higher with Tensor Cores, "
        "and processors with AMX_FP16; ignore this if the model runs on such a machine.\n");
}

TEST_CASE("device check: a processor that is fast with bfloat16 alone says so, and what cannot load it") {
  const Compatibility c = CheckCompatibility(NoGpu(kAvx512Bf16), kHalf);
  CHECK(absl::EndsWith(c.explanation,
                       " bfloat16 is somewhat faster than float32 on this processor (AVX512_BF16) with a runtime that "
                       "has bfloat16 kernels; ONNX Runtime's CPU provider does not load such models; --dtype "
                       "bfloat16 chooses it."));
  CHECK_FALSE(absl::StrContains(CheckCompatibility(NoGpu(kAvx2), kHalf).explanation, "bfloat16"));
}

TEST_CASE("device check: where the gate is closed, nobody is asked to ignore that nothing is converted") {
  const Compatibility c = CheckCompatibility(NoGpu(kAvx2), kHalf, Gate::kClosed);
  CHECK(c.level == Level::kWarning);
  CHECK(c.explanation ==
        "No GPU (no NVIDIA driver), and float16 is stored in 16 bits and computed in float32 on this processor, so "
        "nothing is converted; for a machine that is fast with it: --target cuda:8.0, or leave --target out.");
  const Compatibility gpu = CheckCompatibility(Machine({GpuOf("P100", 6, 0)}), kHalf, Gate::kClosed);
  CHECK(gpu.explanation ==
        "float16 is not fast on P100, compute capability 6.0, so nothing is converted; for a machine that is fast with "
        "it: --target cuda:8.0, or leave --target out.");
}

TEST_CASE("device check: GPUs that are slow or unknown") {
  const Gpu p100 = GpuOf("P100", 6, 0);
  const Compatibility c = CheckCompatibility(Machine({p100, {"Other", std::nullopt}, p100}), kHalf);
  CHECK(c.level == Level::kWarning);
  CHECK(absl::StartsWith(c.explanation,
                         "May be slow on P100, compute capability 6.0 (x2); Other, no compute capability (probably not "
                         "an NVIDIA GPU). Fast are "));
}

TEST_CASE("device check: some GPUs are slow; the fast ones come first") {
  const Compatibility c = CheckCompatibility(Machine({GpuOf("P100", 6, 0), GpuOf("V100", 7, 0)}), kHalf);
  CHECK(c.level == Level::kWarning);
  CHECK(c.explanation == "Some GPUs may be slow: V100, compute capability 7.0; P100, compute capability 6.0.");
}

TEST_CASE("device check: 7.5 without Tensor Cores") {
  const Compatibility c = CheckCompatibility(Machine({GpuOf("NVIDIA GeForce GTX 1660 Ti", 7, 5)}), kHalf);
  CHECK(c.level == Level::kWarning);
  CHECK(absl::StartsWith(c.explanation,
                         "May be slow on NVIDIA GeForce GTX 1660 Ti, compute capability 7.5 but no Tensor Cores."));
}

TEST_CASE("device check: bfloat16 on GPUs starts at 8.0") {
  CHECK(CheckCompatibility(Machine({GpuOf("V100", 7, 0)}), kBrain).level == Level::kWarning);
  CHECK(absl::StrContains(CheckCompatibility(Machine({GpuOf("V100", 7, 0)}), kBrain).explanation, "capability 8.0"));
  CHECK(CheckCompatibility(Machine({GpuOf("A100", 8, 0)}), kBrain).level == Level::kOk);
}

TEST_CASE("device check: bfloat16 on processors, by tier") {
  CHECK(CheckCompatibility(NoGpu(kAmx), kBrain).Text(kBrain) ==
        "Mixed precision compatibility check (mixed_bfloat16): OK\n"
        "  bfloat16 is fast on this processor (AMX_BF16) with a runtime that has bfloat16 kernels; ONNX Runtime's CPU "
        "provider does not load such models. There is no GPU: no NVIDIA driver.\n");
  const Compatibility somewhat = CheckCompatibility(NoGpu(kAvx512Bf16), kBrain);
  CHECK(somewhat.level == Level::kOk);
  CHECK(absl::StartsWith(somewhat.explanation,
                         "bfloat16 is somewhat faster than float32 on this processor "
                         "(AVX512_BF16) with a runtime that has bfloat16 kernels; ONNX Runtime's CPU provider does not "
                         "load such models."));
  const Compatibility none = CheckCompatibility(NoGpu(kAvx2), kBrain);
  CHECK(none.level == Level::kWarning);
  CHECK(absl::StrContains(none.explanation, "computed in float32 on this processor, no speed-up expected"));
}

TEST_CASE("device check: float16 on processors, by tier") {
  CHECK(absl::StartsWith(CheckCompatibility(NoGpu(kAmxFp16), kHalf).explanation,
                         "float16 is fast on this processor (AMX_FP16)."));
  const Compatibility without_tiles = CheckCompatibility(NoGpu(kAmx), kHalf);
  CHECK(without_tiles.level == Level::kWarning);
  CHECK(absl::StrContains(without_tiles.explanation, "float16 is stored in 16 bits and computed in float32"));
  CHECK(absl::StrContains(without_tiles.explanation, "bfloat16 is fast on this processor (AMX_BF16)"));
  CHECK(CheckCompatibility(NoGpu(kAvx512Bf16), kHalf).level == Level::kWarning);
}

TEST_CASE("device check: slow GPU beside a fast processor") {
  const Compatibility c = CheckCompatibility(Machine({GpuOf("P100", 6, 0)}, kAmx), kBrain);
  CHECK(c.level == Level::kWarning);
  CHECK(absl::StrContains(c.explanation, "capability 6.0. bfloat16 is fast on this processor (AMX_BF16) with a "));
}

TEST_CASE("device check: a name from the driver is escaped") {
  CHECK_FALSE(absl::StrContains(CheckCompatibility(Machine({GpuOf("a\nb", 9, 0)}), kHalf).explanation, "\n"));
}

TEST_CASE("device check of a named target") {
  const auto check = [](const char* name, DType low) { return CheckCompatibility(*FindTarget(name), low); };
  CHECK(check("cuda:8.0", kBrain).explanation == "Likely fast on cuda:8.0.");
  CHECK(check("cuda:7.5", kBrain).level == Level::kWarning);
  CHECK(check("cuda:6.1", kHalf).explanation ==
        "cuda:6.1 computes in float16, but not fast, so nothing is converted; for a machine that is fast with it: "
        "--target cuda:8.0, or leave --target out.");
  CHECK(absl::StartsWith(check("cpu:avx2", kHalf).explanation,
                         "cpu:avx2 has no fast float16 kernels, so nothing is converted; "));
  CHECK(check("cpu:avx512_bf16", kBrain).level == Level::kOk);
  CHECK(check("cpu:avx512_bf16", kBrain).explanation ==
        "bfloat16 is somewhat faster than float32 on cpu:avx512_bf16 with a runtime that has bfloat16 kernels; ONNX "
        "Runtime's CPU provider does not load such models.");
  CHECK(absl::StrContains(check("cpu:amx", kBrain).explanation, "ONNX Runtime's CPU provider"));
  CHECK(check("cpu:amx", kHalf).explanation ==
        "cpu:amx has no fast float16 kernels, so nothing is converted; bfloat16 is fast there: --dtype bfloat16, or "
        "leave "
        "--target out.");
  CHECK_FALSE(absl::StrContains(check("tpu", kHalf).explanation, "nothing of it can run here"));
  CHECK(absl::StrContains(check("xpu", kHalf).explanation, "nothing of it can run here"));
  CHECK(check("tpu", kHalf).level == Level::kWarning);
}

TEST_CASE("the low type by hardware") {
  CHECK(ChooseLowType(Machine({GpuOf("V100", 7, 0)}, kAmx)) == kHalf);
  CHECK(ChooseLowType(NoGpu(kAmx)) == kBrain);
  CHECK(ChooseLowType(Machine({GpuOf("GTX 1660", 7, 5)}, kAmx)) == kBrain);
  CHECK(ChooseLowType(NoGpu(kAvx512Bf16)) == kBrain);
  CHECK(ChooseLowType(Machine({GpuOf("P100", 6, 0)})) == kHalf);
}

TEST_CASE("the target by hardware") {
  CHECK(ChooseTarget(Machine({GpuOf("P100", 6, 0), GpuOf("H200", 9, 0), GpuOf("V100", 7, 0)}), kHalf).name ==
        "cuda:9.0");
  CHECK(ChooseTarget(Machine({GpuOf("V100", 7, 0)}, kAmx), kBrain).name == "cpu:amx");
  CHECK(ChooseTarget(Machine({GpuOf("V100", 7, 0)}, kAvx2), kBrain).name == "cuda:7.0");
  CHECK(ChooseTarget(Machine({{"Other", std::nullopt}}, kAvx2), kHalf).name == "cpu:avx2");
  CHECK(ChooseTarget(NoGpu(kAvx2), kHalf).name == "cpu:avx2");
}

TEST_CASE("this machine can be looked at, twice, with the same result") {
  const Hardware first = DetectHardware(), second = DetectHardware();
  CHECK(first.gpus.size() == second.gpus.size());
  CHECK(first.gpus.empty() == !first.no_gpu_why.empty());
  CHECK(first.cpu == second.cpu);
  CHECK(first.cpu == DetectCpu());
#if defined(__x86_64__)
  CHECK(first.cpu.avx2 == (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")));
  CHECK(first.cpu.avx512_bf16 == (__builtin_cpu_supports("avx512bf16") != 0));
#endif
}

TEST_CASE("memory that may still be taken is within the limit of the address space") {
  constexpr int64_t kRoom = int64_t{64} << 20;
  rlimit before = {};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  REQUIRE(UsableMemory() > 0);
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limited = before;
  limited.rlim_cur = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + kRoom);
  REQUIRE(::setrlimit(RLIMIT_AS, &limited) == 0);
  const int64_t found = UsableMemory();
  REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(found <= kRoom);
  CHECK(found > kRoom / 2);
}

}  // namespace
}  // namespace amp
