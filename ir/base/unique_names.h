// Names that are taken, and new ones.
#ifndef AMP_IR_BASE_UNIQUE_NAMES_H_
#define AMP_IR_BASE_UNIQUE_NAMES_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace amp {

class UniqueNames {
 public:
  void Take(absl::string_view name) { taken_.emplace(name); }
  // `wanted`, else `wanted_1`, `wanted_2` ...: the first that is not taken, which is from now on.
  std::string Make(absl::string_view wanted) {
    std::string name(wanted);
    if (taken_.insert(name).second) return name;
    int& suffix = last_suffix_[name];
    do {
      name = absl::StrCat(wanted, "_", ++suffix);
    } while (!taken_.insert(name).second);
    return name;
  }

 private:
  absl::flat_hash_set<std::string> taken_;
  absl::flat_hash_map<std::string, int> last_suffix_;  // by the name wanted
};

}  // namespace amp

#endif  // AMP_IR_BASE_UNIQUE_NAMES_H_
