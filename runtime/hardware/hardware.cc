#include "runtime/hardware/hardware.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace amp {
namespace {

// The driver library. It is never closed: unloading the driver is not supported.
class DriverLibrary {
 public:
  DriverLibrary() : handle_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {}
  bool is_loaded() const { return handle_ != nullptr; }

  template <typename Function>
  Function Find(const char* name) const {
    return reinterpret_cast<Function>(dlsym(handle_, name));
  }

 private:
  void* handle_;
};

// The entry points used here, with the binary interface that the driver has had since its version 2.
using CuInit = int (*)(unsigned int flags);
using CuDriverGetVersion = int (*)(int* version);
using CuDeviceGetCount = int (*)(int* count);
using CuDeviceGet = int (*)(int* device, int ordinal);
using CuDeviceGetName = int (*)(char* name, int length, int device);
using CuDeviceGetAttribute = int (*)(int* value, int attribute, int device);
constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76;  // CUdevice_attribute
constexpr int kNoDevice = 100, kStubLibrary = 34;            // CUresult

std::string InitFailure(int code) {
  if (code == kNoDevice) return "the NVIDIA driver finds no GPU";
  if (code == kStubLibrary) return "libcuda.so.1 is the toolkit's stub, no driver";
  return absl::StrCat("the NVIDIA driver does not start (error ", code, ")");
}

void DetectGpus(Hardware& hardware) {
  const DriverLibrary driver;
  if (!driver.is_loaded()) {
    hardware.no_gpu_why = "no NVIDIA driver";
    return;
  }
  if (const auto get_version = driver.Find<CuDriverGetVersion>("cuDriverGetVersion"); get_version != nullptr) {
    int version = 0;
    if (get_version(&version) == 0) hardware.cuda_driver_version = version;
  }
  const auto init = driver.Find<CuInit>("cuInit");
  const auto get_count = driver.Find<CuDeviceGetCount>("cuDeviceGetCount");
  const auto get_device = driver.Find<CuDeviceGet>("cuDeviceGet");
  const auto get_name = driver.Find<CuDeviceGetName>("cuDeviceGetName");
  const auto get_attribute = driver.Find<CuDeviceGetAttribute>("cuDeviceGetAttribute");
  if (!init || !get_count || !get_device || !get_name || !get_attribute) {
    hardware.no_gpu_why = "libcuda.so.1 is no NVIDIA driver";
    return;
  }
  if (const int code = init(0); code != 0) {
    hardware.no_gpu_why = InitFailure(code);
    return;
  }
  int count = 0;
  if (get_count(&count) != 0 || count == 0) {
    hardware.no_gpu_why = InitFailure(kNoDevice);
    return;
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    int device = 0;
    char name[256] = "";
    if (get_device(&device, ordinal) != 0) continue;
    Gpu gpu;
    gpu.ordinal = ordinal;
    gpu.name = get_name(name, sizeof(name) - 1, device) == 0 ? name : "unnamed GPU";
    ComputeCapability capability;
    if (get_attribute(&capability.major, kCapabilityMajor, device) == 0 &&
        get_attribute(&capability.minor, kCapabilityMinor, device) == 0) {
      gpu.capability = capability;
    }
    hardware.gpus.push_back(std::move(gpu));
  }
}

#if defined(__x86_64__)
uint64_t ReadXcr0() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

// Asks Linux for the right to use AMX tiles. A refusal changes nothing.
bool RequestTiles() {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}
#endif

constexpr bool Bit(uint64_t word, int bit) { return ((word >> bit) & 1) != 0; }
constexpr bool HasAll(uint64_t word, uint64_t bits) { return (word & bits) == bits; }

}  // namespace

std::string CapabilityText(ComputeCapability capability) {
  return absl::StrCat(capability.major, ".", capability.minor);
}

std::string CudaVersionText(int version) { return absl::StrCat(version / 1000, ".", version % 1000 / 10); }

bool Gpu::HasTensorCores() const {
  if (!capability || *capability < ComputeCapability{7, 0}) return false;
  if (*capability != ComputeCapability{7, 5}) return true;
  if (absl::StrContains(name, "GTX 16")) return false;
  static constexpr const char* kWithout[] = {"MX450", "MX550", "T400",  "T500", "T550",
                                             "T600",  "T1000", "T1200", "T2000"};  // TU117; a Tesla T4 is no T400
  const std::vector<std::string> words = absl::StrSplit(name, ' ');
  return std::none_of(words.begin(), words.end(), [](const std::string& word) {
    return std::find(std::begin(kWithout), std::end(kWithout), word) != std::end(kWithout);
  });
}

CpuFeatures FeaturesOf(const CpuidWords& w) {
  constexpr uint64_t kAvxState = 0x6, kAvx512State = 0xe6, kTileState = 0x60000;
  CpuFeatures f;
  const bool has_avx_state = Bit(w.leaf1_ecx, 27) && HasAll(w.xcr0, kAvxState);  // OSXSAVE
  const bool has_fma_f16c = Bit(w.leaf1_ecx, 12) && Bit(w.leaf1_ecx, 29);
  f.avx2 = has_avx_state && has_fma_f16c && Bit(w.leaf7_ebx, 5);
  const bool has_bw_dq_vl = Bit(w.leaf7_ebx, 30) && Bit(w.leaf7_ebx, 17) && Bit(w.leaf7_ebx, 31);
  f.avx512 = f.avx2 && HasAll(w.xcr0, kAvx512State) && Bit(w.leaf7_ebx, 16) && has_bw_dq_vl;
  f.avx512_bf16 = f.avx512 && Bit(w.leaf7_1_eax, 5);
  f.avx512_fp16 = f.avx512 && Bit(w.leaf7_edx, 23);
  const bool may_use_tiles = HasAll(w.xcr0, kTileState) && w.may_use_tiles;
  const bool has_tiles = f.avx512 && may_use_tiles && Bit(w.leaf7_edx, 24);
  f.tiles_refused = f.avx512 && !may_use_tiles && Bit(w.leaf7_edx, 24);
  f.amx_bf16 = has_tiles && Bit(w.leaf7_edx, 22);
  f.amx_fp16 = has_tiles && Bit(w.leaf7_1_eax, 21);
  return f;
}

CpuFeatures DetectCpu() {
  CpuidWords words;
#if defined(__x86_64__)
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) words.leaf1_ecx = c;
  uint32_t last_subleaf = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) {
    last_subleaf = a;
    words.leaf7_ebx = b;
    words.leaf7_edx = d;
  }
  if (last_subleaf >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) words.leaf7_1_eax = a;
  if (Bit(words.leaf1_ecx, 27)) words.xcr0 = ReadXcr0();
  if (Bit(words.leaf7_edx, 24)) words.may_use_tiles = RequestTiles();
#endif
  return FeaturesOf(words);
}

Hardware DetectHardware() {
  Hardware hardware;
  DetectGpus(hardware);
  hardware.cpu = DetectCpu();
  return hardware;
}

}  // namespace amp
