#include "runtime/kernel/kernel_table.h"

namespace amp {

KernelTable::KernelTable(absl::Span<const absl::Span<const KernelRow>> families) {
  for (const absl::Span<const KernelRow>& family : families) {
    for (const KernelRow& row : family) rows_[{row.domain, row.op_type}].push_back(&row);
  }
}

std::vector<const KernelRow*> KernelTable::Find(absl::string_view domain, absl::string_view op_type,
                                                int version) const {
  std::vector<const KernelRow*> found;
  const auto it = rows_.find(Key(domain, op_type));
  if (it == rows_.end()) return found;
  for (const KernelRow* row : it->second) {
    if (row->first_version <= version && version <= row->last_version) found.push_back(row);
  }
  return found;
}

}  // namespace amp
