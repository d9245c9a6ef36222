// lift_opset IN.onnx OUT.onnx TARGET: the adapters alone, for tests/judge/rewrite/adapters.py.
// lift_opset --rows: the table, one "operator from to" a line.
// Prints "REACH N" when the model can only be lifted to N, with the reason, writes nothing, and exits with 3.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "google/protobuf/arena.h"
#include "ir/graph/check_types.h"
#include "ir/graph/graph.h"
#include "ir/graph/infer.h"
#include "ir/opset/opset_adapters.h"
#include "ir/opset/opset_steps.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

int Fail(absl::string_view text) {
  std::fprintf(stderr, "lift_opset: %.*s\n", static_cast<int>(text.size()), text.data());
  return EXIT_FAILURE;
}

int Lift(const char* in_path, const char* out_path, int target) {
  auto arena = std::make_unique<google::protobuf::Arena>();
  auto* proto = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(arena.get());
  std::ifstream in(in_path, std::ios::binary);
  if (!proto->ParseFromIstream(&in)) return Fail("cannot parse the input");
  auto model = Model::Create(std::move(arena), proto);
  if (!model.ok()) return Fail(model.status().message());
  Model& m = **model;
  InferTypes(m);
  const auto [reach, blocking] = ReachableOpset(m, target);
  if (m.edited()) return Fail("ReachableOpset edited the model");
  const absl::Status lifted = LiftOpset(m, target);
  if (lifted.ok() != (reach >= target)) return Fail("ReachableOpset and LiftOpset disagree");
  if (!lifted.ok()) {
    if (m.edited()) return Fail("a refused lift edited the model");
    std::printf("REACH %d %s\n", reach, blocking.sentence().c_str());
    return 3;
  }
  m.CheckConsistency();
  InferTypes(m);
  if (const absl::Status types = CheckTypes(m); !types.ok()) return Fail(types.message());
  m.Commit();
  std::ofstream out(out_path, std::ios::binary);
  return m.proto().SerializeToOstream(&out) && out.flush() ? EXIT_SUCCESS : Fail("cannot write the output");
}

}  // namespace
}  // namespace amp

int main(int argc, char** argv) {
  if (argc == 2 && absl::string_view(argv[1]) == "--rows") {
    for (const amp::OpsetStep& step : amp::OpsetSteps()) {
      std::printf("%s %d %d\n", std::string(step.op_type).c_str(), step.from, step.to);
    }
    return EXIT_SUCCESS;
  }
  if (argc != 4) return amp::Fail("usage: lift_opset IN.onnx OUT.onnx TARGET");
  return amp::Lift(argv[1], argv[2], std::atoi(argv[3]));
}
