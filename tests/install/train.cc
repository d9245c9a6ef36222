// train_example STEP.onnx FORWARD.onnx OUT.onnx: a training loop of one's own. It learns which points lie in a circle.
#include <amp.h>

#include <iostream>
#include <random>
#include <vector>

absl::Status Train(const char* step_graph, const char* forward, const char* out) {
  absl::StatusOr<std::unique_ptr<amp::Trainer>> trainer = amp::Trainer::Create(step_graph);
  if (!trainer.ok()) return trainer.status();
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    std::vector<float> x;
    std::vector<int64_t> labels;
    for (int sample = 0; sample < 64; ++sample) {
      const float a = static_cast<float>(random() % 2000) / 1000 - 1,
                  b = static_cast<float>(random() % 2000) / 1000 - 1;
      x.insert(x.end(), {a, b});
      labels.push_back(a * a + b * b < 0.5F ? 1 : 0);
    }
    const absl::StatusOr<amp::TrainStep> step =
        (*trainer)->Step({{"x", amp::Tensor::Of<float>(amp::DType::kFloat32, {64, 2}, x)},
                          {"labels", amp::Tensor::Of<int64_t>(amp::DType::kInt64, {64}, labels)}});
    if (!step.ok()) return step.status();
    if (i % 100 == 99) {
      std::cout << "step " << i + 1 << ": loss " << step->loss << ", loss scale " << step->loss_scale
                << (step->finite ? "" : ", skipped") << "\n";
    }
    if (i == 399 && !(step->loss < 0.3F)) return absl::InternalError("it has learnt nothing");
  }
  return (*trainer)->SaveWeights(out, forward);
}

int main(int argc, char** argv) {
  const absl::Status status = argc == 4 ? Train(argv[1], argv[2], argv[3])
                                        : absl::InvalidArgumentError("usage: train_example STEP FORWARD OUT");
  if (status.ok()) return 0;
  std::cerr << status << "\n";
  return 1;
}
