#include "runtime/reference/reference_kernels.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

using Key = std::pair<absl::string_view, absl::string_view>;  // domain and operator
using Table = absl::flat_hash_map<Key, std::vector<const KernelRow*>>;

Table MakeTable() {
  Table table;
  for (const auto& family : {
           ArithmeticKernels(),
           MathKernels(),
           ActivationKernels(),
           ComparisonKernels(),
           BitwiseKernels(),
           CastKernels(),
           QuantizationKernels(),
           RandomKernels(),
           WindowKernels(),
           ShapeKernels(),
           JoinKernels(),
           SliceKernels(),
           GatherKernels(),
           ScatterKernels(),
           PadKernels(),
           IndexKernels(),
           GeneratorKernels(),
           SortKernels(),
           CumulativeKernels(),
           RearrangeKernels(),
           SequenceKernels(),
           ReductionKernels(),
           SoftmaxKernels(),
           NormKernels(),
           LayerNormKernels(),
           LossKernels(),
           OptimizerKernels(),
           ControlFlowKernels(),
           ScanLoopKernels(),
           MatrixKernels(),
           EinsumKernels(),
           ExperimentalKernels(),
           ConvolutionKernels(),
           DeformableConvolutionKernels(),
           PoolKernels(),
           QuantizedMatrixKernels(),
           QuantizedContribKernels(),
           AttentionKernels(),
           LinearAttentionKernels(),
           RecurrentKernels(),
           ResizeKernels(),
           SamplingKernels(),
           RegionKernels(),
           SuppressionKernels(),
           SignalKernels(),
           TextKernels(),
           TfIdfKernels(),
           TreesKernels(),
           ClassicalKernels(),
           EncoderKernels(),
           SvmKernels(),
           ContribKernels(),
       }) {
    for (const KernelRow& row : family) table[{row.domain, row.op_type}].push_back(&row);
  }
  return table;
}

}  // namespace

std::vector<const KernelRow*> FindReferenceKernels(absl::string_view domain, absl::string_view op_type, int version) {
  static const Table& table = *new Table(MakeTable());
  const auto it = table.find(Key(domain, op_type));
  if (it == table.end()) return {};
  for (const KernelRow* row : it->second) {
    if (row->first_version <= version && version <= row->last_version) return {row};
  }
  return {};
}

}  // namespace amp
