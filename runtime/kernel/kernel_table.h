// The rows of several families, to be found by operator and version.
#ifndef AMP_RUNTIME_KERNEL_KERNEL_TABLE_H_
#define AMP_RUNTIME_KERNEL_KERNEL_TABLE_H_

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace amp {

class KernelTable {
 public:
  // Makes a table of rows that outlive it.
  explicit KernelTable(absl::Span<const absl::Span<const KernelRow>> families);

  // In the order of the families; perhaps none. `domain`: "" for ai.onnx.
  std::vector<const KernelRow*> Find(absl::string_view domain, absl::string_view op_type, int version) const;

 private:
  using Key = std::pair<absl::string_view, absl::string_view>;  // domain and operator
  absl::flat_hash_map<Key, std::vector<const KernelRow*>> rows_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_KERNEL_TABLE_H_
