#include "runtime/cpu/layer_product.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "ir/base/status.h"
#include "runtime/cpu/integer_product.h"
#include "runtime/cpu/make_primitive.h"
#include "runtime/cpu/prepared.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/dynamic_quantization.h"
#include "runtime/loops/few_rows.h"

namespace amp {
namespace {

constexpr int64_t kMostOfLoop = 1 << 16;  // elements of the largest matrix that a loop multiplies

size_t Padded(size_t count) { return (count + kVectorGranule - 1) / kVectorGranule * kVectorGranule; }

// ---- float32 --------------------------------------------------------------------------------------------------------

class LoopProduct : public LayerProduct {
 public:
  LoopProduct(const LayerProductSizes& sizes, absl::Span<const FloatWeights> directions)
      : inputs_(static_cast<size_t>(sizes.inputs)), padded_outputs_(Padded(static_cast<size_t>(sizes.outputs))) {
    const auto outputs = static_cast<size_t>(sizes.outputs);
    for (const FloatWeights& from : directions) {
      Direction& to = directions_.emplace_back();
      to.w.resize(inputs_ * padded_outputs_);
      to.bias.resize(padded_outputs_);
      for (size_t row = 0; row < outputs; ++row) {
        for (size_t i = 0; i < inputs_; ++i) to.w[i * padded_outputs_ + row] = from.w[row * inputs_ + i];
      }
      std::copy(from.bias.begin(), from.bias.end(), to.bias.begin());
    }
  }

  absl::Status Run(size_t direction, const float* a, float* y, void* /*scratch*/) const override {
    const Direction& of = directions_[direction];
    BestLoops().vector.multiply(a, inputs_, of.w.data(), of.bias.data(), y, padded_outputs_);
    return absl::OkStatus();
  }
  size_t scratch_bytes() const override { return 0; }
  absl::string_view implementation() const override { return BestLoops().name; }

 private:
  struct Direction {
    std::vector<float> w, bias;  // [inputs, padded outputs], [padded outputs]
  };
  const size_t inputs_, padded_outputs_;
  std::vector<Direction> directions_;
};

// Rows of the weights are shared by the threads.
class StoredProduct : public LayerProduct {
 public:
  StoredProduct(const LayerProductSizes& sizes, Tensor weights, std::vector<size_t> firsts,
                absl::Span<const absl::Span<const float>> biases)
      : rows_(static_cast<size_t>(sizes.rows)),
        inputs_(static_cast<size_t>(sizes.inputs)),
        outputs_(static_cast<size_t>(sizes.outputs)),
        weights_(std::move(weights)),
        firsts_(std::move(firsts)) {
    for (const absl::Span<const float>& bias : biases) biases_.emplace_back(bias.begin(), bias.end());
  }

  absl::Status Run(size_t direction, const float* a, float* y, void* scratch) const override {
    const DType dtype = weights_.dtype();
    const StoredMatrix matrix = {.dtype = dtype,
                                 .is_transposed = true,
                                 .elements = weights_.bytes().data() + firsts_[direction] * ElementBytes(dtype),
                                 .step = inputs_};
    const float* const x = PaddedRows(a, static_cast<float*>(scratch));
    constexpr size_t kGranule = 64;  // outputs
    ParallelFor((outputs_ + kGranule - 1) / kGranule, kGranule * inputs_, [&](const Share& share) {
      const size_t first = share.first * kGranule, end = std::min(share.end * kGranule, outputs_);
      const FewRowsProduct product = {.x = x,
                                      .x_step = FewRowsStep(inputs_),
                                      .b = matrix.From(first),
                                      .y = y + first,
                                      .y_step = outputs_,
                                      .rows = rows_,
                                      .depth = inputs_,
                                      .columns = end - first};
      product.Run();
    });
    if (biases_.empty()) return absl::OkStatus();
    for (size_t row = 0; row < rows_; ++row) {
      float* const of_row = y + row * outputs_;
      BestLoops().binary.add.of_both(of_row, biases_[direction].data(), of_row, outputs_);
    }
    return absl::OkStatus();
  }
  size_t scratch_bytes() const override { return rows_ * FewRowsStep(inputs_) * sizeof(float); }
  absl::string_view implementation() const override { return BestLoops().name; }

