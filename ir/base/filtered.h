// A view of the elements of a range that a predicate keeps:
//
//   for (ValueId in : Filtered(inputs.begin(), inputs.end(), IsPresent)) ...
//
// The predicate is asked about an element when the walk comes to it, not before. The end stays where it was at first.
// std::views::filter does the same, but clang before version 16 cannot compile that of libstdc++.
#ifndef AMP_IR_BASE_FILTERED_H_
#define AMP_IR_BASE_FILTERED_H_

#include <utility>

namespace amp {

template <typename Iterator, typename Keep>
class Filtered {
 public:
  Filtered(Iterator begin, Iterator end, Keep keep) : begin_(begin), end_(end), keep_(std::move(keep)) {}

  class Walk {
   public:
    Walk(const Filtered& all, Iterator at) : all_(&all), at_(at) { SkipOthers(); }
    auto operator*() const { return *at_; }
    Walk& operator++() {
      ++at_;
      SkipOthers();
      return *this;
    }
    bool operator==(const Walk& other) const { return at_ == other.at_; }

   private:
    void SkipOthers() {
      while (at_ != all_->end_ && !all_->keep_(*at_)) ++at_;
    }

    const Filtered* all_;
    Iterator at_;
  };
  Walk begin() const { return Walk(*this, begin_); }
  Walk end() const { return Walk(*this, end_); }

 private:
  Iterator begin_, end_;
  Keep keep_;
};

}  // namespace amp

#endif  // AMP_IR_BASE_FILTERED_H_
