// The flags of amp-rewrite that stand for RewriteOptions, but for those of training (train_flags.h) and the limits
// (limit_flags.h). A new option is a member of RewriteOptions and a row here; tests then say what else wants to know.
#ifndef AMP_TOOLS_LIBRARY_REWRITE_FLAGS_H_
#define AMP_TOOLS_LIBRARY_REWRITE_FLAGS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tools/library/flag_table.h"
#include "tools/library/rewrite_options.h"

namespace amp {

const FlagTable<RewriteOptions>& RewriteFlags();

// "--dtype=bfloat16", "--deny-node=/head/*", "--in-place": whatever differs from the default, of all tables, except for
// what is printed or reported and where.
std::vector<std::string> ChangedFlags(const RewriteOptions& options);

// Returns the first set flag that says what is to become low, without its value; "" if there is none.
std::string FirstDecidingFlag(const RewriteOptions& options);

// Whether that is a flag of amp-rewrite's tables, but for limits.
bool IsRewriteFlag(absl::string_view name);
bool IsTrainFlag(absl::string_view name);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_REWRITE_FLAGS_H_
