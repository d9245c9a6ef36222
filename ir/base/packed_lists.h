// Lists in one piece, found by number: for hundreds of thousands of short ones, each of which would otherwise take a
// block of memory of its own. They do not change once they are added. (IdRows is made at once, of pairs in any order.)
#ifndef AMP_IR_BASE_PACKED_LISTS_H_
#define AMP_IR_BASE_PACKED_LISTS_H_

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/base/ids.h"

namespace amp {

// `View` is how a list is given and found; it is valid until the next one is added.
template <typename T, typename View = absl::Span<const T>>
class PackedLists {
 public:
  class Iterator {
   public:
    Iterator(const PackedLists* lists, size_t i) : lists_(lists), i_(i) {}
    View operator*() const { return (*lists_)[i_]; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return i_ != other.i_; }

   private:
    const PackedLists* lists_;
    size_t i_;
  };

  size_t size() const { return ends_.size(); }
  View operator[](size_t i) const {
    const size_t end = ends_[CheckedIndex(i, size())];
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return View(elements_.data() + begin, end - begin);
  }
  Iterator begin() const { return Iterator(this, 0); }
  Iterator end() const { return Iterator(this, size()); }

  void push_back(View list) {
    elements_.insert(elements_.end(), list.begin(), list.end());
    ends_.push_back(elements_.size());
  }
  // Gives back the memory that was kept for more.
  void ShrinkToFit() {
    elements_.shrink_to_fit();
    ends_.shrink_to_fit();
  }

 private:
  std::vector<T> elements_;
  std::vector<size_t> ends_;
};

using PackedTexts = PackedLists<char, absl::string_view>;

}  // namespace amp

#endif  // AMP_IR_BASE_PACKED_LISTS_H_
