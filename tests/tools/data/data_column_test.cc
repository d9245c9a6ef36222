// Conversion of a data set into an input of a step graph.
#include "tools/data/data_column.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

Tensor Bytes(const Dims& dims, const std::vector<uint8_t>& elements) {
  return Tensor::Of<uint8_t>(DType::kUint8, dims, elements);
}

std::string Taken(const absl::StatusOr<DataColumn>& column, const std::vector<int64_t>& rows) {
  if (!column.ok()) return absl::StrCat("error: ", column.status().message());
  const absl::StatusOr<Tensor> batch = column->Batch(rows);
  return batch.ok() ? TensorText(*batch) : absl::StrCat("error: ", batch.status().message());
}

TEST_CASE("bytes become floats between 0 and 1, unless another scale is asked for") {
  const Tensor images = Bytes({3, 1, 2}, {0, 255, 51, 102, 153, 204});
  const InputType x = {"x", DType::kFloat32, {-1, 1, 2}};
  CHECK(Taken(DataColumn::OfData(x, images, {}), {0}) == "float32[1,1,2]: 0 1");
  CHECK(Taken(DataColumn::OfData(x, images, {.scale = 2, .resize = {}}), {2, 0}) == "float32[2,1,2]: 306 408 0 510");
  CHECK(DataColumn::OfData(x, images, {})->description() ==
        "x: uint8[3,1,2] as float32[n,1,2], multiplied by 0.00392157");
  const Tensor floats = Tensor::Of<float>(DType::kFloat32, {2, 1}, {3, 4});
  CHECK(Taken(DataColumn::OfData({"x", DType::kFloat32, {-1, 1}}, floats, {}), {1, 0}) == "float32[2,1]: 4 3");
  CHECK(Taken(DataColumn::OfData({"x", DType::kFloat16, {-1, 1}}, floats, {.scale = 0.5, .resize = {}}), {1}) ==
        "float16[1,1]: 2");
  CHECK(Taken(DataColumn::OfData({"x", DType::kUint8, {-1, 1, 2}}, images, {}), {1}) == "uint8[1,1,2]: 51 102");
}

TEST_CASE("samples of as many elements take the input's shape") {
  const Tensor images = Bytes({2, 2, 2}, {0, 51, 102, 153, 204, 255, 0, 255});
  CHECK(Taken(DataColumn::OfData({"x", DType::kFloat32, {-1, 4}}, images, {.scale = 1, .resize = {}}), {0}) ==
        "float32[1,4]: 0 51 102 153");
  CHECK(Taken(DataColumn::OfData({"x", DType::kFloat32, {-1, 1, 2, 2}}, images, {.scale = 1, .resize = {}}), {1}) ==
        "float32[1,1,2,2]: 204 255 0 255");
  CHECK(Taken(DataColumn::OfData({"x", DType::kFloat32, {-1, -1, -1}}, images, {.scale = 1, .resize = {}}), {0}) ==
        "float32[1,2,2]: 0 51 102 153");
  CHECK(Taken(DataColumn::OfData({"x", DType::kFloat32, {-1, 3, 4, 4}}, images, {}), {0}) ==
        "error: input 'x': expected samples for float32[n,3,4,4], found uint8[2,2,2]; --resize changes the size of "
        "images");
  CHECK(
      Taken(DataColumn::OfData({"x", DType::kFloat32, {-1, 5}}, images, {.scale = {}, .resize = ResizeMode::kNearest}),
            {0}) == "error: input 'x': expected samples for float32[n,5], found uint8[2,2,2]");
}

TEST_CASE("images are resized, gray ones repeated for every channel") {
  const Tensor images = Bytes({1, 2, 2}, {0, 40, 80, 120});
  const auto resized = [&](std::vector<int64_t> dims, ResizeMode mode) {
    return Taken(DataColumn::OfData({"x", DType::kFloat32, std::move(dims)}, images, {.scale = 1, .resize = mode}),
                 {0});
  };
  CHECK(resized({-1, 2, 1, 1}, ResizeMode::kNearest) == "float32[1,2,1,1]: 120 120");
  CHECK(resized({-1, 1, 1, 1}, ResizeMode::kBilinear) == "float32[1,1,1,1]: 60");
  CHECK(resized({-1, 1, 2, 4}, ResizeMode::kBilinear) == "float32[1,1,2,4]: 0 10 30 40 80 90 110 120");
  CHECK(resized({-1, 1, 4, 4}, ResizeMode::kNearest) ==
        "float32[1,1,4,4]: 0 0 40 40 0 0 40 40 80 80 120 120 80 80 120 120");
  const Tensor steps = Bytes({1, 1, 2}, {0, 3});
  CHECK(
      Taken(DataColumn::OfData({"x", DType::kUint8, {-1, 1, 4}}, steps, {.scale = {}, .resize = ResizeMode::kBilinear}),
            {0}) == "uint8[1,1,4]: 0 1 2 3");  // 0.75 and 2.25 are between whole numbers
}

