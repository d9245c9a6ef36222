// NonMaxSuppression: of boxes that overlap much, the one with the best score stays.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "runtime/kernel/doubles.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

struct Box {
  double top, left, bottom, right;

  double Area() const { return (bottom - top) * (right - left); }
};

// `corners`: [y1, x1, y2, x2], any two opposite corners; else [x center, y center, width, height].
Box MakeBox(absl::Span<const double> numbers, bool corners) {
  if (corners) {
    const auto [top, bottom] = std::minmax(numbers[0], numbers[2]);
    const auto [left, right] = std::minmax(numbers[1], numbers[3]);
    return {top, left, bottom, right};
  }
  const double half_width = numbers[2] / 2, half_height = numbers[3] / 2;
  return {numbers[1] - half_height, numbers[0] - half_width, numbers[1] + half_height, numbers[0] + half_width};
}

// Rounded to float32, the type of the boxes: what is as much as the threshold is to be kept.
float IntersectionOverUnion(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0 && width > 0 && a.Area() > 0 && b.Area() > 0)) return 0;
  const double common = height * width;
  return static_cast<float>(common / (a.Area() + b.Area() - common));
}

struct Limits {
  int64_t boxes_per_class = 0;
  double overlap = 0;
  std::optional<double> score;
};

absl::StatusOr<Limits> ReadLimits(const KernelContext& context) {
  constexpr size_t kBoxesPerClass = 2, kOverlap = 3, kScore = 4;
  Limits limits;
  if (context.Input(kBoxesPerClass).num_elements() > 0) {
    AMP_ASSIGN_OR_RETURN(limits.boxes_per_class, context.InputInt(kBoxesPerClass));
  }
  if (context.HasInput(kOverlap)) {
    AMP_ASSIGN_OR_RETURN(limits.overlap, context.InputNumber(kOverlap));
  }
  if (context.HasInput(kScore)) {
    AMP_ASSIGN_OR_RETURN(limits.score, context.InputNumber(kScore));
  }
  return limits;
}

// Boxes whose score is above the limit, best first; of equal ones the first. A score that is no number is the worst.
std::vector<size_t> Candidates(absl::Span<const double> scores, const Limits& limits) {
  std::vector<size_t> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!limits.score || scores[i] > *limits.score) order.push_back(i);
  }
  const auto key = [&](size_t i) {
    return std::isnan(scores[i]) ? -std::numeric_limits<double>::infinity() : scores[i];
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) > key(b); });
  return order;
}

// The boxes of one class that stay.
std::vector<size_t> Select(absl::Span<const Box> boxes, absl::Span<const double> scores, const Limits& limits) {
  std::vector<size_t> selected;
  for (const size_t candidate : Candidates(scores, limits)) {
    if (static_cast<int64_t>(selected.size()) >= limits.boxes_per_class) break;
    const bool is_covered = std::any_of(selected.begin(), selected.end(), [&](size_t other) {
      return static_cast<double>(IntersectionOverUnion(boxes[candidate], boxes[other])) > limits.overlap;
    });
    if (!is_covered) selected.push_back(candidate);
  }
  return selected;
}

absl::Status CheckShapes(const Tensor& boxes, const Tensor& scores) {
  const bool fits = boxes.rank() == 3 && scores.rank() == 3 && boxes.dim(2) == 4 && boxes.dim(0) == scores.dim(0) &&
                    boxes.dim(1) == scores.dim(2);
  if (fits) return absl::OkStatus();
  return ModelError("expected boxes [batch,n,4] and scores [batch,classes,n], found ", boxes.TypeText(), " and ",
                    scores.TypeText());
}

absl::Status NonMaxSuppression(KernelContext& context) {
  const Tensor &boxes = context.Input(0), &scores = context.Input(1);
  AMP_RETURN_IF_ERROR(CheckShapes(boxes, scores));
  AMP_ASSIGN_OR_RETURN(const Limits limits, ReadLimits(context));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> numbers, ReadDoubles(boxes));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> all_scores, ReadDoubles(scores));
  const bool corners = GetInt(context.node(), "center_point_box", 0) == 0;
  const auto count = static_cast<size_t>(boxes.dim(1)), classes = static_cast<size_t>(scores.dim(1));
  std::vector<int64_t> rows;
  for (size_t batch = 0; !all_scores.empty() && batch < static_cast<size_t>(boxes.dim(0)); ++batch) {
    std::vector<Box> of_batch;
    for (size_t i = 0; i < count; ++i) {
      of_batch.push_back(MakeBox(absl::MakeSpan(numbers).subspan((batch * count + i) * 4, 4), corners));
    }
    for (size_t c = 0; c < classes; ++c) {
      const auto of_class = absl::MakeSpan(all_scores).subspan((batch * classes + c) * count, count);
      for (const size_t box : Select(of_batch, of_class, limits)) {
        for (const size_t index : {batch, c, box}) rows.push_back(static_cast<int64_t>(index));
      }
    }
  }
  AMP_ASSIGN_OR_RETURN(Tensor * selected,
                       context.MakeOutput(0, DType::kInt64, {static_cast<int64_t>(rows.size() / 3), 3}));
  std::copy(rows.begin(), rows.end(), selected->mutable_elements<int64_t>().begin());
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"NonMaxSuppression", NonMaxSuppression},
};

}  // namespace

absl::Span<const KernelRow> SuppressionKernels() { return kRows; }

}  // namespace amp
