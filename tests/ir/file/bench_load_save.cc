// Not a test: times loading and saving of a model with every float32 initializer narrowed, and prints the peak memory.
//   bench_load_save MODEL.onnx OUT.onnx [float16|bfloat16|unchanged]
#include <sys/resource.h>

#include <chrono>
#include <cstdio>

#include "ir/file/model_file.h"
#include "ir/file/save.h"
#include "onnx/onnx_pb.h"

namespace {

// Prints the time since the last call, and the peak so far.
void Lap(const char* what) {
  static auto last = std::chrono::steady_clock::now();
  const auto now = std::chrono::steady_clock::now();
  struct rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
  std::printf("%-6s %6.2f s; so far CPU %.2f s user, %.2f s system; peak %ld MB\n", what,
              std::chrono::duration<double>(now - last).count(), seconds(usage.ru_utime), seconds(usage.ru_stime),
              usage.ru_maxrss / 1024);
  last = now;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  Lap("start");
  auto file = amp::LoadModel(argv[1]);
  if (!file.ok()) {
    std::printf("%s\n", file.status().ToString().c_str());
    return 1;
  }
  Lap("load");
  const auto low = amp::ParseDType(argc > 3 ? argv[3] : "float16");
  amp::Weights weights = file->weights();
  for (auto& tensor : *file->model->mutable_graph()->mutable_initializer()) {
    if (!low.has_value() || tensor.data_type() != onnx::TensorProto::FLOAT) continue;
    auto* original = google::protobuf::Arena::CreateMessage<onnx::TensorProto>(file->arena.get());
    original->Swap(&tensor);
    tensor.set_name(original->name());
    *tensor.mutable_dims() = original->dims();
    tensor.set_data_type(static_cast<int>(*low));
    auto view = weights.View(*original);
    if (!view.ok()) return 1;
    weights.ConvertWhenSaved(tensor, *std::move(view));
  }
  amp::SaveOptions options;
  options.input = &*file;
  auto saved = amp::SaveModel(*file->model, weights, argv[2], options);
  Lap("save");
  std::printf("%s\n", saved.ok() ? "ok" : saved.status().ToString().c_str());
  return saved.ok() ? 0 : 1;
}
