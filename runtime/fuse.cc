#include "runtime/fuse.h"

#include "runtime/cpu/attention_units.h"
#include "runtime/device/library_attention_kernels.h"
#include "runtime/find_chains.h"
#include "runtime/find_epilogues.h"
#include "runtime/find_units.h"

namespace amp {

// The most nodes first: a product with an epilogue may be part of an attention, an element-wise node of anything.
std::vector<Fusion> FindFusions(const Model& model, const IdVector<NodeId, bool>& are_run,
                                const SessionOptions& options) {
  FusedNodes taken(model.num_nodes(), false);
  std::vector<Fusion> fusions;
  const bool is_for_device = options.device != nullptr;
  if (options.fuse_attention) {
    FindAttention(model, is_for_device ? AttentionUnitDeviceRow() : AttentionUnitRow(), taken, fusions);
  }
  if (options.fuse_norms) FindNorms(model, taken, fusions);
  if (options.fuse_epilogues) {
    const Roles roots = is_for_device ? Roles(Role::kConvolution) : Role::kConvolution | Role::kMatrixProduct;
    FindEpilogues(model, roots, taken, fusions);
  }
  if (options.fuse_norms) FindReductions(model, taken, fusions);
  for (const NodeId id : model.AllNodes()) {
    if (!are_run[id]) taken[id] = true;
  }
  if (options.fuse_chains) FindChains(model, taken, fusions);
  return fusions;
}

}  // namespace amp
