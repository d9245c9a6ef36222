// Ids that cannot be taken for one another, and the vectors that they address:
//
//   using NodeId = Id<struct NodeTag>;
//   IdVector<NodeId, Node> nodes;
//   const NodeId id = nodes.push_back(node);
//   for (NodeId id : nodes.ids()) Print(nodes[id]);
//
// An id is as small as an int32 and stands for a position; kNone is an id of any kind that stands for none. Builds with
// AMP_CHECKED_INDEX (CMakeLists.txt) end the program at an index that is out of range; others read what lies there.
#ifndef AMP_IR_BASE_IDS_H_
#define AMP_IR_BASE_IDS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "ir/base/check.h"

namespace amp {

// `index`, which has to be below `size`.
constexpr size_t CheckedIndex(size_t index, [[maybe_unused]] size_t size) {
#ifdef AMP_CHECKED_INDEX
  AMP_CHECK(index < size);
#endif
  return index;
}

struct None {};
inline constexpr None kNone;

template <typename Tag>
class Id {
 public:
  constexpr Id() = default;  // kNone
  constexpr Id(None) {}      // NOLINT(google-explicit-constructor): kNone is of every kind
  constexpr explicit Id(size_t index) : index_(static_cast<int32_t>(index)) {}

  // REQUIRES: not kNone.
  constexpr size_t index() const { return static_cast<size_t>(index_); }

  // kNone comes first.
  friend constexpr auto operator<=>(Id a, Id b) { return a.index_ <=> b.index_; }
  friend constexpr bool operator==(Id a, Id b) { return a.index_ == b.index_; }
  template <typename Hash>
  friend Hash AbslHashValue(Hash hash, Id id) {
    return Hash::combine(std::move(hash), id.index_);
  }

 private:
  int32_t index_ = -1;
};

// The ids of a number of elements, lowest first.
template <typename IdType>
class IdRange {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = IdType;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = IdType;

    explicit Iterator(size_t at) : at_(at) {}
    IdType operator*() const { return IdType(at_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    size_t at_;
  };

  explicit IdRange(size_t end) : IdRange(0, end) {}
  IdRange(size_t begin, size_t end) : begin_(begin), end_(end) {}
  Iterator begin() const { return Iterator(begin_); }
  Iterator end() const { return Iterator(end_); }

 private:
  size_t begin_, end_;
};

// A std::vector whose elements are found by their ids.
template <typename IdType, typename T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(size_t size, const T& value = T()) : elements_(size, value) {}
  IdVector(std::initializer_list<T> elements) : elements_(elements) {}

  size_t size() const { return elements_.size(); }
  bool empty() const { return elements_.empty(); }
  // Whether the id is that of an element: not kNone, and not of one that came later.
  bool contains(IdType id) const { return id != kNone && id.index() < size(); }
  decltype(auto) operator[](IdType id) { return elements_[CheckedIndex(id.index(), size())]; }
  decltype(auto) operator[](IdType id) const { return elements_[CheckedIndex(id.index(), size())]; }
  IdRange<IdType> ids() const { return IdRange<IdType>(size()); }
  // The id that the next element will get.
  IdType next() const { return IdType(size()); }

  auto begin() { return elements_.begin(); }
  auto end() { return elements_.end(); }
  auto begin() const { return elements_.begin(); }
  auto end() const { return elements_.end(); }

  void reserve(size_t size) { elements_.reserve(size); }
  void resize(size_t size, const T& value = T()) { elements_.resize(size, value); }
  void assign(size_t size, const T& value) { elements_.assign(size, value); }
  // Both return the new element's id.
  template <typename... Arguments>
  IdType emplace_back(Arguments&&... arguments) {
    elements_.emplace_back(std::forward<Arguments>(arguments)...);
    return IdType(size() - 1);
  }
  IdType push_back(T element) { return emplace_back(std::move(element)); }

 private:
  std::vector<T> elements_;
};

// Lists of elements, one per id, in one piece: compressed sparse rows.
template <typename IdType, typename T>
class IdRows {
 public:
  IdRows() = default;
  // From pairs in any order; those of a row keep theirs.
  IdRows(size_t num_rows, const std::vector<std::pair<IdType, T>>& pairs) : starts_(num_rows + 1) {
    for (const auto& [row, element] : pairs) ++starts_[row.index() + 1];
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    std::vector<size_t> next(starts_.begin(), starts_.end() - 1);
    elements_.resize(pairs.size());
    for (const auto& [row, element] : pairs) elements_[next[row.index()]++] = element;
  }

  size_t size() const { return starts_.size() - 1; }
  absl::Span<const T> Row(IdType id) const {
    const size_t row = CheckedIndex(id.index(), size());
    return absl::MakeConstSpan(elements_).subspan(starts_[row], starts_[row + 1] - starts_[row]);
  }

 private:
  std::vector<size_t> starts_ = {0};
  std::vector<T> elements_;
};

}  // namespace amp

#endif  // AMP_IR_BASE_IDS_H_
