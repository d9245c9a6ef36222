// TfIdfVectorizer: how often each n-gram of a pool occurs in a row of tokens, perhaps with tokens left out between.
//
// Tokens are numbers; strings are numbered first, by their places in the pool.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

using Tokens = std::vector<int64_t>;

struct Text {
  Tokens pool, tokens;
};

absl::StatusOr<Text> ReadText(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  Text text;
  if (x.dtype() != DType::kString) {
    const std::optional<Tokens> pool = GetInts(context.node(), "pool_int64s");
    if (!pool.has_value()) return ModelError("expected pool_int64s for ", x.TypeText(), ", found none");
    AMP_ASSIGN_OR_RETURN(text.tokens, context.InputInts(0));
    text.pool = *pool;
    return text;
  }
  const std::optional<std::vector<std::string>> pool = GetStrings(context.node(), "pool_strings");
  if (!pool.has_value()) return ModelError("expected pool_strings for ", x.TypeText(), ", found none");
  absl::flat_hash_map<absl::string_view, int64_t> numbers;
  for (const std::string& word : *pool) {
    text.pool.push_back(numbers.try_emplace(word, static_cast<int64_t>(numbers.size())).first->second);
  }
  for (const std::string& word : x.elements<std::string>()) {
    const auto it = numbers.find(word);
    text.tokens.push_back(it == numbers.end() ? -1 : it->second);
  }
  return text;
}

// N-grams of the wanted lengths, and where each stands in the lists of the attributes.
struct Pool {
  absl::flat_hash_map<Tokens, size_t> places;
  std::vector<int64_t> coordinates;  // of the output
  std::vector<double> weights;       // empty: all 1
  size_t shortest = 1, longest = 1;
};

// The lengths of n-grams that count: [min_gram_length, max_gram_length], as far as the pool has them.
absl::Status ReadLengths(const KernelContext& context, size_t lengths, Pool& pool) {
  const int64_t shortest = GetInt(context.node(), "min_gram_length", 1);
  const int64_t longest = GetInt(context.node(), "max_gram_length", 1);
  if (shortest < 1 || longest < shortest || longest > static_cast<int64_t>(lengths)) {
    return ModelError("expected 1 <= min_gram_length <= max_gram_length <= ", lengths, ", found ", shortest, " and ",
                      longest);
  }
  pool.shortest = static_cast<size_t>(shortest);
  pool.longest = static_cast<size_t>(longest);
  return absl::OkStatus();
}

absl::StatusOr<Pool> ReadPool(const KernelContext& context, const Tokens& tokens) {
  const Node& node = context.node();
  Pool pool;
  std::vector<int64_t> starts = GetInts(node, "ngram_counts").value_or(std::vector<int64_t>());
  AMP_RETURN_IF_ERROR(ReadLengths(context, starts.size(), pool));
  starts.push_back(static_cast<int64_t>(tokens.size()));
  size_t count = 0;
  for (size_t length = 1; length < starts.size(); ++length) {
    const int64_t first = starts[length - 1], last = starts[length];
    if (first < 0 || last < first || last > starts.back() || (last - first) % static_cast<int64_t>(length) != 0) {
      return ModelError("ngram_counts: expected whole ", length, "-grams from ", first, " to ", last, " of ",
                        starts.back());
    }
    const bool is_wanted = length >= pool.shortest && length <= pool.longest;
    for (auto gram = tokens.begin() + first; gram != tokens.begin() + last;
         gram += static_cast<std::ptrdiff_t>(length), ++count) {
      if (is_wanted) pool.places.try_emplace(Tokens(gram, gram + static_cast<std::ptrdiff_t>(length)), count);
    }
  }
  pool.coordinates = GetInts(node, "ngram_indexes").value_or(std::vector<int64_t>());
  const std::vector<float> weights = GetFloats(node, "weights").value_or(std::vector<float>());
  pool.weights.assign(weights.begin(), weights.end());
  if (pool.coordinates.size() == count && (weights.empty() || weights.size() == count)) return pool;
  return ModelError("expected ", count, " ngram_indexes, and as many weights or none, found ", pool.coordinates.size(),
                    " and ", weights.size());
}

