// Operands of what follows a product, in every shape that broadcasts: none makes the library take its reference.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/reference/reference_kernels.h"
#include "tests/catch2.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

struct OperandCase {
  std::string product;
  Dims x, w;
  bool has_constant_weights = true;
};

std::vector<std::string> ImplementationsOf(const Session& session) {
  std::vector<std::string> names;
  const auto add = [&](const auto& self, const std::vector<Instruction>& instructions) -> void {
    for (const Instruction& instruction : instructions) {
      self(self, instruction.unfused);
      const absl::MutexLock lock(&instruction.site->mutex);
      if (instruction.site->row != nullptr) names.push_back(instruction.site->implementation);
    }
  };
  for (const auto& block : session.program().blocks) add(add, block);
  return names;
}

// "" where what comes out is what the reference gives, without the library's.
std::string Fault(const OperandCase& each, const std::string& op, const Dims& operand, DType dtype) {
  const std::string type = dtype == DType::kFloat32 ? "float" : std::string(DTypeName(dtype));
  const auto declared = [&](const std::string& name, const Dims& dims) {
    return absl::StrCat(type, dims.empty() ? "" : absl::StrCat("[", absl::StrJoin(dims, ","), "]"), " ", name);
  };
  const std::string w_input = each.has_constant_weights ? "" : ", " + declared("w", each.w);
  SessionText text = {.text = absl::StrCat("<ir_version: 10, opset_import: [\"\" : 22]> g (", declared("x", each.x),
                                           ", ", declared("p", operand), w_input, ") => (", type,
                                           "[] y) { a = ", each.product, " b = ", op, " (a, p) y = Relu (b) }")};
  NamedDatums inputs = {{"x", RandomTensor(dtype, each.x)}, {"p", RandomTensor(dtype, operand)}};
  const Tensor w = RandomTensor(dtype, each.w);
  if (each.has_constant_weights) text.constants = {{"w", w}};
  if (!each.has_constant_weights) inputs["w"] = w;
  SessionOptions with_reference;
  with_reference.find_kernels = FindReferenceKernels;
  const auto session = MakeSession(text);
  std::string difference =
      DifferenceOf(RunSession(*session, inputs), RunSession(*MakeSession(text, with_reference), inputs),
                   dtype == DType::kFloat32 ? 1e-5 : 2e-2);
  for (const std::string& name : ImplementationsOf(*session)) {
    if (absl::StartsWith(name, "ref")) return absl::StrCat("by ", name);
  }
  return difference;
}

TEST_CASE("operands behind products of matrices, by row, by matrix, for all matrices") {
  const OperandCase cases[] = {{"MatMul (x, w)", {2, 8, 16}, {16, 24}},
                               {"MatMul (x, w)", {2, 8, 16}, {2, 16, 24}, false},
                               {"MatMul (x, w)", {2, 8, 16}, {16, 24}, false}};
  for (const OperandCase& each : cases) {
    for (const Dims& operand :
         {Dims{2, 8, 1}, {2, 1, 1}, {8, 24}, {1, 8, 24}, {8, 1}, {1, 24}, {24}, {2, 1, 24}, {2, 8, 24}, {}}) {
      for (const std::string op : {"Add", "Mul"}) {
        for (const DType dtype : kLoopFloats) {
          INFO(DimsText(each.w) << " " << op << " " << DimsText(operand) << " " << DTypeName(dtype));
          CHECK(Fault(each, op, operand, dtype) == "");
        }
      }
    }
  }
  const OperandCase scores = {"MatMul (x, w)", {2, 3, 8, 16}, {2, 3, 16, 8}, false};
  for (const Dims& operand : {Dims{3, 8, 8}, {2, 3, 8, 1}, {1, 3, 1, 1}, {8, 8}, {2, 1, 1, 8}, {2, 1, 8, 8}}) {
    INFO(DimsText(operand));
    CHECK(Fault(scores, "Add", operand, DType::kFloat32) == "");
  }
  const OperandCase gemm = {"Gemm (x, w)", {8, 16}, {16, 24}};
  for (const Dims& operand : {Dims{8, 1}, {8, 24}, {1, 1}}) CHECK(Fault(gemm, "Mul", operand, DType::kFloat32) == "");
}

TEST_CASE("operands behind convolutions, by image, by place") {
  const OperandCase conv = {"Conv (x, w)", {3, 16, 6, 6}, {32, 16, 3, 3}};
  for (const Dims& operand : {Dims{3, 32, 1, 1},
                              {1, 32, 1, 1},
                              {32, 1, 1},
                              {3, 1, 4, 4},
                              {1, 1, 4, 4},
                              {4, 4},
                              {3, 1, 1, 1},
                              {3, 32, 4, 4},
                              {}}) {
    for (const std::string op : {"Add", "Mul"}) {
      for (const DType dtype : kLoopFloats) {
        INFO(op << " " << DimsText(operand) << " " << DTypeName(dtype));
        CHECK(Fault(conv, op, operand, dtype) == "");
      }
    }
  }
}

}  // namespace
}  // namespace amp
