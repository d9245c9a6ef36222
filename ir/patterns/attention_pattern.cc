#include "ir/patterns/attention_pattern.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "ir/graph/attributes.h"
#include "ir/graph/shape.h"
#include "ir/operators/operator_facts.h"
#include "ir/patterns/pattern_search.h"
#include "ir/patterns/softmax_pattern.h"

namespace amp {
namespace {

using Keys = AttentionForm::Keys;
using Mask = AttentionForm::Mask;

constexpr int kMostMasks = 4;
constexpr int kMostBetween = 4;         // casts, Dropout and the like between softmax and values
constexpr double kHighestFill = -1e4;   // of scores that a mask leaves out
constexpr int kLastAxisIsDefault = 13;  // of Softmax; 1 before
constexpr int kFirstDropoutOfInference = 7;

bool IsFloat(DType type) {
  return type == DType::kFloat32 || type == DType::kFloat16 || type == DType::kBfloat16 || type == DType::kFloat64;
}

bool IsReadOnce(const Model& model, ValueId value) {
  return model.value(value).uses.size() == 1 && !model.value(value).uses[0].IsGraphOutput();
}

// Past casts from float to float, which join.
ValueId SkipCasts(ValueId value, PatternSearch& search) {
  for (int step = 0; step < kMostBetween; ++step) {
    const NodeId cast = search.Peek(value, "Cast");
    if (cast == kNone) break;
    const Model& model = search.model();
    const ValueId before = search.node(cast).Input(0);
    if (!IsFloat(model.value(before).dtype) || !IsFloat(model.value(search.node(cast).Output(0)).dtype)) break;
    search.Take(value, "Cast");
    value = before;
  }
  return value;
}

// ----- products

struct Product {
  ValueId left = kNone, right = kNone;
  Keys right_form = Keys::kColumns;  // as keys are to queries
  double scale = 1;
};

// "b h i d, b h j d -> b h i j": rows; "..id,..dj->..ij": columns.
std::optional<Keys> FormOfEquation(std::string equation) {
  equation = absl::StrReplaceAll(equation, {{" ", ""}, {"...", "."}});
  const std::vector<std::string> sides = absl::StrSplit(equation, "->");
  const std::vector<std::string> operands = absl::StrSplit(sides[0], ',');
  if (sides.size() != 2 || operands.size() != 2) return std::nullopt;
  const std::string &left = operands[0], &right = operands[1], &result = sides[1];
  if (left.size() < 2 || right.size() != left.size() || result.size() != left.size()) return std::nullopt;
  const size_t batch = left.size() - 2;
  const std::string prefix = left.substr(0, batch), last = left.substr(batch), other = right.substr(batch);
  const bool is_batched = right.substr(0, batch) == prefix && result.substr(0, batch) == prefix;
  const char row = last[0], inner = last[1], column = result.back();
  const std::string all = prefix + row + inner + column;
  const bool are_distinct =
      std::all_of(all.begin(), all.end(), [&](char c) { return std::count(all.begin(), all.end(), c) == 1; });
  if (!is_batched || !are_distinct || result[batch] != row || row == '.' || inner == '.') return std::nullopt;
  if (other == std::string{column, inner}) return Keys::kRows;
  return other == std::string{inner, column} ? std::optional(Keys::kColumns) : std::nullopt;
}

std::optional<Product> ProductOf(NodeId id, const PatternSearch& search) {
  if (id == kNone) return std::nullopt;
  const Node& node = search.node(id);
  if (search.Is(id, "MatMul")) return Product{node.Input(0), node.Input(1)};
  if (search.Is(id, "Gemm")) {
    if (GetInt(node, "transA", 0) != 0 || node.Input(2) != kNone) return std::nullopt;
    const Keys form = GetInt(node, "transB", 0) != 0 ? Keys::kRows : Keys::kColumns;
    return Product{node.Input(0), node.Input(1), form, GetFloat(node, "alpha", 1)};
  }
  if (!search.Is(id, "Einsum") || node.inputs.size() != 2) return std::nullopt;
  const auto form = FormOfEquation(GetString(node, "equation", ""));
  if (!form) return std::nullopt;
  return Product{node.Input(0), node.Input(1), *form};
}

std::optional<Product> TakeProduct(ValueId value, PatternSearch& search) {
  for (const absl::string_view op_type : {"MatMul", "Gemm", "Einsum"}) {
    const NodeId id = search.Peek(value, op_type);
    auto product = ProductOf(id, search);
    if (!product) continue;
    search.Take(value, op_type);
    return product;
  }
  return std::nullopt;
}

// ----- scores, from the softmax back

struct Factor {
  ValueId of = kNone;
  double factor = 1;
};
std::optional<Factor> PeekFactor(ValueId value, const PatternSearch& search) {
  if (const NodeId product = search.Peek(value, "Mul"); product != kNone) {
    const auto split = search.SplitScalar(product);
    if (!split || !std::isfinite(split->scalar) || split->scalar == 0) return std::nullopt;
    return Factor{split->variable, split->scalar};
  }
  const NodeId division = search.Peek(value, "Div");
  const auto divisor = division == kNone ? std::nullopt : search.Scalar(search.node(division).Input(1));
  if (!divisor || !std::isfinite(*divisor) || *divisor == 0) return std::nullopt;
  return Factor{search.node(division).Input(0), 1 / *divisor};
}

std::optional<Factor> TakeFactor(ValueId value, PatternSearch& search) {
  const auto factor = PeekFactor(value, search);
  if (factor && search.Take(value, "Mul") == kNone) search.Take(value, "Div");
  return factor;
}

struct Scores {
  Product product;
  AttentionForm form;
  std::vector<ValueId> masks;
};
struct FoundScores {
  std::optional<Scores> scores;
  Reason why = Reason::None();
};

// c of c * Tanh(s / c), and s.
std::optional<Factor> TakeSoftCap(ValueId value, PatternSearch& search) {
  const auto cap = PeekFactor(value, search);
  const NodeId tanh = cap ? search.Peek(cap->of, "Tanh") : kNone;
  const auto inner = tanh == kNone ? std::nullopt : PeekFactor(search.node(tanh).Input(0), search);
  if (!inner || std::abs(inner->factor * cap->factor - 1) > 1e-5) return std::nullopt;
  TakeFactor(value, search);
  search.Take(cap->of, "Tanh");
  TakeFactor(search.node(tanh).Input(0), search);
  return Factor{inner->of, cap->factor};
}

FoundScores TakeBareScores(ValueId value, PatternSearch& search) {
  Scores scores;
  value = SkipCasts(value, search);
  if (const auto capped = TakeSoftCap(value, search)) {
    scores.form.soft_cap = capped->factor;
    value = SkipCasts(capped->of, search);
  }
  for (int step = 0; step < 2; ++step) {
    const auto scaled = TakeFactor(value, search);
    if (!scaled) break;
    scores.form.scale *= scaled->factor;
    value = SkipCasts(scaled->of, search);
  }
  const auto product = TakeProduct(value, search);
  if (!product) return {{}, "what the softmax takes is no product of queries and keys"};
  scores.product = *product;
  scores.form.scale *= product->scale;
  return {std::move(scores)};
}

struct FoundMask {
  Mask mask;
  ValueId input = kNone, scores = kNone;
};

// Where(keep, scores, fill), or with the last two exchanged.
std::optional<FoundMask> PeekChoice(NodeId where, const PatternSearch& search) {
  const Node& node = search.node(where);
  for (const size_t port : {size_t{2}, size_t{1}}) {
    const auto fill = search.Scalar(node.Input(port));
    if (!fill || !(*fill <= kHighestFill)) continue;
    const auto kind = port == 2 ? Mask::Kind::kKeepsWhereTrue : Mask::Kind::kKeepsWhereFalse;
    return FoundMask{{kind, *fill}, node.Input(0), node.Input(3 - port)};
  }
  return std::nullopt;
}

FoundScores TakeScores(ValueId value, int most_masks, PatternSearch& search);

// The search of the attempt that finds scores becomes `search`.
FoundScores TakeMasked(const FoundMask& mask, int most_masks, PatternSearch& search) {
  PatternSearch attempt = search;
  FoundScores found = TakeScores(mask.scores, most_masks - 1, attempt);
  if (!found.scores) return found;
  search = std::move(attempt);
  found.scores->form.masks.push_back(mask.mask);
  found.scores->masks.push_back(mask.input);
  return found;
}

FoundScores TakeScores(ValueId value, int most_masks, PatternSearch& search) {
  value = SkipCasts(value, search);
  if (most_masks == 0) return TakeBareScores(value, search);
  if (const NodeId where = search.Take(value, "Where"); where != kNone) {
    const auto mask = PeekChoice(where, search);
    if (!mask) return {{}, "what stands for the scores that are left out is not far below them"};
    return TakeMasked(*mask, most_masks, search);
  }
  const NodeId sum = search.Take(value, "Add");
  if (sum == kNone) return TakeBareScores(value, search);
  const Node& node = search.node(sum);
  FoundScores found;
  for (const size_t port : {size_t{0}, size_t{1}}) {
    found = TakeMasked({{}, node.Input(1 - port), node.Input(port)}, most_masks, search);
    if (found.scores) break;
  }
  return found;
}

// ----- around

bool IsOverLastAxis(NodeId softmax, const PatternSearch& search) {
  const Node& node = search.node(softmax);
  const int64_t axis = GetInt(node, "axis", search.model().opset("") >= kLastAxisIsDefault ? -1 : 1);
  const auto shape = ShapeOf(search.model(), node.Input(0));
  return axis == -1 || (shape.has_value() && axis == static_cast<int64_t>(shape->size()) - 1);
}

// The input of a Softmax, or of the operators that it is written out in.
struct FoundSoftmax {
  ValueId of = kNone;
  Reason why = Reason::None();
};
FoundSoftmax TakeSoftmax(ValueId value, PatternSearch& search) {
  if (const NodeId softmax = search.Take(value, "Softmax"); softmax != kNone) {
    if (!IsOverLastAxis(softmax, search)) return {kNone, "its softmax is not over the last axis"};
    return {search.node(softmax).Input(0)};
  }
  const NodeId division = search.Peek(value, "Div");
  if (division == kNone) return {kNone, "what multiplies the values is no softmax"};
  const Recognised by_hand = RecogniseSoftmax(search.model(), division);
  if (!by_hand.found()) return {kNone, "what multiplies the values is no softmax"};
  if (by_hand.pattern().axes != std::vector<int64_t>{-1}) return {kNone, "its softmax is not over the last axis"};
  search.Take(value, "Div");
  for (const NodeId id : by_hand.pattern().nodes) search.Join(id);
  return {by_hand.pattern().inputs[0]};
}

// Where(IsNaN(p), 0, p): p.
ValueId PeekWithoutNaNs(NodeId where, const PatternSearch& search) {
  const Node& node = search.node(where);
  const NodeId test = search.Peek(node.Input(0), "IsNaN");
  const bool fits =
      test != kNone && search.IsScalar(node.Input(1), 0) && search.AreSame(search.node(test).Input(0), node.Input(2));
  return fits ? node.Input(2) : kNone;
}

// Dropout as it is after training.
bool DropsNothing(NodeId dropout, const PatternSearch& search) {
  const Node& node = search.node(dropout);
  if (search.model().opset("") < kFirstDropoutOfInference) return GetInt(node, "is_test", 0) != 0;
  const bool is_alone = node.outputs.size() < 2 || node.Output(1) == kNone;
  return is_alone && (node.Input(2) == kNone || search.IsScalar(node.Input(2), 0));
}

// Back from the product with the values to the softmax.
ValueId SkipBetween(ValueId value, PatternSearch& search) {
  for (int step = 0; step < kMostBetween; ++step) {
    value = SkipCasts(value, search);
    const NodeId dropout = search.Peek(value, "Dropout"), where = search.Peek(value, "Where");
    if (dropout != kNone && DropsNothing(dropout, search)) {
      search.Take(value, "Dropout");
      value = search.node(dropout).Input(0);
    } else if (const ValueId chosen = where == kNone ? kNone : PeekWithoutNaNs(where, search); chosen != kNone) {
      search.Take(value, "Where");
      search.Take(search.node(where).Input(0), "IsNaN");
      value = chosen;
    } else {
      break;
    }
  }
  return value;
}

// Replaces the product's operand by its value before a factor, which belongs to the scale.
void TakeFactorOf(ValueId& operand, double& scale, PatternSearch& search) {
  if (!IsReadOnce(search.model(), operand)) return;
  const auto factor = TakeFactor(operand, search);
  if (!factor) return;
  operand = factor->of;
  scale *= factor->factor;
}

// The form that keys have ahead of a transposition; nothing where it is another one.
std::optional<Keys> FormAhead(Keys form, const Model& model, const Node& transpose) {
  auto order = GetInts(transpose, "perm");
  if (!order) {
    const auto shape = ShapeOf(model, transpose.Input(0));
    if (shape.has_value() && shape->size() == 2) order = {1, 0};
  }
  if (!order || order->size() < 2) return std::nullopt;
  const std::vector<int64_t> before_heads = {0, 2, 3, 1};
  if (form == Keys::kColumns && *order == before_heads) return Keys::kBeforeHeads;
  std::swap(order->back(), order->end()[-2]);
  if (!std::is_sorted(order->begin(), order->end())) return std::nullopt;
  return form == Keys::kColumns ? Keys::kRows : Keys::kColumns;
}

void TakeTransposition(ValueId& keys, Keys& form, PatternSearch& search) {
  const NodeId transpose = search.Peek(keys, "Transpose");
  if (transpose == kNone || form != Keys::kColumns || !IsReadOnce(search.model(), keys)) return;
  const auto ahead = FormAhead(form, search.model(), search.node(transpose));
  if (!ahead) return;
  search.Take(keys, "Transpose");
  keys = search.node(transpose).Input(0);
  form = *ahead;
}

}  // namespace

Recognised RecogniseAttention(const Model& model, NodeId anchor) {
  PatternSearch search(model);
  const auto with_values = ProductOf(anchor, search);
  if (!with_values) return "no product of two matrices";
  if (with_values->right_form != Keys::kColumns || with_values->scale != 1)
    return "the values are transposed or scaled";
  search.Join(anchor);
  const FoundSoftmax softmax = TakeSoftmax(SkipBetween(with_values->left, search), search);
  if (softmax.why) return softmax.why;
  FoundScores found = TakeScores(softmax.of, kMostMasks, search);
  if (!found.scores) return found.why;
  AttentionForm form = std::move(found.scores->form);
  ValueId queries = found.scores->product.left, keys = found.scores->product.right;
  form.keys = found.scores->product.right_form;
  TakeFactorOf(queries, form.scale, search);
  TakeFactorOf(keys, form.scale, search);
  TakeTransposition(keys, form.keys, search);
  TakeFactorOf(keys, form.scale, search);

  Pattern pattern{.kind = PatternKind::kAttention, .inputs = {queries, keys, with_values->right}};
  pattern.inputs.insert(pattern.inputs.end(), found.scores->masks.begin(), found.scores->masks.end());
  pattern.attention = std::move(form);
  return search.Complete(std::move(pattern), anchor);
}

}  // namespace amp
