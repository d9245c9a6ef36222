// The cross-entropies of training and their gradients, functions of domain ai.amp, row by row of the logits in float32.
//
//   loss = ai.amp.SparseSoftmaxCrossEntropy (logits [..., C], labels [...])        the mean of -log_p[label]
//   d = ai.amp.SparseSoftmaxCrossEntropyGradient (logits, labels, g)               (p - one_hot) g / rows
//
// and the same with targets [..., C] in the place of labels. A label that is no class makes the loss, or its row of the
// gradient, NaN.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/kernel/doubles.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

Refusal WhyNotFloats(const KernelContext& context) {
  const Tensor& logits = context.Input(0);
  if (!IsLoopFloat(logits.dtype())) return kNoLoopFloat;
  return logits.rank() == 0 || logits.dims().back() == 0 ? "no classes" : nullptr;
}

Refusal WhyNotTargets(const KernelContext& context) {
  if (!IsLoopFloat(context.Input(1).dtype())) return kNoLoopFloat;
  return WhyNotFloats(context);
}

absl::Status CheckDims(const KernelContext& context, absl::Span<const int64_t> expected) {
  if (context.Input(1).dims() == expected) return absl::OkStatus();
  return ModelError("input 1: expected shape ", DimsText(expected), ", found ", context.InputDatum(1).TypeText());
}

// A row of logits, with the largest of them and the logarithm of the sum of e^(z - largest).
struct Row {
  absl::Span<const float> logits;
  float largest;
  double log_sum;

  double LogProbability(size_t i) const {
    return static_cast<double>(logits[i]) - static_cast<double>(largest) - log_sum;
  }
};

// The class that every row should have.
class Labels {
 public:
  static absl::StatusOr<Labels> Create(const KernelContext& context) {
    const Dims& dims = context.Input(0).dims();
    AMP_RETURN_IF_ERROR(CheckDims(context, absl::MakeConstSpan(dims).first(dims.size() - 1)));
    Labels labels;
    AMP_ASSIGN_OR_RETURN(labels.classes_, ReadDoubles(context.Input(1)));
    return labels;
  }

  double LogLikelihood(size_t row, const Row& of) {
    const std::optional<size_t> label = LabelOf(row, of.logits.size());
    return label.has_value() ? of.LogProbability(*label) : std::numeric_limits<double>::quiet_NaN();
  }
  void Subtract(size_t row, absl::Span<float> probabilities) {
    const std::optional<size_t> label = LabelOf(row, probabilities.size());
    if (label.has_value()) {
      probabilities[*label] -= 1;
    } else {
      std::fill(probabilities.begin(), probabilities.end(), std::numeric_limits<float>::quiet_NaN());
    }
  }

 private:
  // Numbers are cut to whole ones.
  std::optional<size_t> LabelOf(size_t row, size_t num_classes) const {
    const double label = std::trunc(classes_[row]);
    if (label >= 0 && label < static_cast<double>(num_classes)) return static_cast<size_t>(label);
    return std::nullopt;
  }

  std::vector<double> classes_;
};

// The probabilities, or any other weights, of classes that every row should have.
class Targets {
 public:
  static absl::StatusOr<Targets> Create(const KernelContext& context) {
    AMP_RETURN_IF_ERROR(CheckDims(context, context.Input(0).dims()));
    Targets targets;
    targets.weights_ = context.Input(1);
    targets.buffer_.resize(static_cast<size_t>(context.Input(0).dims().back()));
    return targets;
  }

  double LogLikelihood(size_t row, const Row& of) {
    const float* const weights = Read(row);
    double sum = 0;
    for (size_t i = 0; i < of.logits.size(); ++i) {
      if (weights[i] != 0) sum += static_cast<double>(weights[i]) * of.LogProbability(i);
    }
    return sum;
  }
  void Subtract(size_t row, absl::Span<float> probabilities) {
    const Loops& loops = BestLoops();
    const float* const weights = Read(row);
    float* const p = probabilities.data();
    const double sum = loops.rows.sum(weights, probabilities.size());
    loops.unary.multiply(p, p, probabilities.size(), {.a = static_cast<float>(sum)});
    loops.binary.subtract.of_both(p, weights, p, probabilities.size());
  }