 private:
  const float* PaddedRows(const float* a, float* to) const {
    for (size_t row = 0; row < rows_; ++row) {
      float* const begin = to + row * FewRowsStep(inputs_);
      std::copy_n(a + row * inputs_, inputs_, begin);
      std::fill(begin + inputs_, begin + FewRowsStep(inputs_), 0.0F);
    }
    return to;
  }

  const size_t rows_, inputs_, outputs_;
  const Tensor weights_;
  const std::vector<size_t> firsts_;
  std::vector<std::vector<float>> biases_;
};

class LibraryProduct : public LayerProduct {
 public:
  absl::Status Make(const LayerProductSizes& sizes, absl::Span<const FloatWeights> directions) {
    onednn::MatMulSpec spec{.a = RowMajorOperand(DType::kFloat32, {sizes.rows, sizes.inputs}),
                            .b = {DType::kFloat32, {sizes.inputs, sizes.outputs}, {1, sizes.inputs}},
                            .y = RowMajorOperand(DType::kFloat32, {sizes.rows, sizes.outputs}),
                            .bias = {},
                            .packs_b = true,
                            .post_ops = {}};
    if (!directions[0].bias.empty()) spec.bias = RowMajorOperand(DType::kFloat32, {1, sizes.outputs});
    AMP_ASSIGN_OR_RETURN(primitive_, MakeMatMul(spec));
    for (const FloatWeights& each : directions) {
      AMP_ASSIGN_OR_RETURN(Tensor w, Pack(each.w));
      directions_.push_back({std::move(w), {each.bias.begin(), each.bias.end()}});
    }
    return absl::OkStatus();
  }

  absl::Status Run(size_t direction, const float* a, float* y, void* scratch) const override {
    const Direction& of = directions_[direction];
    onednn::Primitive::Arguments arguments;
    arguments.a = a;
    arguments.b = of.w.bytes().data();
    if (!of.bias.empty()) arguments.bias = of.bias.data();
    arguments.y = y;
    arguments.scratch = scratch;
    return primitive_->Run(arguments) ? absl::OkStatus() : absl::InternalError("oneDNN failed");
  }
  size_t scratch_bytes() const override { return primitive_->scratch_bytes(); }
  absl::string_view implementation() const override { return primitive_->implementation(); }

 private:
  struct Direction {
    Tensor w;
    std::vector<float> bias;
  };

  absl::StatusOr<Tensor> Pack(absl::Span<const float> plain) const {
    if (primitive_->packed_bytes() == 0) {
      AMP_ASSIGN_OR_RETURN(Tensor w, Tensor::Create(DType::kFloat32, {static_cast<int64_t>(plain.size())}));
      std::copy(plain.begin(), plain.end(), w.mutable_elements<float>().begin());
      return w;
    }
    AMP_ASSIGN_OR_RETURN(Tensor packed,
                         Tensor::Create(DType::kUint8, {static_cast<int64_t>(primitive_->packed_bytes())}));
    if (primitive_->Pack(plain.data(), packed.mutable_bytes().data())) return packed;
    return Refusal("the library does not pack the weights");
  }

  std::unique_ptr<onednn::Primitive> primitive_;
  std::vector<Direction> directions_;
};

// ---- 8 bits ---------------------------------------------------------------------------------------------------------

class QuantizedProduct : public LayerProduct {
 public:
  explicit QuantizedProduct(const LayerProductSizes& sizes) : sizes_(sizes) {}

  absl::Status Make(std::vector<QuantizedWeights> directions) {
    for (QuantizedWeights& each : directions) {
      AMP_ASSIGN_OR_RETURN(std::shared_ptr<PreparedIntegers> product, PrepareIntegers(each.w, sizes_.rows));
      std::vector<float> bias(each.bias.begin(), each.bias.end());
      bias.resize(static_cast<size_t>(sizes_.outputs));
      directions_.push_back({std::move(product), std::move(each.scales), std::move(each.zero_points), std::move(bias)});
    }
    return absl::OkStatus();
  }

