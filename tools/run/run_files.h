// Which files amp-run reads and writes: see the rule in tools/library/file_uses.h.
#ifndef AMP_TOOLS_RUN_RUN_FILES_H_
#define AMP_TOOLS_RUN_RUN_FILES_H_

#include <string>

#include "ir/base/file_kind.h"
#include "tools/library/file_uses.h"
#include "tools/run/run_arguments.h"

namespace amp {

// kHtml for a path that ends in ".html", else kJson.
FileKind KindOfProfile(const std::string& path);

// The files that flags name. A new flag that names a file is declared here. Data files of models, and the files of
// --output-dir, are added when they are known.
FileUses FilesOf(const RunArguments& arguments);

}  // namespace amp

#endif  // AMP_TOOLS_RUN_RUN_FILES_H_
