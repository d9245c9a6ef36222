// The steps of an epilogue on stretches of rows of a result that is float32 yet.
//
//   AMP_ASSIGN_OR_RETURN(const EpilogueLoops epilogue, EpilogueLoops::Make(context, steps, y_dims));
//   epilogue.Apply(row, first_column, y, count);
//
// A row lies along the result's last axis; rows are numbered in order.
#ifndef AMP_RUNTIME_LOOPS_EPILOGUE_LOOPS_H_
#define AMP_RUNTIME_LOOPS_EPILOGUE_LOOPS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"
#include "runtime/loops/float_parts.h"
#include "runtime/loops/raw/loops.h"

namespace amp {

class EpilogueLoops {
 public:
  // Why an operand does not fit the result.
  static Refusal WhyNot(const KernelContext& context, absl::Span<const EpilogueStep> steps, const Dims& y);

  // REQUIRES: WhyNot takes them; y has axes. The context outlives this.
  EpilogueLoops(const KernelContext& context, absl::Span<const EpilogueStep> steps, const Dims& y);

  // Changes elements [column, column + count) of a row, which are at `y`.
  void Apply(size_t row, size_t column, float* y, size_t count) const;

 private:
  struct Operand {
    FloatSource elements;
    std::vector<size_t> rows;  // where each row of the result begins in it; empty: it is one row for all
    bool is_repeated = false;  // one element meets all those of a row
  };
  struct Step {
    UnaryLoop map = nullptr;
    UnaryParameters parameters = {};
    const BinaryLoop* zip = nullptr;
    std::optional<Operand> operand = {};
  };

  static Step StepOf(const KernelContext& context, const EpilogueStep& step, const Dims& y);
  static void Zip(const Step& step, size_t row, size_t column, float* y, size_t count);

  std::vector<Step> steps_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_EPILOGUE_LOOPS_H_
