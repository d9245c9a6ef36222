#include "ir/patterns/scaled_product.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "ir/graph/shape.h"
#include "ir/schema/schema.h"

namespace amp {
namespace {

using Dims = std::vector<int64_t>;

constexpr size_t kData = 0, kWeights = 1, kBias = 2;
constexpr int kNumpyBroadcasting = 7;  // the first opset at which Mul has it

bool IsOwn(const Model& model, ValueId constant) { return model.value(constant).uses.size() == 1; }

int64_t NumTerms(const Node& node, size_t port, const Dims& dims) {
  const int64_t size = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  if (node.Has(Role::kConvolution)) {
    const bool is_transposed = node.Has(Role::kSwapsChannels);
    return is_transposed ? size / dims[1] / GetInt(node, "group", 1) : size / dims[0];
  }
  if (dims.size() == 1) return dims[0];
  const bool is_turned = GetInt(node, port == kData ? "transA" : "transB", 0) != 0;
  const bool is_last = (port == kData) != is_turned;
  return dims[dims.size() - (is_last ? 1 : 2)];
}

FloatTensor Scalar(float value) { return {.dims = {}, .elements = {value}}; }

// The Mul alone reads what the node gives, and takes off what the weights are multiplied with.
bool FitsMul(const Model& model, const ScaledProduct& scaled, const ScalableProduct& product) {
  const Node& mul = model.node(scaled.mul);
  const ValueId result = model.node(scaled.node).Output(0), factor = mul.Input(1);
  if (mul.erased || mul.op_type() != "Mul" || !mul.domain().empty() || mul.Input(0) != result) return false;
  if (!IsOwn(model, result) || mul.Output(0) == kNone || mul.graph != model.node(scaled.node).graph) return false;
  if (!product.takes_mul || product.bias != scaled.bias || !IsFloat32Constant(model, factor)) return false;
  return ScalarConstant(model, factor) == std::ldexp(1.0, -scaled.exponent);
}

bool FitsAlpha(const Model& model, const ScaledProduct& scaled, const ScalableProduct& product) {
  if (!product.takes_alpha || scaled.bias != kNone) return false;
  const float before = AlphaBehind(model, product, -scaled.exponent);
  return std::isfinite(before) && (scaled.had_alpha || before == 1);
}

// Removes the Mul; the product's result takes its result's name.
void RemoveMul(Model& model, const ScaledProduct& scaled) {
  const ValueId result = model.node(scaled.node).Output(0), output = model.node(scaled.mul).Output(0);
  const ValueId factor = model.node(scaled.mul).Input(1);
  const std::string name = model.value(output).name;
  std::string other = model.UniqueName(absl::StrCat(name, "_undone"));
  model.SetTensorType(result, DType::kFloat32);
  if (model.IsModelOutput(output)) {
    model.TakeOverGraphOutputs(output, result, std::move(other));
  } else {
    model.Rename(output, std::move(other));
    model.Rename(result, name);
  }
  model.ReplaceUses(output, result, [](const Use&) { return true; });
  model.Erase(scaled.mul);
  if (model.value(factor).IsInitializer() && model.value(factor).uses.empty()) model.RemoveInitializer(factor);
}

void RestoreAlpha(Model& model, const ScaledProduct& scaled, const ScalableProduct& product) {
  const float before = AlphaBehind(model, product, -scaled.exponent);
  if (scaled.had_alpha) {
    SetFloat(model, scaled.node, "alpha", before);
  } else {
    RemoveAttribute(model, scaled.node, "alpha");
  }
}

}  // namespace

std::optional<ScalableProduct> FindScalableProduct(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (node.schema == nullptr || model.IsCallOfFunction(id)) return std::nullopt;
  if (!node.op->roles.HasAny(Role::kConvolution | Role::kMatrixProduct)) return std::nullopt;
  size_t port = kWeights;
  if (node.Has(Role::kMatrixProduct) && !IsFloat32Constant(model, node.Input(port))) port = kData;
  const ValueId weights = node.Input(port);
  if (!IsFloat32Constant(model, weights) || !IsOwn(model, weights)) return std::nullopt;
  const ValueId data = node.Input(port == kData ? kWeights : kData);
  if (data == kNone || model.IsConstant(data)) return std::nullopt;
  const auto dims = ShapeOf(model, weights);
  const size_t lowest_rank = node.Has(Role::kConvolution) ? 3 : 1;
  const auto is_positive = [](int64_t dim) { return dim > 0; };
  if (!dims || dims->size() < lowest_rank || !std::all_of(dims->begin(), dims->end(), is_positive)) return std::nullopt;
  if (GetInt(node, "group", 1) < 1) return std::nullopt;

  const bool takes_bias = node.schema->num_inputs() > static_cast<int>(kBias);
  ScalableProduct product{.node = id, .data = data, .weights = weights};
  if (takes_bias) product.bias = node.Input(kBias);
  product.num_terms = std::max<int64_t>(NumTerms(node, port, *dims), 1);
  product.takes_alpha = node.Has(Role::kMatrixProduct) && takes_bias;
  const bool may_have_constant = node.graph == kMainGraph || model.ir_version() >= kInitializersNeedNoInput;
  const bool has_scalable_bias =
      product.bias == kNone || (IsFloat32Constant(model, product.bias) && IsOwn(model, product.bias));
  product.takes_mul = model.opset("") >= kNumpyBroadcasting && may_have_constant && has_scalable_bias;
  return product;
}

absl::StatusOr<std::optional<FloatTensor>> ScaleConstant(const Model& model, ValueId constant, int exponent) {
  bool is_exact = true;
  AMP_ASSIGN_OR_RETURN(FloatTensor scaled, MapConstant(model, constant, [&](int64_t, double element) {
                         const double times = std::ldexp(element, exponent);
                         is_exact &= static_cast<double>(static_cast<float>(times)) == times;
                         return times;
                       }));
  if (!is_exact) return std::optional<FloatTensor>();
  return std::optional<FloatTensor>(std::move(scaled));
}

ScaledProduct ScaleAndMultiply(Model& model, const ScalableProduct& product, int exponent, const FloatTensor& weights,
                               const std::optional<FloatTensor>& bias) {
  ReplaceConstant(model, product.weights, MakeTensor(model, weights));
  if (bias.has_value()) ReplaceConstant(model, product.bias, MakeTensor(model, *bias));
  const ValueId result = model.node(product.node).Output(0);
  const std::string name = model.value(result).name;
  const GraphId graph = model.node(product.node).graph;
  const ValueId factor = model.AddInitializer(graph, model.UniqueName(absl::StrCat(name, "_factor")),
                                              MakeTensor(model, Scalar(std::ldexp(1.0f, -exponent))));
  const std::string unscaled = model.UniqueName(absl::StrCat(name, "_unscaled"));
  const NodeId mul = model.InsertAfter(
      graph, product.node, {.op_type = "Mul", .name = unscaled, .inputs = {result, factor}, .outputs = {unscaled}});
  model.SetCall(mul, model.node(product.node).call);
  const ValueId output = model.node(mul).Output(0);
  model.CopyType(result, output);
  model.ReplaceUses(result, output, [&](const Use& use) { return use.node != mul; });
  std::string scaled = model.UniqueName(absl::StrCat(name, "_scaled"));
  if (model.IsModelOutput(result)) {
    model.TakeOverGraphOutputs(result, output, std::move(scaled));
  } else {
    model.Rename(result, std::move(scaled));
    model.Rename(output, name);
  }
  return {.node = product.node,
          .weights = product.weights,
          .bias = bias.has_value() ? product.bias : ValueId(kNone),
          .exponent = exponent,
          .mul = mul};
}

float AlphaBehind(const Model& model, const ScalableProduct& product, int exponent) {
  return std::ldexp(GetFloat(model.node(product.node), "alpha", 1), -exponent);
}

ScaledProduct ScaleAndSetAlpha(Model& model, const ScalableProduct& product, int exponent, const FloatTensor& weights) {
  const bool had_alpha = HasAttribute(model.node(product.node), "alpha");
  ReplaceConstant(model, product.weights, MakeTensor(model, weights));
  SetFloat(model, product.node, "alpha", AlphaBehind(model, product, exponent));
  return {.node = product.node, .weights = product.weights, .exponent = exponent, .had_alpha = had_alpha};
}

absl::StatusOr<bool> Unscale(Model& model, const ScaledProduct& scaled) {
  if (scaled.exponent == 0 || std::abs(scaled.exponent) > kLargestExponent) return false;
  if (scaled.node == kNone || model.node(scaled.node).erased) return false;
  const std::optional<ScalableProduct> product = FindScalableProduct(model, scaled.node);
  if (!product.has_value() || product->weights != scaled.weights) return false;
  const bool fits = scaled.mul == kNone ? FitsAlpha(model, scaled, *product) : FitsMul(model, scaled, *product);
  if (!fits) return false;
  AMP_ASSIGN_OR_RETURN(const auto weights, ScaleConstant(model, scaled.weights, -scaled.exponent));
  std::optional<FloatTensor> bias;
  if (scaled.bias != kNone) {
    AMP_ASSIGN_OR_RETURN(bias, ScaleConstant(model, scaled.bias, -scaled.exponent));
    if (!bias.has_value()) return false;
  }
  if (!weights.has_value()) return false;
  ReplaceConstant(model, scaled.weights, MakeTensor(model, *weights));
  if (bias.has_value()) ReplaceConstant(model, scaled.bias, MakeTensor(model, *bias));
  scaled.mul == kNone ? RestoreAlpha(model, scaled, *product) : RemoveMul(model, scaled);
  return true;
}

}  // namespace amp