  absl::Status Run(size_t direction, const float* a, float* y, void* scratch) const override {
    const Loops& loops = BestLoops();
    const size_t count = NumInputs(), n = static_cast<size_t>(sizes_.outputs);
    const DynamicQuantization of = DynamicQuantizationOf(a, count);  // ignores NaN
    if (!(of.scale <= std::numeric_limits<float>::max())) {
      std::fill_n(y, NumSums(), std::numeric_limits<float>::quiet_NaN());
      return absl::OkStatus();
    }
    auto* const sums = static_cast<int32_t*>(scratch);
    auto* const bytes = reinterpret_cast<uint8_t*>(sums + Padded(NumSums()));
    loops.convert.quantize_uint8(a, bytes, count, of.scale, of.zero_point);
    const Direction& weights = directions_[direction];
    AMP_RETURN_IF_ERROR(weights.product->Multiply({.a = {bytes, count},
                                                   .a_zero = static_cast<int32_t>(of.zero_point),
                                                   .b_zeros = weights.zero_points,
                                                   .y = {sums, NumSums()},
                                                   .scratch = bytes + Aligned(count)}));
    std::vector<float> factors(n);
    for (size_t i = 0; i < n; ++i) factors[i] = of.scale * weights.scales[i];
    ParallelFor(static_cast<size_t>(sizes_.rows), n, [&](const Share& share) {
      for (size_t row = share.first * n; row < share.end * n; row += n) {
        loops.convert.widen_int32(sums + row, y + row, n);
        loops.rows.transform_scaled(y + row, y + row, n, {.centre = 0, .factor = 1, .shift = 0}, factors.data(),
                                    weights.bias.data());
        const auto inputs = static_cast<size_t>(sizes_.inputs);
        if (loops.train.all_finite(a + row / n * inputs, inputs)) continue;
        std::fill_n(y + row, n, std::numeric_limits<float>::quiet_NaN());
      }
    });
    return absl::OkStatus();
  }
  size_t scratch_bytes() const override {
    return Padded(NumSums()) * sizeof(int32_t) + Aligned(NumInputs()) +
           directions_[0].product->primitive->scratch_bytes();
  }
  absl::string_view implementation() const override { return directions_[0].product->primitive->implementation(); }

 private:
  struct Direction {
    std::shared_ptr<PreparedIntegers> product;
    std::vector<float> scales;
    std::vector<int32_t> zero_points;
    std::vector<float> bias;
  };

  static size_t Aligned(size_t bytes) {
    constexpr size_t kLine = 64;
    return (bytes + kLine - 1) / kLine * kLine;
  }
  size_t NumInputs() const { return static_cast<size_t>(sizes_.rows * sizes_.inputs); }
  size_t NumSums() const { return static_cast<size_t>(sizes_.rows * sizes_.outputs); }

  const LayerProductSizes sizes_;
  std::vector<Direction> directions_;
};

}  // namespace

MadeLayerProduct MakeFloatProduct(const LayerProductSizes& sizes, absl::Span<const FloatWeights> directions) {
  const auto padded_outputs = static_cast<int64_t>(Padded(static_cast<size_t>(sizes.outputs)));
  if (sizes.rows == 1 && sizes.inputs * padded_outputs <= kMostOfLoop) {
    return std::make_unique<LoopProduct>(sizes, directions);
  }
  auto product = std::make_unique<LibraryProduct>();
  AMP_RETURN_IF_ERROR(product->Make(sizes, directions));
  return product;
}

bool ReadsStoredWeights(const LayerProductSizes& sizes, DType dtype) {
  const auto bytes = static_cast<size_t>(sizes.inputs * sizes.outputs) * ElementBytes(dtype);
  const bool is_small = sizes.rows == 1 && sizes.inputs * sizes.outputs <= kMostOfLoop;
  return !is_small && sizes.inputs >= static_cast<int64_t>(kVectorGranule) &&
         sizes.rows <= MostFewRows(dtype, true, bytes);
}

MadeLayerProduct MakeStoredProduct(const LayerProductSizes& sizes, Tensor weights, std::vector<size_t> firsts,
                                   absl::Span<const absl::Span<const float>> biases) {
  return std::make_unique<StoredProduct>(sizes, std::move(weights), std::move(firsts), biases);
}

MadeLayerProduct MakeQuantizedProduct(const LayerProductSizes& sizes, std::vector<QuantizedWeights> directions) {
  auto product = std::make_unique<QuantizedProduct>(sizes);
  AMP_RETURN_IF_ERROR(product->Make(std::move(directions)));
  return product;
}

}  // namespace amp
