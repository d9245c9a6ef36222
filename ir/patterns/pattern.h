// A pattern: small operators that compute together what one operator, or a name in a book, stands for.
//
//   d = x - ReduceMean(x);  y = d / Sqrt(ReduceMean(d * d) + eps) * scale     LayerNorm(x, scale) axes -1 epsilon 1e-05
//
// A recogniser is asked at one node, its anchor, looks at a bounded number of nodes around that, and gives the whole
// pattern or a reason. What it gives is closed: nobody else reads what its nodes but the last one give, so that they
// may go. All of its nodes are in one graph.
#ifndef AMP_IR_PATTERNS_PATTERN_H_
#define AMP_IR_PATTERNS_PATTERN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/base/check.h"
#include "ir/base/reason.h"
#include "ir/graph/graph.h"

namespace amp {

enum class PatternKind {
  kLayerNorm,     // x, scale, shift over the last axes
  kRmsNorm,       // x, scale over the last axes
  kInstanceNorm,  // x, scale, shift over all axes behind the channels, scale and shift [C, 1, ...]
  kGroupNorm,     // the same over groups of channels as well
  kSoftmax,       // x
  kLogSoftmax,    // x
  kLogSumExp,     // x
  kGelu,          // x; by the error function
  kTanhGelu,      // x; by the hyperbolic tangent
  kSilu,          // x
  kHardSwish,     // x
  kAttention,     // queries, keys, values, then one for each mask
  kRotary,        // x, cosines, sines
};
absl::string_view PatternName(PatternKind kind);

// softmax(masks(cap(scale * q k^T))) v
struct AttentionForm {
  enum class Keys {
    kRows,         // [..., keys, size]: q k^T
    kColumns,      // [..., size, keys]: q k
    kBeforeHeads,  // [batch, keys, heads, size], for queries [batch, heads, queries, size]
  };
  struct Mask {
    enum class Kind { kAdded, kKeepsWhereTrue, kKeepsWhereFalse };
    Kind kind = Kind::kAdded;
    double fill = 0;  // what a score that is not kept becomes
  };
  double scale = 1;     // of the scores: what queries and keys are multiplied by is part of it
  double soft_cap = 0;  // scores become cap * Tanh(scores / cap); 0: they do not
  Keys keys = Keys::kRows;
  std::vector<Mask> masks = {};  // in the order in which they apply, each with its input
};

// Every pair (a, b) of x turns by an angle: (a cos - b sin, a sin + b cos).
struct RotaryForm {
  enum class Pairs {
    kHalves,       // elements i and i + size / 2 of the last axis
    kInterleaved,  // elements 2 i and 2 i + 1
    kLastAxis,     // x is [..., size / 2, 2], and so is the result
  };
  Pairs pairs = Pairs::kHalves;
  bool has_whole_angles = false;  // cosines and sines are as long as x, each twice; else there is one for every pair
  int64_t rotated = 0;            // so many elements of the last axis turn, the others stay; 0: all do
};

struct Pattern {
  PatternKind kind = PatternKind::kLayerNorm;
  std::vector<ValueId> inputs = {};             // as the kind lists them; kNone where one is absent
  std::vector<int64_t> axes = {};               // of the sums, from the end: -1 is the last
  std::optional<double> epsilon = {};           // under the root
  int64_t groups = 0;                           // kGroupNorm
  std::optional<AttentionForm> attention = {};  // kAttention
  std::optional<RotaryForm> rotary = {};        // kRotary
  std::vector<NodeId> nodes = {};  // in an order in which they can run; the first output of the last is the result

  NodeId last() const { return nodes.back(); }
};

// "LayerNorm(x, scale, shift) axes -1 epsilon 1e-05", "Attention(q, k, v, m) rows scale 0.125 masks added"
std::string PatternText(const Model& model, const Pattern& pattern);

// The result of a recogniser: a pattern, or why there is none.
class Recognised {
 public:
  Recognised(Pattern pattern) : result_(std::move(pattern)) {}  // NOLINT(google-explicit-constructor)
  Recognised(Reason reason) : result_(std::move(reason)) {      // NOLINT(google-explicit-constructor)
    AMP_CHECK(static_cast<bool>(std::get<Reason>(result_)));
  }
  Recognised(std::string sentence) : Recognised(Reason(std::move(sentence))) {}  // NOLINT(google-explicit-constructor)
  Recognised(const char* sentence) : Recognised(Reason(sentence)) {}             // NOLINT(google-explicit-constructor)

  bool found() const { return std::holds_alternative<Pattern>(result_); }
  const Pattern& pattern() const { return std::get<Pattern>(result_); }  // REQUIRES: found
  const Reason& reason() const { return std::get<Reason>(result_); }     // REQUIRES: not found

 private:
  std::variant<Pattern, Reason> result_;
};

}  // namespace amp

#endif  // AMP_IR_PATTERNS_PATTERN_H_
