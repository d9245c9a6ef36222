#include "runtime/random_inputs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"

namespace amp {
namespace {

constexpr int64_t kFirstDim = 1, kOtherDim = 16;
constexpr size_t kMostReaders = 1000;  // that the search for an input's meaning looks at

class InputMaker {
 public:
  InputMaker(const Session& session, const RandomInputOptions& options)
      : session_(session), model_(session.model()), options_(options), random_(options.seed) {}

  absl::StatusOr<NamedDatums> Make() {
    AMP_RETURN_IF_ERROR(CheckNames());
    std::map<ValueId, Dims> dims;
    for (const ValueId input : session_.inputs()) {
      AMP_ASSIGN_OR_RETURN(dims[input], DimsOf(input));
      for (const int64_t dim : dims[input]) longest_ = std::max(longest_, dim);
    }
    NamedDatums inputs;
    for (const ValueId input : session_.inputs()) {
      AMP_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(model_.value(input).dtype, dims[input]));
      AMP_RETURN_IF_ERROR(Fill(input, tensor));
      inputs.emplace(model_.value(input).name, std::move(tensor));
    }
    return inputs;
  }

 private:
  absl::Status CheckNames() const {
    std::set<std::string> known;
    for (const ValueId input : session_.inputs()) {
      for (const std::string& symbol : DimSymbols(model_, input)) {
        if (!symbol.empty()) known.insert(symbol);
      }
    }
    for (const auto& [name, dim] : options_.dims) {
      if (!known.contains(name)) {
        return UsageError("no input has a dimension of the name '", Escaped(name), "'; they have ",
                          QuotedFirstOf(std::vector<std::string>(known.begin(), known.end())));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Dims> DimsOf(ValueId input) const {
    std::optional<std::vector<int64_t>> dims = ShapeOf(model_, input);
    if (!dims.has_value()) {
      return UsageError("input '", Escaped(model_.value(input).name), "': expected a tensor of known rank, found ",
                        TypeText(model_, input));
    }
    const std::vector<std::string> symbols = DimSymbols(model_, input);
    for (size_t i = 0; i < dims->size(); ++i) {
      if ((*dims)[i] != kUnknownDim) continue;
      const auto stated = options_.dims.find(symbols[i]);
      const int64_t usual = i == 0 && dims->size() > 1 ? kFirstDim : kOtherDim;
      (*dims)[i] = stated == options_.dims.end() ? usual : stated->second;
    }
    return *dims;
  }

  absl::Status Fill(ValueId input, Tensor& tensor) {
    const bool is_float = VisitFloats(tensor.dtype(), [&]<typename T>(TypeTag<T>) {
      std::normal_distribution<double> normal;
      for (T& element : tensor.mutable_elements<T>()) element = FromDouble<T>(normal(random_));
    });
    if (is_float) return absl::OkStatus();
    const bool is_integer = VisitIntegers(tensor.dtype(), [&]<typename T>(TypeTag<T>) {
      const auto [low, high] = RangeOf(input);
      std::uniform_int_distribution<int64_t> uniform(low, high);
      for (T& element : tensor.mutable_elements<T>()) element = static_cast<T>(uniform(random_));
    });
    if (is_integer) return absl::OkStatus();
    if (tensor.dtype() == DType::kBool) {
      for (bool& element : tensor.mutable_elements<bool>()) element = true;
      return absl::OkStatus();
    }
    if (tensor.dtype() == DType::kString) return absl::OkStatus();
    return UsageError("input '", Escaped(model_.value(input).name), "': cannot make up a ", DTypeName(tensor.dtype()));
  }

  // What integers of the input may be, both ends included.
  std::pair<int64_t, int64_t> RangeOf(ValueId input) const {
    std::optional<int64_t> rows, compared;
    FindMeaning(input, rows, compared);
    if (rows.has_value()) return {0, std::max<int64_t>(*rows - 1, 0)};
    if (compared.has_value()) return {*compared, *compared};
    const std::string name = absl::AsciiStrToLower(model_.value(input).name);
    if (absl::StrContains(name, "len")) return {longest_, longest_};
    return {1, 1};
  }

  // Follows the elements through what only moves or casts them.
  void FindMeaning(ValueId input, std::optional<int64_t>& rows, std::optional<int64_t>& compared) const {
    std::vector<ValueId> open = {input};
    std::set<ValueId> seen = {input};
    size_t readers = 0;
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      for (const Use& use : model_.value(value).uses) {
        if (use.IsGraphOutput() || ++readers > kMostReaders) continue;
        Judge(use, rows, compared);
        const Node& node = model_.node(use.node);
        const bool goes_on = use.port == 0 && (node.Has(Role::kMoves) || node.Has(Role::kCasts));
        const ValueId out = node.Output(0);
        if (goes_on && out != kNone && seen.insert(out).second) open.push_back(out);
      }
    }
  }

  void Judge(const Use& use, std::optional<int64_t>& rows, std::optional<int64_t>& compared) const {
    const Node& node = model_.node(use.node);
    if (node.Has(Role::kGathers) && use.port == 1) {
      const std::optional<std::vector<int64_t>> dims = ShapeOf(model_, node.Input(0));
      const int64_t axis = GetInt(node, "axis", 0);
      const auto rank = static_cast<int64_t>(dims.has_value() ? dims->size() : 0);
      if (axis < -rank || axis >= rank) return;
      const int64_t size = (*dims)[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
      if (size != kUnknownDim) rows = std::min(rows.value_or(size), size);
    } else if (node.Has(Role::kCompares) && use.port < 2) {
      const std::optional<double> constant = ScalarConstant(model_, node.Input(1 - use.port));
      const bool is_whole = constant.has_value() && std::fabs(*constant) < 1e9 && *constant == std::floor(*constant);
      if (is_whole && *constant > 0 && !compared.has_value()) compared = static_cast<int64_t>(*constant);
    }
  }

  const Session& session_;
  const Model& model_;
  const RandomInputOptions& options_;
  std::mt19937_64 random_;
  int64_t longest_ = 1;
};

}  // namespace

absl::StatusOr<NamedDatums> MakeRandomInputs(const Session& session, const RandomInputOptions& options) {
  return InputMaker(session, options).Make();
}

}  // namespace amp
