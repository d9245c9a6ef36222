// The attributes of Attention of ai.onnx.
#ifndef AMP_RUNTIME_FORMS_ATTENTION_H_
#define AMP_RUNTIME_FORMS_ATTENTION_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"

namespace amp {

// The step after which output 3 shows the scores. The order is that of the attribute's values.
enum class ShownScores { kProducts, kCapped, kBiased, kProbabilities };

struct AttentionForm {
  int64_t query_heads = 0, key_heads = 0;  // of inputs of three axes; 0: not stated
  std::optional<float> scale;              // of the scores; nothing: 1 / sqrt(size of a head)
  float soft_cap = 0;                      // 0: none
  bool is_causal = false;
  int64_t left = -1, right = -1;  // how many keys ahead of its own position and behind it a query sees; -1: all
  ShownScores shown = ShownScores::kProducts;

  bool HasWindow() const { return left != -1 || right != -1; }
};

// Errors: kDataLoss, an attribute that the operator does not know the value of.
absl::StatusOr<AttentionForm> ReadAttention(const Node& node);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_ATTENTION_H_
