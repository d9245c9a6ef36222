// GroupQueryAttention of com.microsoft: its attributes, and the tokens of a step.
//
//   past [B, Nkv, P, E]; seqlens_k[b] + 1 = T(b) tokens so far, S of them new; total_sequence_length = the largest T
//
// A first prompt (S = total) ignores the past. Query s attends to the first T(b) - S + s + 1 keys, or the last
// local_window_size of those, as far as T(b) goes. Soft capping comes before the attention bias. Not covered: caches of
// 8 bits, window-sized caches, norms of q and k, keys that are all in the past.
#ifndef AMP_RUNTIME_FORMS_GROUP_QUERY_H_
#define AMP_RUNTIME_FORMS_GROUP_QUERY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"

namespace amp {

struct GroupQueryPorts {
  enum : size_t {
    kQuery,
    kKey,
    kValue,
    kPastKey,
    kPastValue,
    kLengths,
    kTotal,
    kCosines,
    kSines,
    kPositions,
    kBias,
    kSink,
    kFirstNotCovered,
  };
};

struct GroupQueryForm {
  int64_t heads = 1, key_heads = 1;  // of q; of k and v
  std::optional<float> scale;        // of the scores; nothing: 1 / sqrt(size of a head)
  float soft_cap = 0;                // 0: none
  int64_t window = -1;               // how many keys a query sees; -1: all
  bool is_causal = true;
  bool has_sink = false;  // one more score in each row, which gets no key: of its head, or 0
  bool is_rotated = false, turns_neighbours = false;
};

// Errors: kUnimplemented for what is not covered; kDataLoss for numbers of heads that do not fit.
absl::StatusOr<GroupQueryForm> ReadGroupQuery(const KernelContext& context);

// The tokens of a step. REQUIRES of functions: a sample of the batch.
struct GroupQueryStep {
  int64_t queries = 0, total = 0;
  bool is_first = false;
  std::vector<int64_t> lengths;  // T(b)

  int64_t Length(int64_t sample) const { return lengths[static_cast<size_t>(sample)]; }
  int64_t Past(int64_t sample) const { return is_first ? 0 : Length(sample) - queries; }
};

// The keys [begin, end) that a query sees.
struct SeenKeys {
  int64_t begin = 0, end = 0;
};
SeenKeys SeenBy(const GroupQueryForm& form, const GroupQueryStep& step, int64_t sample, int64_t query);

// Errors: lengths that do not fit.
absl::StatusOr<GroupQueryStep> ReadGroupQueryStep(const KernelContext& context, int64_t batch, int64_t queries);
// Places of tokens, [B, S]. Of a first prompt the given ones say where the first token is. Errors: some do not fit.
absl::StatusOr<std::vector<int64_t>> ReadGroupQueryPositions(const KernelContext& context, const GroupQueryStep& step);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_GROUP_QUERY_H_
