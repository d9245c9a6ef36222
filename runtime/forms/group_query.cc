#include "runtime/forms/group_query.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernel/no_kernel_error.h"
#include "runtime/kernel/tensor.h"

namespace amp {
namespace {

using Ports = GroupQueryPorts;

absl::Status CheckCovered(const KernelContext& context) {
  for (size_t port = Ports::kFirstNotCovered; port < context.num_inputs(); ++port) {
    if (context.HasInput(port))
      return NoKernelError(absl::StrCat("input ", port, ": expected none, found one: no kernel for it"));
  }
  if (GetInt(context.node(), "sliding_window_cache", 0) != 0) {
    return NoKernelError(absl::StrCat("sliding_window_cache: expected 0: no kernel for it"));
  }
  if (context.HasInput(Ports::kKey) != context.HasInput(Ports::kValue) ||
      context.HasInput(Ports::kPastKey) != context.HasInput(Ports::kPastValue)) {
    return ModelError("expected key and value, and past_key and past_value, both or none, found one");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GroupQueryForm> ReadGroupQuery(const KernelContext& context) {
  AMP_RETURN_IF_ERROR(CheckCovered(context));
  const Node& node = context.node();
  GroupQueryForm form;
  form.heads = GetInt(node, "num_heads", 0);
  form.key_heads = GetInt(node, "kv_num_heads", 0);
  if (form.heads < 1 || form.key_heads < 1 || form.heads % form.key_heads != 0 || form.heads > kMaxElements) {
    return ModelError("expected num_heads a multiple of kv_num_heads, found ", form.heads, " and ", form.key_heads);
  }
  const float scale = GetFloat(node, "scale", 0);
  if (scale != 0) form.scale = scale;
  form.soft_cap = GetFloat(node, "softcap", 0);
  form.window = GetInt(node, "local_window_size", -1);
  form.is_causal = GetInt(node, "causal", 1) != 0;
  form.has_sink = context.HasInput(Ports::kSink) || GetInt(node, "smooth_softmax", 0) != 0;
  form.is_rotated = GetInt(node, "do_rotary", 0) != 0;
  form.turns_neighbours = GetInt(node, "rotary_interleaved", 0) != 0;
  if (form.is_rotated && (!context.HasInput(Ports::kCosines) || !context.HasInput(Ports::kSines))) {
    return ModelError("do_rotary: expected cos_cache and sin_cache, found none");
  }
  return form;
}

SeenKeys SeenBy(const GroupQueryForm& form, const GroupQueryStep& step, int64_t sample, int64_t query) {
  const int64_t length = step.Length(sample);
  const int64_t seen_by_rule = form.is_causal ? step.Past(sample) + query + 1 : length;
  const int64_t end = std::min(seen_by_rule, length);
  return {.begin = form.window >= 0 ? std::clamp<int64_t>(seen_by_rule - form.window, 0, end) : 0, .end = end};
}

absl::StatusOr<GroupQueryStep> ReadGroupQueryStep(const KernelContext& context, int64_t batch, int64_t queries) {
  GroupQueryStep step;
  step.queries = queries;
  AMP_ASSIGN_OR_RETURN(step.total, context.InputInt(Ports::kTotal));
  AMP_ASSIGN_OR_RETURN(step.lengths, context.InputInts(Ports::kLengths));
  if (step.total < step.queries) {
    return ModelError("total_sequence_length: expected at least ", step.queries, ", found ", step.total);
  }
  step.is_first = step.queries == step.total;
  if (static_cast<int64_t>(step.lengths.size()) != batch) {
    return ModelError("seqlens_k: expected ", batch, " numbers, found ", step.lengths.size());
  }
  if (step.queries > 1 && !step.is_first && batch != 1) {
    return ModelError("expected a batch of 1 where several tokens follow others, found ", batch);
  }
  const Tensor &keys = context.Input(Ports::kPastKey), &values = context.Input(Ports::kPastValue);
  const int64_t past = keys.rank() == 4 ? keys.dim(2) : 0;
  if (context.HasInput(Ports::kPastValue) && (values.rank() == 4 ? values.dim(2) : 0) != past) {
    return ModelError("expected past_key and past_value of one length, found ", keys.TypeText(), " and ",
                      values.TypeText());
  }
  for (int64_t& length : step.lengths) {
    const int64_t found = length;
    length = found < step.total ? found + 1 : 0;
    const int64_t earlier = step.is_first ? 0 : length - step.queries;
    if (length < 1 || earlier < 0 || earlier > past) {
      return ModelError("seqlens_k: expected lengths that fit ", step.queries, " new tokens, a past of ", past, " and ",
                        step.total, " in all, found ", found);
    }
  }
  return step;
}

absl::StatusOr<std::vector<int64_t>> ReadGroupQueryPositions(const KernelContext& context, const GroupQueryStep& step) {
  const auto batch = static_cast<int64_t>(step.lengths.size());
  std::vector<int64_t> given, positions;
  if (context.HasInput(Ports::kPositions)) {
    AMP_ASSIGN_OR_RETURN(given, context.InputInts(Ports::kPositions));
    const Tensor& input = context.Input(Ports::kPositions);
    const bool fits = step.is_first ? !given.empty() : input.dims() == Dims{batch, step.queries};
    if (!fits) return ModelError("position_ids: expected [B, S], found ", input.TypeText());
    if (!step.is_first) return given;
  }
  for (int64_t sample = 0; sample < batch; ++sample) {
    for (int64_t place = 0; place < step.queries; ++place) {
      const int64_t first = given.empty() ? step.Past(sample) : given[0];
      positions.push_back(first + place);
    }
  }
  return positions;
}

}  // namespace amp
