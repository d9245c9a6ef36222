// The flags of training (TrainOptions, tools/library/amp.h) on the command line.
#ifndef AMP_TOOLS_REWRITE_TRAIN_FLAGS_H_
#define AMP_TOOLS_REWRITE_TRAIN_FLAGS_H_

#include "tools/library/rewrite_options.h"

namespace CLI {
class App;
}

namespace amp {

// Parsing fills `options`, which must outlive `app`.
void DeclareTrainFlags(CLI::App& app, TrainOptions& options);

}  // namespace amp

#endif  // AMP_TOOLS_REWRITE_TRAIN_FLAGS_H_
