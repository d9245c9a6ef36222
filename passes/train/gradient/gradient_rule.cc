#include "passes/train/gradient/gradient_rule.h"

#include <utility>

#include "absl/container/flat_hash_map.h"

namespace amp {
namespace {

using Index = absl::flat_hash_map<std::pair<absl::string_view, absl::string_view>, const GradientRule*>;

Index MakeIndex() {
  Index index;
  for (const auto& family :
       {ActivationRules(), ArithmeticRules(), ConvolutionRules(), EinsumRules(), IndexRules(), LossRules(),
        MatrixRules(), NormRules(), PoolRules(), ReductionRules(), ShapeRules(), SoftmaxRules()}) {
    for (const GradientRule& rule : family) index[{rule.domain, rule.op_type}] = &rule;
  }
  return index;
}

}  // namespace

const GradientRule* FindGradientRule(absl::string_view domain, absl::string_view op_type) {
  static const auto& index = *new Index(MakeIndex());
  const auto it = index.find({domain, op_type});
  return it == index.end() ? nullptr : it->second;
}

}  // namespace amp
