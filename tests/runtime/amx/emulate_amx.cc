// Preloaded into a program, lets oneDNN run its AMX kernels on a processor with AVX-512 and AVX512_BF16, but no AMX.
//
//   AMX_EMULATOR_SITES=58cf7e,58d002 LD_PRELOAD="emulate_amx.so libdnnl.so.3" program
//   amx emulator: 1234 tile multiplies                                              on standard error, at the end
//
// AMX_EMULATOR_SITES: addresses of the CPUID instructions within libdnnl. They are overwritten with UD2, which is as
// long, so that the signal handler answers them as a processor with AMX would: no support by the kernel is needed. The
// tile instructions are illegal here, and the same handler does what they do. Everything else that is illegal is
// reported with its bytes and ends the program. Encodings and semantics: Intel's architecture manual, volume 2, and its
// chapter on AMX in volume 1.
#include <cpuid.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using Byte = unsigned char;

constexpr size_t kTiles = 8, kRows = 16, kRowBytes = 64;
constexpr int kUnknownInstruction = 99;

std::atomic<int64_t> tile_multiplies = 0;

// ---- tiles

struct TileState {
  Byte config[64];  // as LDTILECFG reads it
  Byte tiles[kTiles][kRows][kRowBytes];

  size_t Rows(size_t tile) const { return std::min<size_t>(config[48 + tile], kRows); }
  size_t RowBytes(size_t tile) const {
    return std::min<size_t>(config[16 + 2 * tile] + size_t{256} * config[17 + 2 * tile], kRowBytes);
  }
};

__attribute__((tls_model("initial-exec"))) thread_local TileState state;

float FlushedToZero(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return (bits & 0x7f800000u) == 0 ? std::bit_cast<float>(bits & 0x80000000u) : x;
}

float Bfloat16At(const Byte* place) {
  return FlushedToZero(std::bit_cast<float>((uint32_t{place[0]} << 16) | (uint32_t{place[1]} << 24)));
}

// TDPBF16PS: sum[m][n] += a[m][2k] b[k][2n] + a[m][2k + 1] b[k][2n + 1]
void MultiplyTiles(size_t sum, size_t a, size_t b) {
  ++tile_multiplies;
  const size_t columns = state.RowBytes(sum) / 4, pairs = state.RowBytes(a) / 4;
  for (size_t m = 0; m < state.Rows(sum); ++m) {
    for (size_t n = 0; n < columns; ++n) {
      float total = 0;
      Byte* place = state.tiles[sum][m] + 4 * n;
      std::memcpy(&total, place, sizeof total);
      for (size_t k = 0; k < pairs; ++k) {
        for (const size_t half : {size_t{0}, size_t{2}}) {
          const float product =
              Bfloat16At(state.tiles[a][m] + 4 * k + half) * Bfloat16At(state.tiles[b][k] + 4 * n + half);
          total = FlushedToZero(total + FlushedToZero(product));
        }
      }
      std::memcpy(place, &total, sizeof total);
    }
  }
}

// Where the rows of a tile lie in memory.
struct TileMemory {
  Byte* first;
  int64_t stride;
  Byte* Row(size_t row) const { return first + static_cast<int64_t>(row) * stride; }
};

void LoadTile(size_t tile, const TileMemory& memory) {
  std::memset(state.tiles[tile], 0, sizeof state.tiles[tile]);
  for (size_t row = 0; row < state.Rows(tile); ++row) {
    std::memcpy(state.tiles[tile][row], memory.Row(row), state.RowBytes(tile));
  }
}

void StoreTile(size_t tile, const TileMemory& memory) {
  for (size_t row = 0; row < state.Rows(tile); ++row) {
    std::memcpy(memory.Row(row), state.tiles[tile][row], state.RowBytes(tile));
  }
}

// ---- instructions: three bytes of VEX, the operation, ModRM and what follows it

constexpr std::array<int, 16> kRegisters = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                            REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

enum class Prefix : Byte { kNone = 0, k66 = 1, kF3 = 2, kF2 = 3 };

class Instruction {
 public:
  Instruction(const Byte* bytes, const greg_t* registers) : bytes_(bytes), registers_(registers) {}

  bool IsTileInstruction() const { return bytes_[0] == 0xc4 && (bytes_[1] & 0x1f) == 2; }
  Byte operation() const { return bytes_[3]; }
  Prefix prefix() const { return static_cast<Prefix>(bytes_[2] & 3); }
  bool HasMemory() const { return mod() != 3; }
  size_t reg() const { return (bytes_[4] >> 3) & 7; }
  size_t rm() const { return bytes_[4] & 7; }
  size_t vvvv() const { return (~bytes_[2] >> 3) & 7; }

