// The losses of all steps of a run in little memory, and a drawing of them.
#ifndef AMP_TOOLS_TRAIN_LOSS_CURVE_H_
#define AMP_TOOLS_TRAIN_LOSS_CURVE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace amp {

// Means of as many steps each; when there are too many, each two become one.
struct LossCurve {
  std::vector<double> means;
  int64_t steps_per_mean = 1;
  double open_sum = 0;  // of steps that make no whole mean yet
  int64_t open_steps = 0;

  void Add(double loss);
  bool operator==(const LossCurve&) const = default;
};

// Text of a few lines, ASCII; empty below two points. Losses that are not finite leave gaps.
std::string DrawCurve(const LossCurve& curve);

}  // namespace amp

#endif  // AMP_TOOLS_TRAIN_LOSS_CURVE_H_