TEST_CASE("what an input of whole numbers cannot hold is an error, not another number") {
  const InputType ids = {"ids", DType::kUint8, {-1, 2}};
  const auto taken = [](const InputType& input, const Tensor& data, const FitOptions& options = {}) {
    return Taken(DataColumn::OfData(input, data, options), {0});
  };
  const auto floats = [](const std::vector<float>& x) { return Tensor::Of<float>(DType::kFloat32, {2, 2}, x); };
  CHECK(taken(ids, floats({0, 255, 3, 4})) == "uint8[1,2]: 0 255");
  CHECK(taken(ids, floats({1, 2, 3, 1.75})) ==
        "error: input 'ids': row 1: expected whole numbers from 0 to 255 for uint8, found 1.75");
  CHECK(taken(ids, floats({1, 256, 3, 4})) ==
        "error: input 'ids': row 0: expected whole numbers from 0 to 255 for uint8, found 256");
  CHECK_THAT(taken(ids, floats({1, 2, NAN, 4})), Contains("row 1: ") && Contains("found nan"));
  CHECK_THAT(taken(ids, floats({1, 2, 3, INFINITY})), Contains("found inf"));
  CHECK_THAT(taken(ids, floats({1, 2, 3, 5}), {.scale = 0.5, .resize = {}}),
             Contains("row 0: ") && Contains("found 1 multiplied by 0.5"));
  CHECK(taken(ids, floats({2, 4, 6, 8}), {.scale = 0.5, .resize = {}}) == "uint8[1,2]: 1 2");
  const InputType tokens = {"tokens", DType::kInt32, {-1, 1}};
  const auto longs = [](int64_t a, int64_t b) { return Tensor::Of<int64_t>(DType::kInt64, {2, 1}, {a, b}); };
  CHECK(taken(tokens, longs(-2147483648, 2147483647)) == "int32[1,1]: -2147483648");
  CHECK(taken(tokens, longs(0, 2147483648)) ==
        "error: input 'tokens': row 1: expected whole numbers from -2147483648 to 2147483647 for int32, found "
        "2147483648");
  const int64_t odd = (int64_t{1} << 53) + 1;  // no float64
  CHECK(taken({"big", DType::kInt64, {-1, 1}}, longs(odd, 0)) == absl::StrCat("int64[1,1]: ", odd));
  CHECK_THAT(taken({"big", DType::kUint64, {-1, 1}}, longs(odd, 0)), Contains("error: input 'big': row 0: "));
  const InputType mask = {"mask", DType::kBool, {-1, 1}};
  CHECK(taken(mask, longs(1, 0)) == "bool[1,1]: 1");
  CHECK(taken(mask, longs(1, 2)) == "error: input 'mask': row 1: expected whole numbers from 0 to 1 for bool, found 2");
}

TEST_CASE("labels are class numbers or one-hot rows, as the step graph asks") {
  const Tensor labels = Bytes({3}, {2, 0, 1});
  CHECK(Taken(DataColumn::OfLabels({"labels", DType::kInt64, {-1}}, LabelKind::kSparse, labels, 3), {0, 2}) ==
        "int64[2]: 2 1");
  const InputType one_hot = {"labels", DType::kFloat32, {-1, 3}};
  CHECK(Taken(DataColumn::OfLabels(one_hot, LabelKind::kOneHot, labels, 3), {0, 1}) == "float32[2,3]: 0 0 1 1 0 0");
  const Tensor rows = Tensor::Of<float>(DType::kFloat32, {1, 3}, {0.5, 0.5, 0});
  CHECK(Taken(DataColumn::OfLabels(one_hot, LabelKind::kOneHot, rows, 3), {0}) == "float32[1,3]: 0.5 0.5 0");
  const Tensor column = Tensor::Of<int32_t>(DType::kInt32, {2, 1}, {1, 0});
  CHECK(Taken(DataColumn::OfLabels({"labels", DType::kInt64, {-1}}, LabelKind::kSparse, column, -1), {0}) ==
        "int64[1]: 1");
}

TEST_CASE("labels that no class has, and what is no label, are errors") {
  const InputType sparse = {"labels", DType::kInt64, {-1}};
  CHECK(Taken(DataColumn::OfLabels(sparse, LabelKind::kSparse, Bytes({3}, {2, 0, 3}), 3), {}) ==
        "error: labels 'labels': row 2: expected a class from 0 to 2, found 3");
  const Tensor negative = Tensor::Of<int64_t>(DType::kInt64, {1}, {-1});
  CHECK(Taken(DataColumn::OfLabels(sparse, LabelKind::kSparse, negative, -1), {}) ==
        "error: labels 'labels': row 0: expected a class from 0 to n, found -1");
  const Tensor floats = Tensor::Of<float>(DType::kFloat32, {1}, {1});
  CHECK_THAT(
      Taken(DataColumn::OfLabels(sparse, LabelKind::kSparse, floats, 3), {}),
      Contains("expected whole numbers, found float32[1]; in NumPy, labels.astype(numpy.int64) makes them that"));
  const Tensor one_hot = Tensor::Of<float>(DType::kFloat32, {1, 3}, {0, 1, 0});
  CHECK(
      Taken(DataColumn::OfLabels(sparse, LabelKind::kSparse, one_hot, 3), {}) ==
      "error: labels 'labels': expected a class number per sample, found float32[1,3]; for one-hot rows make the step "
      "with amp-rewrite --labels labels:onehot");
  CHECK_THAT(Taken(DataColumn::OfLabels(sparse, LabelKind::kSparse, Bytes({1, 2}, {0, 1}), 3), {}),
             Contains("expected a class number per sample, found uint8[1,2]"));
}

TEST_CASE("numbers that are not finite are told with the data") {
  const InputType x = {.name = "x", .dtype = DType::kFloat32, .dims = {-1, 2}};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor data = Tensor::Of<float>(DType::kFloat32, {2, 2}, {1, nan, -std::numeric_limits<float>::infinity(), 2});
  CHECK_THAT(DataColumn::OfData(x, data, {})->description(), Contains(", of which 2 numbers are not finite"));
  const Tensor good = Tensor::Of<float>(DType::kFloat32, {1, 2}, {1, 2});
  CHECK_THAT(DataColumn::OfData(x, good, {})->description(), !Contains("finite"));
}

}  // namespace
}  // namespace amp
