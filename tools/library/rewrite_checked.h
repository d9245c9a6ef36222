// A rewrite, and what is done with it before it is handed over: --sensitivity, --search, --verify.
#ifndef AMP_TOOLS_LIBRARY_REWRITE_CHECKED_H_
#define AMP_TOOLS_LIBRARY_REWRITE_CHECKED_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ir/file/model_file.h"
#include "passes/sequence/rewrite_model.h"
#include "tools/library/run_on_data.h"
#include "tools/library/set_up.h"

namespace amp {

// A rewrite, and what it was made by.
struct Rewritten {
  LoadedFile file;
  RewriteOutcome outcome;
  std::vector<std::string> flags;
  std::string verification;
};

// Rewrites the file, measures and searches where that is asked for, and verifies. What a search or a mend keeps float32
// is so in the result. `load` gives the same file again. Errors: those of the passes; those of runs on data;
// kFailedPrecondition, no choice is within, or the models differ and that is an error. REQUIRES: `rewritten` has the
// loaded file.
absl::Status RewriteAndVerify(Setup& setup, const ModelLoader& load, Rewritten& rewritten);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_REWRITE_CHECKED_H_
