// Fresh models: the same for the same seed, weights of the right size, and they run.
#include "tools/train/new_model.h"

#include <cmath>

#include "onnx/onnx_pb.h"
#include "runtime/session.h"
#include "tests/catch2.h"

namespace amp {
namespace {

std::string BytesOf(absl::StatusOr<LoadedFile> file) {
  INFO(file.status().message());
  REQUIRE(file.ok());
  return file->model->SerializeAsString();
}

TEST_CASE("the same seed gives the same model, another one another") {
  CHECK(BytesOf(NewMlp({4, 3, 2}, 7)) == BytesOf(NewMlp({4, 3, 2}, 7)));
  CHECK(BytesOf(NewMlp({4, 3, 2}, 7)) != BytesOf(NewMlp({4, 3, 2}, 8)));
  CHECK(BytesOf(NewCnn(0)) == BytesOf(NewCnn(0)));
}

TEST_CASE("weights are Glorot-uniform, biases zero") {
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(BytesOf(NewMlp({400, 200, 10}, 1))));
  REQUIRE(model.graph().initializer_size() == 4);
  const auto elements = [&](int i) {
    const std::string& bytes = model.graph().initializer(i).raw_data();
    const auto* first = reinterpret_cast<const float*>(bytes.data());
    return std::vector<float>(first, std::next(first, static_cast<std::ptrdiff_t>(bytes.size() / sizeof(float))));
  };
  const std::vector<float> weights = elements(0);
  REQUIRE(weights.size() == 400 * 200);
  const double limit = std::sqrt(6.0 / 600);
  double largest = 0, sum = 0, squares = 0;
  for (const double w : weights) {
    largest = std::max(largest, std::fabs(w));
    sum += w;
    squares += w * w;
  }
  CHECK(largest <= limit);
  CHECK(largest > 0.999 * limit);
  CHECK(std::fabs(sum / 80'000) < 0.01 * limit);
  CHECK(squares / 80'000 == Approx(limit * limit / 3).epsilon(0.02));
  CHECK(elements(1) == std::vector<float>(200, 0));
}

TEST_CASE("fresh models take any batch and give probabilities") {
  const auto run = [](absl::StatusOr<LoadedFile> file, Dims dims) {
    REQUIRE(file.ok());
    const auto session = Session::Create(*std::move(file), {});
    INFO(session.status().message());
    REQUIRE(session.ok());
    Tensor x = *Tensor::Create(DType::kFloat32, std::move(dims));
    for (float& element : x.mutable_elements<float>()) element = 0.5;
    const auto outputs = (*session)->Run({{"x", x}});
    REQUIRE(outputs.ok());
    const Tensor& y = *(*outputs)[0].tensor();
    REQUIRE(y.rank() == 2);
    double sum = 0;
    for (const float p : y.elements<float>()) sum += p;
    CHECK(sum == Approx(static_cast<double>(y.dim(0))));
    return y.dims();
  };
  CHECK(run(NewMlp({6, 5, 4, 3}, 0), {7, 6}) == Dims{7, 3});
  CHECK(run(NewMlp({6, 3}, 0), {1, 6}) == Dims{1, 3});
  CHECK(run(NewCnn(0), {2, 1, 28, 28}) == Dims{2, 10});
}

TEST_CASE("sizes of layers are read, nonsense is refused") {
  CHECK(*ParseLayers("784-64-64-10") == std::vector<int64_t>{784, 64, 64, 10});
  for (const char* text : {"", "784", "784-", "-10", "784-0-10", "784-x-10", "784-1e3", "100000000-100000000",
                           "9-9-99999999999999999999"}) {
    INFO(text);
    CHECK(absl::IsInvalidArgument(ParseLayers(text).status()));
  }
}

}  // namespace
}  // namespace amp
