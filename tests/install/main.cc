// example MODEL.onnx: what a conversion to float16 would do to the model.
#include <amp.h>

#include <fstream>
#include <iostream>

int main(int argc, char** argv) {
  onnx::ModelProto model;
  std::ifstream file(argc > 1 ? argv[1] : "", std::ios::binary);
  if (!model.ParseFromIstream(&file)) {
    std::cerr << "usage: example MODEL.onnx\n";
    return 1;
  }
  amp::RewriteOptions options;
  options.dtype = amp::RewriteOptions::Dtype::kFloat16;
  const absl::StatusOr<amp::RewriteResult> result = amp::Rewrite(model, options);
  if (!result.ok()) {
    std::cerr << result.status() << "\n";
    return 1;
  }
  const onnx::ModelProto& mixed = result->model;
  std::cout << result->summary.line << "; " << mixed.graph().node_size() << " nodes now\n";
}
