// Measures where the limits of MostFewRows should lie on this processor: how long a product of a few rows takes in the
// loops for them, as a share of the time in the library's kernels.
//
//   few_rows_limits [ROUNDS]     medians of so many runs in turns (default 15), by one thread
//
// The loops should have the rows up to which all shares are at most 1.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/hardware/hardware.h"
#include "runtime/loops/few_rows.h"
#include "runtime/plan/all_kernels.h"
#include "tests/runtime/library_kernels_first.h"
#include "tests/runtime/loops/run_both.h"
#include "tests/runtime/session_text.h"

namespace amp {
namespace {

constexpr int64_t kRows[] = {1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 48};

struct Matrix {
  const char* where;
  int64_t depth, columns;
};
constexpr Matrix kMatrices[] = {{"cache", 512, 1024}, {"memory", 4096, 11008}};

struct Type {
  const char* name;
  DType dtype;
};
constexpr Type kTypes[] = {{"float", DType::kFloat32}, {"float16", DType::kFloat16}, {"bfloat16", DType::kBfloat16}};

std::unique_ptr<Session> Make(const SessionText& text, FindKernels find) {
  SessionOptions options;
  options.find_kernels = find;
  options.threads = 1;
  absl::StatusOr<std::unique_ptr<Session>> session = CreateSession(text, options);
  AMP_CHECK(session.ok());
  return *std::move(session);
}

double SecondsOf(const Session& session, const NamedDatums& inputs) {
  const auto start = std::chrono::steady_clock::now();
  AMP_CHECK(session.Run(inputs).ok());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double MedianOf(std::vector<double> times) {
  std::ranges::nth_element(times, times.begin() + static_cast<ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

void Measure(const Type& type, const Matrix& matrix, bool is_transposed, int rounds) {
  const std::vector<int64_t> dims = is_transposed ? std::vector<int64_t>{matrix.columns, matrix.depth}
                                                  : std::vector<int64_t>{matrix.depth, matrix.columns};
  const SessionText text = {
      .text = absl::StrCat("<ir_version: 10, opset_import: [\"\" : 21]> g (", type.name, "[m,", matrix.depth,
                           "] x) => (", type.name, "[] y) { y = Gemm <transB = ", is_transposed ? 1 : 0, "> (x, w) }"),
      .constants = {{"w", RandomTensor(type.dtype, dims)}}};
  std::printf("%-9s %-7s %-10s", type.name, matrix.where, is_transposed ? "transposed" : "plain");
  for (const int64_t rows : kRows) {
    const NamedDatums inputs = {{"x", RandomTensor(type.dtype, {rows, matrix.depth})}};
    const auto loops = Make(text, FindAllKernels), library = Make(text, FindLibraryKernelsFirst);
    std::vector<double> of_loops, of_library;
    for (int round = -2; round < rounds; ++round) {
      const double seconds[] = {SecondsOf(*loops, inputs), SecondsOf(*library, inputs)};
      if (round < 0) continue;  // these make the kernels ready
      of_loops.push_back(seconds[0]);
      of_library.push_back(seconds[1]);
    }
    std::printf(" %5.2f", MedianOf(of_loops) / MedianOf(of_library));
    std::fflush(stdout);
  }
  std::printf("\n");
}

void MeasureAll(int rounds) {
  TakeAllFewRows(true);
  const CpuFeatures cpu = DetectCpu();
  std::printf("AVX-512 %d, AVX512_BF16 %d, AVX512_FP16 %d, AMX_BF16 %d, AMX_FP16 %d\n", cpu.avx512, cpu.avx512_bf16,
              cpu.avx512_fp16, cpu.amx_bf16, cpu.amx_fp16);
  std::printf("time of the loops as a share of the library's, by rows\n%-28s", "");
  for (const int64_t rows : kRows) std::printf(" %5d", static_cast<int>(rows));
  std::printf("\n");
  for (const Type& type : kTypes) {
    for (const Matrix& matrix : kMatrices) {
      for (const bool is_transposed : {false, true}) Measure(type, matrix, is_transposed, rounds);
    }
  }
}

}  // namespace
}  // namespace amp

int main(int argc, char** argv) {
  constexpr int kRounds = 15;
  amp::MeasureAll(argc > 1 ? std::max(std::atoi(argv[1]), 1) : kRounds);
}