  size_t size() const {
    if (!HasMemory()) return 5;
    return 5 + (has_sib() ? 1 : 0) + displacement_size();
  }
  // Base and displacement; the index register times its scale is the stride of a tile, and 0 where there is none.
  TileMemory memory() const {
    int64_t address = displacement();
    if (has_base()) address += registers_[kRegisters[(has_sib() ? sib() & 7u : rm()) + 8 * base_bit()]];
    if (is_relative()) address += reinterpret_cast<int64_t>(bytes_ + size());
    int64_t stride = 0;
    if (has_sib()) {
      const size_t index = ((sib() >> 3) & 7u) + 8 * index_bit();
      if (index != 4) stride = static_cast<int64_t>(registers_[kRegisters[index]]) << (sib() >> 6);
    }
    return {reinterpret_cast<Byte*>(address), stride};  // NOLINT(performance-no-int-to-ptr): what an address is here
  }

 private:
  unsigned mod() const { return bytes_[4] >> 6; }
  bool has_sib() const { return rm() == 4; }
  unsigned sib() const { return bytes_[5]; }
  bool is_relative() const { return mod() == 0 && rm() == 5; }
  bool has_base() const { return mod() != 0 || (has_sib() ? (sib() & 7) != 5 : rm() != 5); }
  size_t base_bit() const { return (bytes_[1] & 0x20) == 0 ? 1 : 0; }
  size_t index_bit() const { return (bytes_[1] & 0x40) == 0 ? 1 : 0; }
  size_t displacement_size() const { return mod() == 1 ? 1 : mod() == 2 || !has_base() ? 4 : 0; }
  int64_t displacement() const {
    const Byte* place = bytes_ + (has_sib() ? 6 : 5);
    if (displacement_size() == 1) return static_cast<int8_t>(*place);
    int32_t result = 0;
    if (displacement_size() == 4) std::memcpy(&result, place, sizeof result);
    return result;
  }

  const Byte* bytes_;
  const greg_t* registers_;
};

bool Configure(const Instruction& instruction) {
  switch (instruction.prefix()) {
    case Prefix::kNone:  // LDTILECFG, TILERELEASE
      std::memset(&state, 0, sizeof state);
      if (instruction.HasMemory()) std::memcpy(state.config, instruction.memory().first, sizeof state.config);
      return true;
    case Prefix::kF2:  // TILEZERO
      std::memset(state.tiles[instruction.reg()], 0, sizeof state.tiles[0]);
      return !instruction.HasMemory();
    case Prefix::k66:  // STTILECFG
      std::memcpy(instruction.memory().first, state.config, sizeof state.config);
      return instruction.HasMemory();
    case Prefix::kF3:
      return false;
  }
  return false;
}

// Whether it is one of those that are known.
bool Emulate(const Instruction& instruction) {
  constexpr Byte kConfigure = 0x49, kMove = 0x4b, kMultiply = 0x5c;
  if (!instruction.IsTileInstruction()) return false;
  if (instruction.operation() == kConfigure) return Configure(instruction);
  if (instruction.operation() == kMove && instruction.HasMemory()) {
    const bool stores = instruction.prefix() == Prefix::kF3;
    (stores ? StoreTile : LoadTile)(instruction.reg(), instruction.memory());
    return instruction.prefix() != Prefix::kNone;
  }
  if (instruction.operation() != kMultiply || instruction.prefix() != Prefix::kF3 || instruction.HasMemory())
    return false;
  MultiplyTiles(instruction.reg(), instruction.rm(), instruction.vvvv());
  return true;
}

// ---- CPUID

constexpr size_t kMostSites = 256;
std::array<const Byte*, kMostSites> sites;
size_t num_sites = 0;

void AnswerCpuid(greg_t* registers) {
  const auto leaf = static_cast<uint32_t>(registers[REG_RAX]), part = static_cast<uint32_t>(registers[REG_RCX]);
  uint32_t a = 0, b = 0, c = 0, d = 0;
  __cpuid_count(leaf, part, a, b, c, d);
  constexpr uint32_t kAmxBf16 = 1u << 22, kAvx512Fp16 = 1u << 23, kAmxTile = 1u << 24, kAmxInt8 = 1u << 25;
  constexpr uint32_t kAvxVnni = 1u << 4, kAvx512Bf16 = 1u << 5;
  constexpr uint32_t kTileLeaf = 0x1d, kMultiplyLeaf = 0x1e;
  if (leaf == 0) a = std::max(a, kMultiplyLeaf);
  if (leaf == 7 && part == 0) {
    a = std::max(a, 1u);
    d |= kAmxBf16 | kAvx512Fp16 | kAmxTile | kAmxInt8;
  }
  if (leaf == 7 && part == 1) a |= kAvxVnni | kAvx512Bf16;
  if (leaf == kTileLeaf) {
    a = part == 0 ? 1 : (uint32_t{kRows * kRowBytes} << 16) | kTiles * kRows * kRowBytes;
    b = part == 0 ? 0 : (uint32_t{kTiles} << 16) | kRowBytes;
    c = part == 0 ? 0 : kRows;
    d = 0;
  }
  if (leaf == kMultiplyLeaf) {
    b = (kRowBytes << 8) | kRows;
    a = c = d = 0;
  }
  registers[REG_RAX] = a;
  registers[REG_RBX] = b;
  registers[REG_RCX] = c;
  registers[REG_RDX] = d;
}

// ---- the handler, and how it comes into place

