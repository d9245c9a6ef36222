// A refusal gives the next kernel its turn; where all kernels refuse, the error names the node and each reason.
#include "runtime/kernel/refusal.h"

#include "ir/base/status.h"
#include "tests/catch2.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

absl::Status Copy(KernelContext& context) {
  context.SetOutput(0, Datum(Tensor(context.Input(0))));
  return absl::OkStatus();
}

constexpr KernelRow kRefusesAtOnce = {.op_type = "Relu",
                                      .function = Copy,
                                      .refusal = [](const KernelContext&) -> Refusal { return "at once"; },
                                      .family = "first"};
constexpr KernelRow kRefusesLater = {
    .op_type = "Relu", .function = [](KernelContext&) -> absl::Status { return Refused("later"); }, .family = "second"};
constexpr KernelRow kTakes = {.op_type = "Relu", .function = Copy, .family = "third"};

constexpr char kRelu[] =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { [r] y = Relu (x) }";

absl::StatusOr<std::vector<Tensor>> RunBy(FindKernels find) {
  const auto session = MakeSession({.text = kRelu}, {.limits = {}, .find_kernels = find});
  return TryToRun(*session, {{"x", RandomTensor(DType::kFloat32, {2})}});
}

TEST_CASE("a refusal as a status") {
  CHECK_FALSE(Refusal());
  CHECK(absl::Status(Refusal()).ok());
  const Refusal refusal = "a reason";
  REQUIRE(refusal);
  CHECK(IsRefusal(refusal));
  CHECK(absl::Status(refusal).message() == "a reason");
  CHECK(IsRefusal(Refused("a reason")));
  CHECK_FALSE(IsRefusal(DeviceError("no driver")));
}

TEST_CASE("the kernel behind those that refuse runs") {
  CHECK(RunBy([](absl::string_view, absl::string_view, int) -> std::vector<const KernelRow*> {
          return {&kRefusesAtOnce, &kRefusesLater, &kTakes};
        }).ok());
}

TEST_CASE("no kernel takes the inputs: the node, each reason, and no exit code of devices") {
  const absl::Status status = RunBy([](absl::string_view, absl::string_view, int) -> std::vector<const KernelRow*> {
                                return {&kRefusesAtOnce, &kRefusesLater};
                              }).status();
  CHECK(ExitCode(status) == 3);
  CHECK(status.message() == "r (Relu-14): no kernel takes the inputs (first: at once; second: later)");
}

}  // namespace
}  // namespace amp
