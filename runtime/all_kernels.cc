#include "runtime/all_kernels.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/cpu/families.h"
#include "runtime/reference/reference_kernels.h"

namespace amp {
namespace {

using Key = std::pair<absl::string_view, absl::string_view>;  // domain and operator
using Table = absl::flat_hash_map<Key, std::vector<const KernelRow*>>;

Table MakeTable() {
  Table table;
  for (const auto& family : {LibraryMatrixKernels(), LibraryConvolutionKernels()}) {
    for (const KernelRow& row : family) table[{row.domain, row.op_type}].push_back(&row);
  }
  return table;
}

}  // namespace

std::vector<const KernelRow*> FindAllKernels(absl::string_view domain, absl::string_view op_type, int version) {
  static const Table& table = *new Table(MakeTable());
  std::vector<const KernelRow*> rows;
  if (const auto it = table.find(Key(domain, op_type)); it != table.end()) {
    for (const KernelRow* row : it->second) {
      if (row->first_version <= version && version <= row->last_version) rows.push_back(row);
    }
  }
  for (const KernelRow* row : FindReferenceKernels(domain, op_type, version)) rows.push_back(row);
  return rows;
}

}  // namespace amp
