#include "runtime/plan/fuse.h"

#include <algorithm>

#include "runtime/cpu/fused_attention_kernel.h"
#include "runtime/loops/chain.h"
#include "runtime/loops/families.h"
#include "runtime/loops/fused_norms.h"
#include "runtime/plan/find_chains.h"
#include "runtime/plan/find_epilogues.h"
#include "runtime/plan/find_fused_patterns.h"
#include "runtime/plan/find_updates.h"
#include "runtime/plan/program.h"

namespace amp {
namespace {

MayHaveEpilogue EpilogueRule(const Model& model, const SessionOptions& options, const FusionRules& rules) {
  if (rules.takes_epilogue == nullptr) return [](NodeId) { return true; };
  return [&model, &options, &rules](NodeId id) {
    const std::vector<const KernelRow*> rows = FindNodeKernels(model, id, options.find_kernels);
    return std::any_of(rows.begin(), rows.end(), [&](const KernelRow* row) { return rules.takes_epilogue(*row); });
  };
}

bool TakesAllAttention(const FusedAttention&, absl::Span<const DType>) { return true; }

}  // namespace

FusionRules ProcessorFusionRules() {
  std::vector<const KernelRow*> attention;
  for (const KernelRow& row : FusedAttentionRows()) attention.push_back(&row);
  return {.attention = {.rows = std::move(attention), .may_take = TakesAllAttention},
          .find_norm = FindNormRow,
          .find_reduction = FindReductionRow,
          .chains = ChainRows()};
}

// Kinds with many nodes are found first: a product with an epilogue may be part of an attention, and an element-wise
// node may be part of any kind.
std::vector<Fusion> FindFusions(const Model& model, const IdVector<NodeId, bool>& are_run,
                                const SessionOptions& options, const FusionRules& rules) {
  FusedNodes taken(model.num_nodes(), false);
  std::vector<Fusion> fusions;
  if (options.fuse_training && rules.find_update != nullptr) FindUpdates(model, rules.find_update, taken, fusions);
  if (options.fuse_attention) FindAttention(model, rules.attention, taken, fusions);
  if (options.fuse_norms) FindNorms(model, rules.find_norm, taken, fusions);
  if (options.fuse_epilogues) FindEpilogues(model, EpilogueRule(model, options, rules), taken, fusions);
  if (options.fuse_norms) FindReductions(model, rules.find_reduction, taken, fusions);
  for (const NodeId id : model.AllNodes()) {
    if (!are_run[id]) taken[id] = true;
  }
  if (options.fuse_chains) FindChains(model, rules.chains, taken, fusions);
  return fusions;
}

}  // namespace amp
