#include "runtime/plan/fuse.h"

#include <algorithm>

#include "runtime/cpu/attention_units.h"
#include "runtime/device/chain_kernels.h"
#include "runtime/device/families.h"
#include "runtime/device/library_attention_kernels.h"
#include "runtime/device/norm_unit_kernels.h"
#include "runtime/loops/chain.h"
#include "runtime/loops/families.h"
#include "runtime/loops/norm_units.h"
#include "runtime/plan/find_chains.h"
#include "runtime/plan/find_epilogues.h"
#include "runtime/plan/find_units.h"
#include "runtime/plan/find_updates.h"
#include "runtime/plan/program.h"

namespace amp {
namespace {

bool TakesEpilogueOnDevice(const KernelRow* row) { return row->runs_on_device && row->takes_epilogue; }

// Where there is a device, its kernels alone compute nodes together: those of the processor would take them from it.
MayHaveEpilogue EpilogueRule(const Model& model, const SessionOptions& options) {
  if (options.device == nullptr) return [](NodeId) { return true; };
  return [&model, &options](NodeId id) {
    const std::vector<const KernelRow*> rows = FindNodeKernels(model, id, options.find_kernels);
    return std::any_of(rows.begin(), rows.end(), TakesEpilogueOnDevice);
  };
}

bool TakesAllAttention(const AttentionUnit&, absl::Span<const DType>) { return true; }

AttentionRule RuleOfAttention(bool is_for_device) {
  if (is_for_device) return {.row = AttentionUnitDeviceRow(), .may_take = MayAttendOnDevice};
  return {.row = AttentionUnitRow(), .may_take = TakesAllAttention};
}

}  // namespace

// The most nodes first: a product with an epilogue may be part of an attention, an element-wise node of anything.
std::vector<Fusion> FindFusions(const Model& model, const IdVector<NodeId, bool>& are_run,
                                const SessionOptions& options) {
  FusedNodes taken(model.num_nodes(), false);
  std::vector<Fusion> fusions;
  const bool is_for_device = options.device != nullptr;
  if (options.fuse_training && is_for_device) FindUpdates(model, FindOptimizerUnit, taken, fusions);
  if (options.fuse_attention) FindAttention(model, RuleOfAttention(is_for_device), taken, fusions);
  if (options.fuse_norms) FindNorms(model, is_for_device ? FindDeviceNormRow : FindNormRow, taken, fusions);
  if (options.fuse_epilogues) FindEpilogues(model, EpilogueRule(model, options), taken, fusions);
  if (options.fuse_norms) {
    FindReductions(model, is_for_device ? FindDeviceReductionRow : FindReductionRow, taken, fusions);
  }
  for (const NodeId id : model.AllNodes()) {
    if (!are_run[id]) taken[id] = true;
  }
  const std::vector<const KernelRow*> chain_rows =
      options.device == nullptr ? ChainRows() : std::vector<const KernelRow*>{&DeviceChainRow()};
  if (options.fuse_chains) FindChains(model, chain_rows, taken, fusions);
  return fusions;
}

}  // namespace amp
