#include "runtime/random_inputs.h"

#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"
#include "ir/schema/schema.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/run/check_input.h"

namespace amp {
namespace {

constexpr int64_t kFirstDim = 1;
constexpr absl::string_view kMaskWord = "mask";
// Inputs of com.microsoft's GroupQueryAttention: of each sample the number of its last token, and how many there are.
constexpr absl::string_view kLastTokens = "seqlens_k", kAllTokens = "total_sequence_length";
constexpr size_t kMostReaders = 1000;  // that the search for an input's meaning looks at

class InputMaker {
 public:
  InputMaker(const Session& session, const RandomInputOptions& options)
      : session_(session), model_(session.model()), options_(options), random_(options.seed) {
    for (const auto& [name, size] : options.dims) stated_[NameOfDim(name)] = size;
  }

  absl::StatusOr<NamedDatums> Make() {
    AMP_RETURN_IF_ERROR(CheckGiven());
    AMP_RETURN_IF_ERROR(CheckNames());
    SizeSymbols();
    std::map<ValueId, Dims> dims;  // of what is made up
    int64_t bytes = 0;
    for (const ValueId input : session_.inputs()) {
      if (IsGiven(input)) {
        if (HasKnownType(input)) Lengthen(GivenDims(input));
        continue;
      }
      AMP_ASSIGN_OR_RETURN(dims[input], DimsOf(input));
      AMP_RETURN_IF_ERROR(CheckBytes(input, dims[input], bytes));
      Lengthen(dims[input]);
    }
    NamedDatums inputs = options_.given;
    size_t left = dims.size();
    for (const ValueId input : session_.inputs()) {
      if (left == 0) break;
      if (!dims.contains(input)) {
        Skip(input);
        continue;
      }
      AMP_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(model_.value(input).dtype, dims[input]));
      AMP_RETURN_IF_ERROR(Fill(input, tensor));
      inputs.emplace(model_.value(input).name, std::move(tensor));
      --left;
    }
    return inputs;
  }

  std::vector<std::string> UnsizedSymbols() {
    for (const ValueId input : session_.inputs()) {
      if (IsGiven(input)) BindSymbols(input);
    }
    std::vector<std::string> unsized;
    for (const ValueId input : session_.inputs()) {
      if (IsGiven(input)) continue;
      for (const std::string& symbol : NamesOf(input)) {
        const bool is_sized = symbol.empty() || sizes_.contains(symbol) || stated_.contains(symbol);
        if (!is_sized && !absl::c_linear_search(unsized, symbol)) unsized.push_back(symbol);
      }
    }
    return unsized;
  }

