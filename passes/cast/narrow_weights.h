// Gives low readers of constants a low copy, made now instead of by a Cast at run time.
//
//   W:f32 ─┬─ MatMul(low)          W_float16 ─ MatMul          (only low readers: W itself becomes float16,
//          └─ Exp(high)            W:f32     ─ Exp              keeps its name, and the float32 original is gone)
//
// All low readers share one copy. Overridable defaults of graph inputs are no constants and are not seen here.
#ifndef AMP_PASSES_CAST_NARROW_WEIGHTS_H_
#define AMP_PASSES_CAST_NARROW_WEIGHTS_H_

#include <string>
#include <vector>

#include "ir/base/choices.h"
#include "ir/graph/constant.h"
#include "ir/graph/count_exponents.h"
#include "passes/cast/insert_casts.h"

namespace amp {

struct NarrowedWeight {
  std::string name;          // of the float32 constant
  ValueId value = kNone;     // it
  ValueId low_copy = kNone;  // where the original stays
  int64_t bytes_before = 0;
  int64_t bytes_after = 0;  // the low copy, plus the original where it stays
  bool original_stays = false;
  std::vector<std::string> original_readers;  // who it stays for, see ReaderNames
  bool saturated = false;                     // bounds and fills beyond the low range became its largest finite value
  double relative_error = 0;                  // infinite for what became infinite
  NarrowingStats stats;
  ExponentHistogram exponents;  // of the float32 elements; empty unless a report draws them
};

struct NarrowedWeights {
  std::vector<NarrowedWeight> weights;
  std::vector<InsertedCast> casts;  // WeightMode::kCast
};

// Edits the model by the plan's constants; `names` are its readers'. Errors: reading external data.
absl::StatusOr<NarrowedWeights> NarrowWeights(Model& model, const ReaderNames& names, const CastPlan& plan, DType low,
                                              WeightMode mode, ConstantSurvey& survey);

}  // namespace amp

#endif  // AMP_PASSES_CAST_NARROW_WEIGHTS_H_