void OnIllegalInstruction(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* place = reinterpret_cast<const Byte*>(registers[REG_RIP]);  // NOLINT(performance-no-int-to-ptr)
  if (std::find(sites.begin(), sites.begin() + num_sites, place) != sites.begin() + num_sites) {
    AnswerCpuid(registers);
    registers[REG_RIP] += 2;
    return;
  }
  const Instruction instruction(place, registers);
  if (Emulate(instruction)) {
    registers[REG_RIP] += static_cast<greg_t>(instruction.size());
    return;
  }
  std::array<char, 128> text{};
  const int size = std::snprintf(text.data(), text.size(),
                                 "amx emulator: unknown instruction %02x %02x %02x %02x %02x %02x %02x %02x\n",
                                 place[0], place[1], place[2], place[3], place[4], place[5], place[6], place[7]);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), static_cast<size_t>(size));
  ::_exit(kUnknownInstruction);
}

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "amx emulator: %s\n", what);
  ::_exit(kUnknownInstruction);
}

int FindLibrary(dl_phdr_info* info, size_t, void* result) {
  if (std::strstr(info->dlpi_name, "libdnnl.so") == nullptr) return 0;
  *static_cast<uintptr_t*>(result) = info->dlpi_addr;
  return 1;
}

void Overwrite(Byte* place) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(place);
  auto* first = reinterpret_cast<void*>(address / page * page);  // NOLINT(performance-no-int-to-ptr)
  const size_t size = address % page + 2;
  if (place[0] != 0x0f || place[1] != 0xa2) Fail("no CPUID at one of AMX_EMULATOR_SITES");
  if (::mprotect(first, size, PROT_READ | PROT_WRITE) != 0) Fail("the library's code cannot be written to");
  place[1] = 0x0b;
  if (::mprotect(first, size, PROT_READ | PROT_EXEC) != 0) Fail("the library's code cannot be run again");
}

const char* Variable(char** environment, const char* name) {
  const size_t size = std::strlen(name);
  for (; *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, name, size) == 0 && (*environment)[size] == '=') return *environment + size + 1;
  }
  return nullptr;
}

// Ahead of all other constructors (-z initfirst): those of libdnnl ask for CPUID, and those of the C library have not
// made getenv ready yet.
__attribute__((constructor)) void Start(int, char**, char** environment) {
  const char* text = Variable(environment, "AMX_EMULATOR_SITES");
  uintptr_t library = 0;
  ::dl_iterate_phdr(FindLibrary, &library);
  if (text == nullptr || library == 0) return;
  struct sigaction action = {};
  action.sa_sigaction = OnIllegalInstruction;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGILL, &action, nullptr);
  for (char* end = nullptr; *text != '\0'; text = *end == ',' ? end + 1 : end) {
    const uintptr_t offset = std::strtoull(text, &end, 16);
    if (end == text || num_sites == kMostSites) Fail("AMX_EMULATOR_SITES: expected up to 256 hexadecimal addresses");
    auto* place = reinterpret_cast<Byte*>(library + offset);  // NOLINT(performance-no-int-to-ptr)
    Overwrite(place);
    sites[num_sites++] = place;
  }
}

__attribute__((destructor)) void End() {
  if (num_sites > 0) std::fprintf(stderr, "amx emulator: %ld tile multiplies\n", tile_multiplies.load());
}

long SystemCall(long number, const std::array<long, 6>& arguments) {
  long result = number;
  register long fourth __asm__("r10") = arguments[3];
  register long fifth __asm__("r8") = arguments[4];
  register long sixth __asm__("r9") = arguments[5];
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(arguments[0]), "S"(arguments[1]), "d"(arguments[2]), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  return result;
}

}  // namespace

// How many so far, for who runs several models.
extern "C" int64_t AmxEmulatorTileMultiplies() noexcept { return tile_multiplies.load(); }

// In place of the C library's: grants the tiles that a kernel without AMX would refuse.
extern "C" long syscall(long number, ...) noexcept {
  constexpr long kGetSupported = 0x1021, kGetPermitted = 0x1022, kRequest = 0x1023;  // of arch_prctl
  constexpr unsigned long kTileBits = 3ul << 17, kOtherBits = 0xe7;
  std::array<long, 6> arguments{};
  va_list list;
  va_start(list, number);
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  if (number == SYS_arch_prctl && arguments[0] == kRequest) return 0;
  if (number == SYS_arch_prctl && (arguments[0] == kGetSupported || arguments[0] == kGetPermitted)) {
    *reinterpret_cast<unsigned long*>(arguments[1]) = kTileBits | kOtherBits;  // NOLINT(performance-no-int-to-ptr)
    return 0;
  }
  const long result = SystemCall(number, arguments);
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}

// In place of the C library's: what others, such as a test framework, want to do about illegal instructions is ignored.
extern "C" int sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
  if (signal == SIGILL && num_sites > 0) {
    if (old != nullptr) *old = {};
    return 0;
  }
  using Function = int (*)(int, const struct sigaction*, struct sigaction*);
  static const auto next = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "sigaction"));
  return next(signal, action, old);
}