// Counts by place in the pool. `gap`: from one token of an n-gram to the next.
void CountGrams(const Pool& pool, absl::Span<const int64_t> row, size_t length, size_t gap, absl::Span<double> counts) {
  const size_t reach = (length - 1) * gap;
  Tokens gram(length);
  for (size_t first = 0; first + reach < row.size(); ++first) {
    for (size_t i = 0; i < length; ++i) gram[i] = row[first + i * gap];
    const auto it = pool.places.find(gram);
    if (it != pool.places.end()) counts[it->second] += 1;
  }
}

std::vector<double> CountAll(const Pool& pool, absl::Span<const int64_t> row, int64_t max_skips) {
  std::vector<double> counts(pool.coordinates.size(), 0.0);
  for (size_t length = pool.shortest; length <= pool.longest; ++length) {
    // Skipping makes no other 1-grams, and a gap as long as the row leaves no n-gram.
    const int64_t most = length == 1 ? 0 : std::min(max_skips, static_cast<int64_t>(row.size()));
    for (int64_t skips = 0; skips <= most; ++skips) {
      CountGrams(pool, row, length, static_cast<size_t>(skips) + 1, absl::MakeSpan(counts));
    }
  }
  return counts;
}

enum class Mode { kCount, kOccurrence, kWeightedCount };

absl::StatusOr<Mode> ReadMode(const KernelContext& context) {
  const std::string mode = GetString(context.node(), "mode", "");
  if (mode == "TF") return Mode::kCount;
  if (mode == "IDF") return Mode::kOccurrence;
  if (mode == "TFIDF") return Mode::kWeightedCount;
  return ModelError("mode: expected TF, IDF or TFIDF, found '", Escaped(mode), "'");
}

double Score(Mode mode, double count, double weight) {
  if (mode == Mode::kCount) return count;
  return weight * (mode == Mode::kOccurrence ? std::min(count, 1.0) : count);
}

// The largest coordinate is the last one of a row of the output.
absl::StatusOr<int64_t> Width(const Pool& pool) {
  int64_t largest = -1;
  for (const int64_t coordinate : pool.coordinates) {
    if (coordinate < 0 || coordinate >= kMaxElements) {
      return ModelError("ngram_indexes: expected 0 to ", kMaxElements - 1, ", found ", coordinate);
    }
    largest = std::max(largest, coordinate);
  }
  return largest + 1;
}

absl::Status TfIdfVectorizer(KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (x.rank() < 1 || x.rank() > 2) return ModelError("expected shape [C] or [N,C], found ", x.TypeText());
  AMP_ASSIGN_OR_RETURN(const Mode mode, ReadMode(context));
  AMP_ASSIGN_OR_RETURN(const Text text, ReadText(context));
  AMP_ASSIGN_OR_RETURN(const Pool pool, ReadPool(context, text.pool));
  AMP_ASSIGN_OR_RETURN(const int64_t width, Width(pool));
  const int64_t max_skips = GetInt(context.node(), "max_skip_count", 0);
  if (max_skips < 0) return ModelError("max_skip_count: expected at least 0, found ", max_skips);
  Dims dims = x.dims();
  dims.back() = width;
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kFloat32, std::move(dims)));
  const auto out = y->mutable_elements<float>();
  std::fill(out.begin(), out.end(), 0.0f);
  const size_t rows = x.rank() == 1 ? 1 : static_cast<size_t>(x.dim(0)), columns = static_cast<size_t>(x.dims().back());
  if (out.empty() || columns == 0) return absl::OkStatus();
  for (size_t row = 0; row < rows; ++row) {
    const std::vector<double> counts =
        CountAll(pool, absl::MakeConstSpan(text.tokens).subspan(row * columns, columns), max_skips);
    for (size_t i = 0; i < counts.size(); ++i) {
      const size_t at = row * static_cast<size_t>(width) + static_cast<size_t>(pool.coordinates[i]);
      out[at] += static_cast<float>(Score(mode, counts[i], pool.weights.empty() ? 1 : pool.weights[i]));
    }
  }
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"TfIdfVectorizer", TfIdfVectorizer},
};

}  // namespace

absl::Span<const KernelRow> TfIdfKernels() { return kRows; }

}  // namespace amp
