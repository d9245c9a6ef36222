// inline_model: the inliner alone, for tests/judge/rewrite/functions.py. It reads lines "IN.onnx OUT.onnx" and answers
// each with "ok CALLS" or "error TEXT". Domain ai.amp is inlined too.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "ir/base/limits.h"
#include "ir/file/validate.h"
#include "ir/functions/inline_functions.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

absl::StatusOr<int> Inline(const std::string& in_path, const std::string& out_path) {
  onnx::ModelProto model;
  std::ifstream in(in_path, std::ios::binary);
  if (!model.ParseFromIstream(&in)) return absl::InternalError("cannot parse the input");
  std::vector<std::string> warnings;
  if (absl::Status status = ValidateModel(model, Limits(), &warnings); !status.ok()) return status;
  absl::StatusOr<InlinedFunctions> inlined = InlineFunctions(model, {});
  if (!inlined.ok()) return inlined.status();
  if (absl::Status status = ValidateModel(model, Limits(), &warnings); !status.ok()) return status;
  std::ofstream out(out_path, std::ios::binary);
  if (!model.SerializeToOstream(&out) || !out.flush()) return absl::InternalError("cannot write the output");
  return inlined->num_calls;
}

}  // namespace
}  // namespace amp

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string in, out;
    words >> in >> out;
    const absl::StatusOr<int> calls = amp::Inline(in, out);
    if (calls.ok()) {
      std::cout << "ok " << *calls << std::endl;
    } else {
      std::cout << "error " << calls.status().message() << std::endl;
    }
  }
  return EXIT_SUCCESS;
}
