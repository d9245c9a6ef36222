// The cross-entropies of training and their gradients, functions of domain ai.amp, which their bodies in passes/train
// define: from logits [..., C] and labels [...], or targets [..., C]. A label that is no class gives NaN.
#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/kernel/doubles.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"
#include "runtime/reference/float_cells.h"

namespace amp {
namespace {

enum class Wanted { kLabels, kTargets };

// Rows of logits, and what they are to be: 1 at a label's place and 0 elsewhere, or the targets.
struct Rows {
  size_t count = 0, classes = 0;
  std::vector<double> logits, targets;

  absl::Span<double> Logits(size_t row) { return absl::MakeSpan(logits).subspan(row * classes, classes); }
  absl::Span<double> Targets(size_t row) { return absl::MakeSpan(targets).subspan(row * classes, classes); }
  double Divisor() const { return static_cast<double>(std::max<size_t>(count, 1)); }
};

void SetLabels(absl::Span<const double> labels, Rows& rows) {
  rows.targets.assign(rows.logits.size(), 0.0);
  for (size_t i = 0; i < rows.count; ++i) {
    const double label = std::trunc(labels[i]);
    const absl::Span<double> row = rows.Targets(i);
    if (label >= 0 && label < static_cast<double>(rows.classes)) {
      row[static_cast<size_t>(label)] = 1;
    } else {
      std::fill(row.begin(), row.end(), NAN);
    }
  }
}

template <Wanted kWanted>
absl::StatusOr<Rows> ReadRows(const KernelContext& context) {
  Dims dims = context.Input(0).dims();
  if (dims.empty()) return ModelError("expected logits with an axis of classes, found ", context.Input(0).TypeText());
  Rows rows;
  rows.classes = static_cast<size_t>(dims.back());
  if (kWanted == Wanted::kLabels) dims.pop_back();
  if (context.Input(1).dims() != dims) {
    return ModelError("input 1: expected shape ", DimsText(dims), ", found ", context.InputDatum(1).TypeText());
  }
  const size_t of_one = kWanted == Wanted::kLabels ? 1 : std::max<size_t>(rows.classes, 1);
  rows.count = static_cast<size_t>(context.Input(1).num_elements()) / of_one;
  AMP_ASSIGN_OR_RETURN(rows.logits, ReadDoubles(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(rows.targets, ReadDoubles(context.Input(1)));
  if (kWanted == Wanted::kLabels) SetLabels(std::vector<double>(rows.targets), rows);
  return rows;
}

// A row without classes is to be one of them and cannot.
template <Wanted kWanted>
absl::Status CrossEntropy(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Rows rows, ReadRows<kWanted>(context));
  double total = kWanted == Wanted::kLabels && rows.classes == 0 && rows.count > 0 ? NAN : 0;
  for (size_t i = 0; i < rows.count && rows.classes > 0; ++i) {
    ToLogSoftmax(rows.Logits(i));
    for (size_t c = 0; c < rows.classes; ++c) {
      if (rows.Targets(i)[c] != 0) total += rows.Targets(i)[c] * rows.Logits(i)[c];
    }
  }
  return WriteOutput(context, 0, DType::kFloat32, {}, {-total / rows.Divisor()});
}

template <Wanted kWanted>
absl::Status CrossEntropyGradient(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Rows rows, ReadRows<kWanted>(context));
  AMP_ASSIGN_OR_RETURN(const double g, context.InputNumber(2));
  for (size_t i = 0; i < rows.count && rows.classes > 0; ++i) {
    const absl::Span<double> row = rows.Logits(i), target = rows.Targets(i);
    const double sum = SumOfExponentials(row);
    double weight = 0;
    for (const double t : target) weight += t;
    for (size_t c = 0; c < row.size(); ++c) row[c] = (std::exp(row[c]) / sum * weight - target[c]) * g / rows.Divisor();
  }
  return WriteOutput(context, 0, DType::kFloat32, context.Input(0).dims(), rows.logits);
}

constexpr absl::string_view kDomain = "ai.amp";
constexpr KernelRow kRows[] = {
    {"SparseSoftmaxCrossEntropy", CrossEntropy<Wanted::kLabels>, kDomain},
    {"SparseSoftmaxCrossEntropyGradient", CrossEntropyGradient<Wanted::kLabels>, kDomain},
    {"SoftmaxCrossEntropy", CrossEntropy<Wanted::kTargets>, kDomain},
    {"SoftmaxCrossEntropyGradient", CrossEntropyGradient<Wanted::kTargets>, kDomain},
};

}  // namespace

absl::Span<const KernelRow> TrainingLossKernels() { return kRows; }

}  // namespace amp
