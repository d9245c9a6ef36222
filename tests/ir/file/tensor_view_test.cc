#include "ir/file/tensor_view.h"

#include <cmath>
#include <cstring>
#include <numeric>

#include "ir/base/status.h"
#include "tests/catch2.h"
#include "tests/ir/file/fixtures.h"

namespace amp {
namespace {

using onnx::TensorProto;

TensorProto Typed(int type, const std::vector<int64_t>& dims) {
  TensorProto tensor;
  tensor.set_data_type(type);
  for (int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

std::vector<double> Doubles(const TensorProto& tensor) {
  auto view = TensorView::Of(tensor, nullptr);
  REQUIRE(view.ok());
  auto values = view->ReadAsDoubles(1000);
  REQUIRE(values.ok());
  return *values;
}

std::string Bytes(const TensorView& view) {
  std::string all;
  const absl::Status status = view.ForEachChunk([&](absl::Span<const std::byte> chunk) {
    CHECK(static_cast<int64_t>(chunk.size()) <= TensorView::kChunkBytes);
    all.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
    return absl::OkStatus();
  });
  CHECK(status.ok());
  return all;
}

TEST_CASE("typed fields and raw_data give the same values") {
  TensorProto tensor = Typed(TensorProto::FLOAT, {3});
  for (float v : {1.5f, -0.0f, 3e38f}) tensor.add_float_data(v);
  CHECK(Doubles(tensor) == std::vector<double>{1.5, -0.0, 3e38f});
  TensorProto raw = Typed(TensorProto::FLOAT, {3});
  raw.set_raw_data(tensor.float_data().data(), 12);
  CHECK(Doubles(raw) == Doubles(tensor));

  TensorProto half = Typed(TensorProto::FLOAT16, {4});
  for (int bits : {0x3c00, 0xfbff, 0x0001, 0x8000}) half.add_int32_data(bits);
  CHECK(Doubles(half) == std::vector<double>{1, -65504, std::ldexp(1, -24), 0});
  auto view = *TensorView::Of(half, nullptr);
  CHECK(Bytes(view) == std::string("\x00\x3c\xff\xfb\x01\x00\x00\x80", 8));
  CHECK(!view.InMemory().has_value());

  TensorProto brain = Typed(TensorProto::BFLOAT16, {2});
  for (int bits : {0x3f80, 0xff80}) brain.add_int32_data(bits);
  CHECK(Doubles(brain) == std::vector<double>{1, -HUGE_VAL});

  TensorProto unsigned32 = Typed(TensorProto::UINT32, {2});
  unsigned32.add_uint64_data(4294967295u);
  unsigned32.add_uint64_data(7);
  CHECK(Doubles(unsigned32) == std::vector<double>{4294967295.0, 7});

  TensorProto boolean = Typed(TensorProto::BOOL, {2});
  boolean.add_int32_data(1);
  boolean.add_int32_data(0);
  CHECK(Doubles(boolean) == std::vector<double>{1, 0});
  TensorProto signed8 = Typed(TensorProto::INT8, {2});
  signed8.add_int32_data(-128);
  signed8.add_int32_data(127);
  CHECK(Doubles(signed8) == std::vector<double>{-128, 127});
}

TEST_CASE("packed types") {
  TensorProto int4 = Typed(TensorProto::INT4, {3});
  int4.set_raw_data(std::string("\x7f\x08", 2));  // -1, 7, -8
  CHECK(Doubles(int4) == std::vector<double>{-1, 7, -8});
  TensorProto in_field = Typed(TensorProto::INT4, {3});
  in_field.add_int32_data(0x7f);
  in_field.add_int32_data(0x08);
  CHECK(Doubles(in_field) == Doubles(int4));
  TensorProto uint2 = Typed(TensorProto::UINT2, {5});
  uint2.set_raw_data(std::string("\xe4\x02", 2));
  CHECK(Doubles(uint2) == std::vector<double>{0, 1, 2, 3, 2});
  TensorProto float4 = Typed(TensorProto::FLOAT4E2M1, {4});
  float4.set_raw_data(std::string("\x71\x9f", 2));
  CHECK(Doubles(float4) == std::vector<double>{0.5, 6, -6, -0.5});
  TensorProto float6 = Typed(TensorProto::FLOAT6E3M2, {5});
  for (int bits : {0x0c, 0x1f, 0x21, 0x3f, 0x01}) float6.add_int32_data(bits);
  CHECK(Doubles(float6) == std::vector<double>{1, 28, -0.0625, -28, 0.0625});
}

TEST_CASE("8-bit floats") {
  const auto one = [](int type, int bits) {
    TensorProto tensor = Typed(type, {1});
    tensor.add_int32_data(bits);
    return Doubles(tensor)[0];
  };
  CHECK(one(TensorProto::FLOAT8E4M3FN, 0x7e) == 448);
  CHECK(std::isnan(one(TensorProto::FLOAT8E4M3FN, 0xff)));
  CHECK(one(TensorProto::FLOAT8E4M3FNUZ, 0x7f) == 240);
  CHECK(std::isnan(one(TensorProto::FLOAT8E4M3FNUZ, 0x80)));
  CHECK(one(TensorProto::FLOAT8E5M2, 0x7b) == 57344);
  CHECK(one(TensorProto::FLOAT8E5M2, 0xfc) == -HUGE_VAL);
  CHECK(one(TensorProto::FLOAT8E5M2FNUZ, 0x7f) == 57344);
  CHECK(one(TensorProto::FLOAT8E8M0, 0) == std::ldexp(1, -127));
  CHECK(std::isnan(one(TensorProto::FLOAT8E8M0, 255)));
}

TEST_CASE("integers keep all 64 bits") {
  TensorProto tensor = Typed(TensorProto::INT64, {2});
  tensor.add_int64_data(INT64_MAX);
  tensor.add_int64_data(INT64_MIN);
  auto values = TensorView::Of(tensor, nullptr)->ReadAsInt64(2);
  REQUIRE(values.ok());
  CHECK(*values == std::vector<int64_t>{INT64_MAX, INT64_MIN});
  TensorProto big = Typed(TensorProto::UINT64, {1});
  big.add_uint64_data(UINT64_MAX);
  CHECK(TensorView::Of(big, nullptr)->ReadAsInt64(2).status().code() == absl::StatusCode::kDataLoss);
  CHECK(Doubles(big)[0] == 18446744073709551615.0);
  CHECK(TensorView::Of(FloatTensor("", {1}), nullptr)->ReadAsInt64(2).status().code() == absl::StatusCode::kDataLoss);
  CHECK(TensorView::Of(tensor, nullptr)->ReadAsDoubles(1).status().code() == absl::StatusCode::kResourceExhausted);
}

TEST_CASE("chunks are whole elements and cover everything once") {
  for (int type : {int(TensorProto::FLOAT16), int(TensorProto::INT8), int(TensorProto::FLOAT6E2M3)}) {
    TensorProto tensor = Typed(type, {1'500'001});
    for (int i = 0; i < 1'500'001; ++i) tensor.add_int32_data(i * 7 & 0x3f);
    auto view = *TensorView::Of(tensor, nullptr);
    const std::string bytes = Bytes(view);
    CHECK(static_cast<int64_t>(bytes.size()) == view.size_bytes());
    std::vector<double> typed = *view.ReadAsDoubles(2'000'000);
    TensorProto raw = Typed(type, {1'500'001});
    raw.set_raw_data(bytes);
    auto raw_view = *TensorView::Of(raw, nullptr);
    CHECK(*raw_view.ReadAsDoubles(2'000'000) == typed);
    CHECK(Bytes(raw_view) == bytes);
  }
}

TEST_CASE("empty and scalar tensors") {
  CHECK(Doubles(Typed(TensorProto::FLOAT, {2, 0, 3})).empty());
  CHECK(Doubles(FloatTensor("", {}, 5)) == std::vector<double>{5});
  CHECK(ElementCount({INT64_MAX, INT64_MAX, 0}) == std::nullopt);
  CHECK(ElementCount({0, 5}) == 0);
  CHECK(ElementCount({}) == 1);
  CHECK(ElementCount({1, -1}) == std::nullopt);
}

}  // namespace
}  // namespace amp
