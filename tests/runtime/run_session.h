// Sessions of models written as ONNX's text, for tests: what came out of them, and which kernels ran.
//
//   auto session = MakeSession({.text = "<...> g (float[n,4] x) => (float[] y) { y = MatMul(x, w) }",
//                               .constants = {{"w", RandomTensor(DType::kFloat32, {4, 3})}}});
//   RunSession(*session, {{"x", x}})              one tensor per output
//   KernelsOf(*session)                           {"onednn MatMul"}, as they ran last
//
// Kernels are named by family and the operator of the row, not by the library's own names, which depend on the host.
#ifndef AMP_TESTS_RUNTIME_RUN_SESSION_H_
#define AMP_TESTS_RUNTIME_RUN_SESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/kernel/kernel.h"
#include "runtime/plan/program.h"
#include "runtime/session.h"
#include "tests/catch2.h"
#include "tests/runtime/loops/run_both.h"
#include "tests/runtime/session_text.h"

namespace amp {

inline std::unique_ptr<Session> MakeSession(const SessionText& text, const SessionOptions& options = {}) {
  absl::StatusOr<std::unique_ptr<Session>> session = CreateSession(text, options);
  INFO(text.text);
  INFO(session.status().message());
  REQUIRE(session.ok());
  return *std::move(session);
}

inline std::vector<Tensor> RunSession(const Session& session, const NamedDatums& inputs) {
  absl::StatusOr<std::vector<Tensor>> outputs = TryToRun(session, inputs);
  INFO(outputs.status().message());
  REQUIRE(outputs.ok());
  return *std::move(outputs);
}

inline void AppendKernels(const std::vector<Instruction>& instructions, std::vector<std::string>& kernels) {
  for (const Instruction& instruction : instructions) {
    const KernelRow* row = nullptr;
    {
      const absl::MutexLock lock(&instruction.site->mutex);
      row = instruction.site->row;
    }
    if (row != nullptr) {
      kernels.push_back(absl::StrCat(row->family, " ", row->op_type));
    } else if (instruction.unfused.empty()) {
      kernels.push_back("not run");
    } else {
      AppendKernels(instruction.unfused, kernels);
    }
  }
}

// In the order of the program, a fusion once; where its nodes ran one by one, each of them.
inline std::vector<std::string> KernelsOf(const Session& session) {
  std::vector<std::string> kernels;
  for (const auto& block : session.program().blocks) AppendKernels(block, kernels);
  return kernels;
}

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_RUN_SESSION_H_
