// make_demo MODEL.onnxtxt OUT.onnx: the demo model, which the repository ships as text, as a model file.
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "ir/file/text.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: make_demo MODEL.onnxtxt OUT.onnx\n";
    return 2;
  }
  std::ostringstream text;
  std::ifstream in(argv[1], std::ios::binary);
  text << in.rdbuf();
  if (!in) {
    std::cerr << "make_demo: error: " << argv[1] << ": cannot be read\n";
    return 6;
  }
  const absl::StatusOr<std::string> bytes = amp::ParseOnnxText(text.str());
  if (!bytes.ok()) {
    std::cerr << "make_demo: error: " << argv[1] << ": " << bytes.status().message() << "\n";
    return 3;
  }
  std::ofstream out(argv[2], std::ios::binary);
  out << *bytes << std::flush;
  if (!out) {
    std::cerr << "make_demo: error: " << argv[2] << ": cannot be written\n";
    return 6;
  }
  return 0;
}
