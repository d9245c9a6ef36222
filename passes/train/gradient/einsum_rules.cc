// Einsum: the gradient of an operand is an Einsum of the result's gradient and the other operands.
//
//   y = Einsum "bik,bkj->bij" (a, c):     da = Einsum "bij,bkj->bik" (g, c)     dc = Einsum "bij,bik->bkj" (g, a)
//
// An index that is in no other operand and not in the result was summed over: ones stand for it.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "passes/train/gradient/gradient_rule.h"

namespace amp {
namespace {

constexpr size_t kLongestEquation = 4096;

struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

// Without "->" the result has every index that is there once, in alphabetical order.
Equation Parse(absl::string_view text) {
  const std::string plain = absl::StrReplaceAll(text, {{" ", ""}});
  const std::vector<std::string> sides = absl::StrSplit(plain, "->");
  Equation equation{absl::StrSplit(sides[0], ','), sides.size() > 1 ? sides[1] : ""};
  if (sides.size() > 1) return equation;
  std::map<char, int> counts;
  for (const char c : sides[0]) counts[c] += c != ',';
  for (const auto& [index, count] : counts) {
    if (count == 1) equation.result += index;
  }
  return equation;
}

bool HasRepeated(const std::string& indices) {
  return std::any_of(indices.begin(), indices.end(),
                     [&](char c) { return std::count(indices.begin(), indices.end(), c) > 1; });
}

Term OfOperand(Backward& node, const Equation& equation, size_t port) {
  TermWriter& write = node.write();
  std::vector<std::string> indices = {equation.result};
  std::vector<Term> operands = {node.Gradient()};
  for (size_t other = 0; other < equation.operands.size(); ++other) {
    if (other == port) continue;
    indices.push_back(equation.operands[other]);
    operands.push_back(node.Input(other));
  }
  const std::string known = absl::StrJoin(indices, "");
  const std::string& wanted = equation.operands[port];
  for (size_t axis = 0; axis < wanted.size(); ++axis) {
    if (known.find(wanted[axis]) != std::string::npos) continue;
    indices.emplace_back(1, wanted[axis]);
    const Term dim = write.DimOf(node.InputId(port), static_cast<int64_t>(axis));
    operands.push_back(Expand(write.Number(1, node.Gradient().dtype()), dim));
  }
  return write.Op("Einsum", operands, {{"equation", absl::StrCat(absl::StrJoin(indices, ","), "->", wanted)}});
}

absl::Status Einsum(Backward& node) {
  const std::string text = node.String("equation", "");
  if (text.size() > kLongestEquation) return Backward::Refuse("its equation is too long");
  const Equation equation = Parse(text);
  const bool is_plain = text.find('.') == std::string::npos && equation.operands.size() == node.num_inputs() &&
                        !HasRepeated(equation.result) &&
                        std::none_of(equation.operands.begin(), equation.operands.end(), HasRepeated);
  if (!is_plain) return Backward::Refuse("its equation has an ellipsis, or an index twice in one operand");
  for (size_t port = 0; port < node.num_inputs(); ++port) {
    if (node.Wants(port)) node.Give(port, OfOperand(node, equation, port));
  }
  return absl::OkStatus();
}

constexpr GradientRule kRules[] = {{"Einsum", Einsum}};

}  // namespace

absl::Span<const GradientRule> EinsumRules() { return kRules; }

}  // namespace amp
