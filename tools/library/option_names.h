// The command line's words for the library's options: the names of enum values, and the flags that options stand for.
#ifndef AMP_TOOLS_LIBRARY_OPTION_NAMES_H_
#define AMP_TOOLS_LIBRARY_OPTION_NAMES_H_

#include <string>
#include <utility>
#include <vector>

#include "tools/library/rewrite_options.h"

namespace amp {

// If a value has several names, the first one is printed.
template <typename Enum>
using EnumNames = std::vector<std::pair<std::string, Enum>>;

const EnumNames<RewriteOptions::Dtype>& NamesOf(RewriteOptions::Dtype);
const EnumNames<RewriteOptions::Policy>& NamesOf(RewriteOptions::Policy);
const EnumNames<RewriteOptions::Level>& NamesOf(RewriteOptions::Level);
const EnumNames<RewriteOptions::Placement>& NamesOf(RewriteOptions::Placement);
const EnumNames<RewriteOptions::Weights>& NamesOf(RewriteOptions::Weights);
const EnumNames<RewriteOptions::ScaleWeights>& NamesOf(RewriteOptions::ScaleWeights);
const EnumNames<RewriteOptions::Preserve>& NamesOf(RewriteOptions::Preserve);
const EnumNames<RewriteOptions::Guards>& NamesOf(RewriteOptions::Guards);
const EnumNames<RewriteOptions::Functions>& NamesOf(RewriteOptions::Functions);
const EnumNames<RewriteOptions::ExternalData>& NamesOf(RewriteOptions::ExternalData);
const EnumNames<Optimizer>& NamesOf(Optimizer);

// "--dtype=bfloat16", "--deny-node=/head/*", "--in-place": whatever differs from the default, except for what is
// printed or reported and where.
std::vector<std::string> ChangedFlags(const RewriteOptions& options);

// Returns the first set flag that says what is to become low, without its value; "" if there is none. --policy and the
// flags that it stands for (--dtype, --weights, --keep-io) are left out, and so are --op-signature and --strict, which
// describe the model.
std::string FirstDecidingFlag(const RewriteOptions& options);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_OPTION_NAMES_H_
