#include "runtime/forms/attention.h"

#include "ir/base/status.h"
#include "ir/graph/attributes.h"

namespace amp {

absl::StatusOr<AttentionForm> ReadAttention(const Node& node) {
  AttentionForm form = {.query_heads = GetInt(node, "q_num_heads", 0),
                        .key_heads = GetInt(node, "kv_num_heads", 0),
                        .scale = GetFloat(node, "scale"),
                        .soft_cap = GetFloat(node, "softcap", 0),
                        .is_causal = GetInt(node, "is_causal", 0) != 0,
                        .left = GetInt(node, "left_window_size", -1),
                        .right = GetInt(node, "right_window_size", -1)};
  if (form.left < -1 || form.right < -1) return ModelError("expected window sizes of at least -1");
  const int64_t mode = GetInt(node, "qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) return ModelError("qk_matmul_output_mode: expected 0 to 3, found ", mode);
  form.shown = static_cast<ShownScores>(mode);
  return form;
}

}  // namespace amp
