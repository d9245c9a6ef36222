#include "passes/cast/narrow_weights.h"

#include <algorithm>
#include <limits>

#include "ir/base/status.h"
#include "ir/graph/count_nan.h"
#include "ir/graph/insert_nodes.h"
#include "ir/graph/shape.h"
#include "ir/patterns/saturating_constant.h"

namespace amp {
namespace {

// The statistics leave out what overflows: a bound that is saturated, or elements that become infinite.
double RelativeError(const NarrowedWeight& weight, DType low) {
  if (weight.stats.overflow == 0) return weight.stats.RelativeError();
  if (!weight.saturated) return std::numeric_limits<double>::infinity();
  return 1 - LargestFinite(low) / weight.stats.largest;
}

// The copy as a new initializer or Constant node, read by the low readers. What the file says about the original stays
// with the original alone.
ValueId AddCopy(Model& model, const CastPlan::Constant& constant, DType low, onnx::TensorProto* tensor) {
  const Value& original = model.value(constant.value);
  std::string name = model.UniqueName(absl::StrCat(original.name, "_", DTypeName(low)));
  ValueId copy;
  if (original.IsInitializer()) {
    copy = model.AddInitializer(original.graph, name, tensor);
  } else {
    const NodeId node = InsertConstant(model, {original.graph, original.producer}, tensor, {name, name});
    copy = model.node(node).Output(0);
    model.CopyType(constant.value, copy);
    model.SetTensorType(copy, low);
  }
  model.MoveUses(constant.value, copy, constant.low_readers);
  return copy;
}

}  // namespace

absl::StatusOr<NarrowedWeights> NarrowWeights(Model& model, const ReaderNames& names, const CastPlan& plan, DType low,
                                              WeightMode mode, ConstantSurvey& survey) {
  NarrowedWeights result;
  CastInserter inserter(model);
  for (const CastPlan::Constant& constant : plan.constants) {
    if (mode == WeightMode::kCast) {
      const std::vector<ScopedReaders> places = PlaceConversions(model, constant.value, constant.low_readers);
      for (NodeId node : inserter.Insert(constant.value, low, places)) {
        result.casts.push_back({node, constant.value, DType::kFloat32, low, {}, -1});
      }
      continue;
    }
    AMP_ASSIGN_OR_RETURN(const ConstantFacts* facts, survey.Facts(constant.value));
    NarrowedWeight record;
    record.name = model.value(constant.value).name;
    record.value = constant.value;
    record.stats = facts->stats;
    record.bytes_before = NumBytes(model, constant.value);
    record.original_stays = !constant.high_readers.empty();
    for (const Use& use : constant.high_readers) record.original_readers.push_back(names.Of(use));
    record.bytes_after = record.bytes_before / 2 + (record.original_stays ? record.bytes_before : 0);
    const auto may_saturate = [&](const Use& use) { return MaySaturate(model, use); };
    record.saturated = facts->stats.overflow > 0 &&
                       std::all_of(constant.low_readers.begin(), constant.low_readers.end(), may_saturate);
    AMP_ASSIGN_OR_RETURN(const int64_t num_nan, CountNan(model, constant.value));
    record.relative_error = num_nan > 0 ? std::numeric_limits<double>::quiet_NaN() : RelativeError(record, low);
    AMP_ASSIGN_OR_RETURN(onnx::TensorProto * tensor,
                         NarrowConstant(model, constant.value, low, record.saturated ? Saturate::kYes : Saturate::kNo,
                                        record.original_stays ? Original::kStays : Original::kGoes));
    if (record.original_stays) {
      record.low_copy = AddCopy(model, constant, low, tensor);
    } else {
      ReplaceConstant(model, constant.value, tensor);
    }
    result.weights.push_back(std::move(record));
  }
  return result;
}

}  // namespace amp