 private:
  // The names of the input's dimensions, one for each axis: empty if the size is known.
  std::vector<std::string> NamesOf(ValueId input) const {
    const std::optional<std::vector<int64_t>> dims = ShapeOf(model_, input);
    std::vector<std::string> names = DimSymbols(model_, input);
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty() && (*dims)[i] == kUnknownDim) names[i] = absl::StrCat(model_.value(input).name, ":", i);
    }
    return names;
  }

  absl::Status CheckNames() const {
    std::set<std::string> known;
    for (const ValueId input : session_.inputs()) {
      for (const std::string& symbol : NamesOf(input)) {
        if (!symbol.empty()) known.insert(symbol);
      }
    }
    for (const auto& [name, size] : options_.dims) {
      const std::string symbol = NameOfDim(name);
      if (!known.contains(symbol)) {
        return UsageError("no input has a dimension of unknown size with the name '", Escaped(name), "'; they have ",
                          QuotedFirstOf(std::vector<std::string>(known.begin(), known.end())));
      }
      if (const int64_t other = stated_.at(symbol); other != size) {
        return UsageError("--dim: expected one size of dimension '", Escaped(symbol), "', found ", size, " for '",
                          Escaped(name), "' and ", other);
      }
    }
    return absl::OkStatus();
  }

  // "n" of "x:0", where that is what the first dimension of input x is called; else the name itself.
  std::string NameOfDim(const std::string& name) const {
    for (const ValueId input : session_.inputs()) {
      if (absl::c_linear_search(NamesOf(input), name)) return name;
    }
    const size_t colon = name.rfind(':');
    size_t axis = 0;
    if (colon == std::string::npos || !absl::SimpleAtoi(name.substr(colon + 1), &axis)) return name;
    for (const ValueId input : session_.inputs()) {
      if (model_.value(input).name != name.substr(0, colon)) continue;
      const std::vector<std::string> names = NamesOf(input);
      if (axis < names.size() && !names[axis].empty()) return names[axis];
    }
    return name;
  }

  bool IsGiven(ValueId input) const { return options_.given.contains(model_.value(input).name); }
  Dims GivenDims(ValueId input) const {
    const Tensor* const given = options_.given.at(model_.value(input).name).tensor();
    return given == nullptr ? Dims() : given->dims();
  }
  void Lengthen(const Dims& dims) {
    for (const int64_t dim : dims) longest_ = std::max(longest_, dim);
  }

  // Takes the sizes of named dimensions from a given input: other inputs with the same names follow.
  void BindSymbols(ValueId input) {
    const Dims given = GivenDims(input);
    const std::vector<std::string> symbols = NamesOf(input);
    for (size_t i = 0; i < symbols.size() && symbols.size() == given.size(); ++i) {
      if (!symbols[i].empty()) sizes_.emplace(symbols[i], given[i]);
    }
  }

  // Sizes all named dimensions: by given inputs, by --dim, and then by the default. A remaining name that is the first
  // dimension of several inputs is a batch, wherever else it occurs.
  void SizeSymbols() {
    for (const ValueId input : session_.inputs()) {
      if (IsGiven(input)) BindSymbols(input);
    }
    for (const auto& [name, size] : stated_) sizes_[name] = size;
    for (const ValueId input : session_.inputs()) {
      const std::vector<std::string> symbols = NamesOf(input);
      if (symbols.size() > 1 && !symbols[0].empty()) sizes_.emplace(symbols[0], kFirstDim);
    }
  }

  absl::Status CannotMakeUp(ValueId input) const {
    const std::string name = Escaped(model_.value(input).name);
    return UsageError("input '", name, "': expected a tensor of known rank and type to make up, found ",
                      TypeText(model_, input), "; to give it: --input ", name,
                      model_.value(input).is_tensor ? "=FILE.npy or FILE.pb" : "=FILE.pb");
  }

  // The shape of an input that is made up, or of what is computed of such. REQUIRES: the rank is known.
  Dims SizedDims(ValueId value) const {
    Dims dims = *ShapeOf(model_, value);
    const std::vector<std::string> symbols = DimSymbols(model_, value), names = NamesOf(value);
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] != kUnknownDim) continue;
      const auto sized = sizes_.find(names[i]);
      const bool is_last = i + 1 == dims.size();
      const bool is_first_of_several = i == 0 && !is_last;
      const bool is_batch = is_first_of_several || (options_.only_last && symbols[i].empty() && !is_last);
      const int64_t usual = is_batch ? kFirstDim : options_.other_dim;
      dims[i] = sized != sizes_.end() ? sized->second : usual;
    }
    return dims;
  }

  absl::StatusOr<Dims> DimsOf(ValueId input) const {
    if (!HasKnownType(input)) return CannotMakeUp(input);
    Dims dims = SizedDims(input);
    int64_t elements = 1;
    for (const int64_t dim : dims) {
      if (dim > 0 && elements > options_.most_elements / dim) {
        return LimitError("input '", Escaped(model_.value(input).name), "': expected at most ", options_.most_elements,
                          " elements, found [", absl::StrJoin(dims, ","), "]");
      }
      elements *= std::max<int64_t>(dim, 1);
    }
    return dims;
  }

  // Adds what an input takes to `bytes`, which all that are made up take together.
  absl::Status CheckBytes(ValueId input, const Dims& dims, int64_t& bytes) const {
    const Value& value = model_.value(input);
    const size_t element = value.dtype == DType::kString ? sizeof(std::string) : ElementBytes(value.dtype);
    const int64_t found = ElementCount(dims).value_or(kMaxElements) * static_cast<int64_t>(element);
    bytes += found;
    if (bytes <= options_.most_bytes) return absl::OkStatus();
    const std::string name = Escaped(value.name);
    return LimitError("input '", name, "': expected at most ", options_.most_bytes,
                      " bytes of inputs that are made up, found ", found, " of ", DTypeName(value.dtype),
                      DimsText(dims), bytes == found ? "" : absl::StrCat(", ", bytes, " with those ahead of it"),
                      "; to give it: --input ", name, "=FILE.npy");
  }

  absl::Status CheckGiven() const {
    for (const ValueId input : model_.graph(kMainGraph).inputs) {  // those with a default, too
      if (!IsGiven(input)) continue;
      AMP_RETURN_IF_ERROR(CheckInput(model_, input, options_.given.at(model_.value(input).name)));
    }
    return absl::OkStatus();
  }

  bool HasKnownType(ValueId input) const {
    return ShapeOf(model_, input).has_value() && model_.value(input).dtype != DType::kUndefined;
  }

  // Takes the random numbers that a given input would take: the others are the same whether or not it is given.
  void Skip(ValueId input) {
    const Tensor* const given = options_.given.at(model_.value(input).name).tensor();
    if (given == nullptr || !HasKnownType(input)) return;
    const int64_t count = given->num_elements();
    const bool is_float = VisitFloats(given->dtype(), [](auto) {});
    if (is_float && !IsMask(input)) {
      boost::random::normal_distribution<double> normal;
      for (int64_t i = 0; i < count; ++i) (void)normal(random_);
    } else if (VisitIntegers(given->dtype(), [](auto) {})) {
      const auto [low, high] = RangeOf(input);
      boost::random::uniform_int_distribution<int64_t> uniform(low, high);
      for (int64_t i = 0; i < count; ++i) (void)uniform(random_);
    }
  }

  absl::Status Fill(ValueId input, Tensor& tensor) {
    const bool is_float = VisitFloats(tensor.dtype(), [&]<typename T>(TypeTag<T>) {
      const bool is_mask = IsMask(input);
      boost::random::normal_distribution<double> normal;
      for (T& element : tensor.mutable_elements<T>()) element = FromDouble<T>(is_mask ? 1.0 : normal(random_));
    });
    if (is_float) return absl::OkStatus();
    const bool is_integer = VisitIntegers(tensor.dtype(), [&]<typename T>(TypeTag<T>) {
      const auto [low, high] = RangeOf(input);
      boost::random::uniform_int_distribution<int64_t> uniform(low, high);
      for (T& element : tensor.mutable_elements<T>()) element = static_cast<T>(uniform(random_));
    });
    if (is_integer) return absl::OkStatus();
    if (tensor.dtype() == DType::kBool) {
      for (bool& element : tensor.mutable_elements<bool>()) element = true;
      return absl::OkStatus();
    }
    if (tensor.dtype() == DType::kString) return absl::OkStatus();
    return CannotMakeUp(input);
  }

  // Whether floats of the input are what others are multiplied by, or what is added to scores, to leave some out.
  bool IsMask(ValueId input) const {
    if (!absl::StrContains(absl::AsciiStrToLower(model_.value(input).name), kMaskWord)) return false;
    bool masks = false;
    ForEachReader(input, [&](const Use& use) {
      const Node& node = model_.node(use.node);
      masks |= node.Has(Role::kAdds) || node.Has(Role::kMultiplies) || TakesMask(node, use.port);
    });
    return masks;
  }

  static bool TakesMask(const Node& node, size_t port) {
    return node.schema != nullptr && port < node.schema->inputs().size() &&
           absl::StrContains(node.schema->inputs()[port].name, kMaskWord);
  }

  // The smallest and the largest value for integers of the input.
  std::pair<int64_t, int64_t> RangeOf(ValueId input) const {
    std::optional<int64_t> rows, compared, tokens;
    ForEachReader(input, [&](const Use& use) {
      Judge(use, rows, compared);
      if (!tokens.has_value()) tokens = CountOfTokens(use);
    });
    if (tokens.has_value()) return {*tokens, *tokens};
    if (rows.has_value()) return {0, std::max<int64_t>(*rows - 1, 0)};
    if (compared.has_value()) return {*compared, *compared};
    const std::string name = absl::AsciiStrToLower(model_.value(input).name);
    if (absl::StrContains(name, "len")) return {longest_, longest_};
    return {1, 1};
  }

  static ValueId InputNamed(const Node& node, absl::string_view name) {
    for (size_t port = 0; port < node.schema->inputs().size(); ++port) {
      if (node.schema->inputs()[port].name == name) return node.Input(port);
    }
    return kNone;
  }

  // For the inputs of attention that count tokens in the cache: the number of past and new tokens, or one less,
  // whichever the input asks for. Nothing for other inputs.
  std::optional<int64_t> CountOfTokens(const Use& use) const {
    const Node& node = model_.node(use.node);
    if (node.schema == nullptr || use.port >= node.schema->inputs().size()) return std::nullopt;
    const std::string& port = node.schema->inputs()[use.port].name;
    const bool is_last = port == kLastTokens;
    if ((!is_last && port != kAllTokens) || InputNamed(node, kLastTokens) == kNone) return std::nullopt;
    const ValueId query = InputNamed(node, "query"), cache = InputNamed(node, "past_key");
    const Dims of_query = HasRank(query, 3) ? SizedDims(query) : Dims();
    if (of_query.empty()) return std::nullopt;
    // Several tokens of several samples have no past: the operator has no form for that.
    const bool may_follow = of_query[0] == 1 || of_query[1] == 1;
    const int64_t past = may_follow && HasRank(cache, 4) ? SizedDims(cache)[2] : 0;
    return past + of_query[1] - (is_last ? 1 : 0);
  }

  bool HasRank(ValueId value, size_t rank) const {
    if (value == kNone) return false;
    const std::optional<std::vector<int64_t>> dims = ShapeOf(model_, value);
    return dims.has_value() && dims->size() == rank;
  }

  // Follows the elements through what only moves or casts them.
  void ForEachReader(ValueId input, absl::FunctionRef<void(const Use&)> visit) const {
    std::vector<ValueId> open = {input};
    std::set<ValueId> seen = {input};
    size_t readers = 0;
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      for (const Use& use : model_.value(value).uses) {
        if (use.IsGraphOutput() || ++readers > kMostReaders) continue;
        visit(use);
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
  std::map<std::string, int64_t> stated_;  // the caller's sizes, by the names that dimensions have
  std::map<std::string, int64_t> sizes_;   // of symbolic dimensions
  int64_t longest_ = 1;
};

}  // namespace

absl::StatusOr<NamedDatums> MakeRandomInputs(const Session& session, const RandomInputOptions& options) {
  return InputMaker(session, options).Make();
}

std::vector<std::string> UnsizedSymbols(const Session& session, const RandomInputOptions& options) {
  return InputMaker(session, options).UnsizedSymbols();
}

}  // namespace amp
