// The command line's words for the library's options: the names of enum values.
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
const EnumNames<RewriteOptions::Metric>& NamesOf(RewriteOptions::Metric);
const EnumNames<Optimizer>& NamesOf(Optimizer);

// The first name of a value.
template <typename Enum>
const std::string& NameOf(Enum value) {
  for (const auto& [name, each] : NamesOf(value)) {
    if (each == value) return name;
  }
  return NamesOf(value).front().first;
}

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_OPTION_NAMES_H_