 private:
  const float* Read(size_t row) {
    return FloatSource(BestLoops(), weights_).Read(row * buffer_.size(), buffer_.size(), buffer_.data());
  }

  Tensor weights_;
  std::vector<float> buffer_;
};

// The logits as rows.
class Logits {
 public:
  explicit Logits(const Tensor& tensor)
      : classes_(static_cast<size_t>(tensor.dims().back())),
        rows_(static_cast<size_t>(tensor.num_elements()) / classes_),
        source_(BestLoops(), tensor),
        buffer_(classes_) {}

  size_t rows() const { return rows_; }
  // Returns the divisor of sums over rows.
  double Divisor() const { return static_cast<double>(std::max<size_t>(rows_, 1)); }
  absl::Span<const float> Read(size_t row) {
    return {source_.Read(row * classes_, classes_, buffer_.data()), classes_};
  }

 private:
  size_t classes_, rows_;
  FloatSource source_;
  std::vector<float> buffer_;
};

template <typename Wanted>
absl::Status CrossEntropy(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(Wanted wanted, Wanted::Create(context));
  AMP_ASSIGN_OR_RETURN(Tensor * loss, context.MakeOutput(0, DType::kFloat32, {}));
  Logits logits(context.Input(0));
  double total = 0;
  for (size_t i = 0; i < logits.rows(); ++i) {
    const absl::Span<const float> row = logits.Read(i);
    const float largest = loops.rows.max(row.data(), row.size());
    const double sum = loops.rows.sum_of_powers(row.data(), row.size(), largest);
    total += wanted.LogLikelihood(i, {row, largest, std::log(sum)});
  }
  loss->mutable_elements<float>()[0] = static_cast<float>(-total / logits.Divisor());
  return absl::OkStatus();
}

template <typename Wanted>
absl::Status CrossEntropyGradient(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(Wanted wanted, Wanted::Create(context));
  AMP_ASSIGN_OR_RETURN(const double g, context.InputNumber(2));
  AMP_ASSIGN_OR_RETURN(Tensor * gradient, context.MakeOutput(0, DType::kFloat32, context.Input(0).dims()));
  Logits logits(context.Input(0));
  const auto share = static_cast<float>(g / logits.Divisor());
  float* out = gradient->mutable_elements<float>().data();
  for (size_t i = 0; i < logits.rows(); ++i) {
    const absl::Span<const float> row = logits.Read(i);
    const double sum = loops.rows.powers(row.data(), out, row.size(), loops.rows.max(row.data(), row.size()));
    loops.unary.multiply(out, out, row.size(), {.a = static_cast<float>(1 / sum)});
    wanted.Subtract(i, {out, row.size()});
    loops.unary.multiply(out, out, row.size(), {.a = share});
    out += row.size();
  }
  return absl::OkStatus();
}

constexpr KernelRow RowOf(absl::string_view name, KernelFunction function, RefusalFunction refusal) {
  return {.op_type = name, .function = function, .domain = "ai.amp", .refusal = refusal, .family = "loops"};
}

constexpr KernelRow kRows[] = {
    RowOf("SparseSoftmaxCrossEntropy", CrossEntropy<Labels>, WhyNotFloats),
    RowOf("SparseSoftmaxCrossEntropyGradient", CrossEntropyGradient<Labels>, WhyNotFloats),
    RowOf("SoftmaxCrossEntropy", CrossEntropy<Targets>, WhyNotTargets),
    RowOf("SoftmaxCrossEntropyGradient", CrossEntropyGradient<Targets>, WhyNotTargets),
};

}  // namespace

absl::Span<const KernelRow> LossLoopKernels() { return kRows; }

}  // namespace amp
