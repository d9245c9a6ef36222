// The flags of --train and --loss-scale: amp-rewrite's, and of TrainOptions.
#ifndef AMP_TOOLS_LIBRARY_TRAIN_FLAGS_H_
#define AMP_TOOLS_LIBRARY_TRAIN_FLAGS_H_

#include "tools/library/flag_table.h"
#include "tools/library/rewrite_options.h"

namespace amp {

// Rows of step graphs alone need this flag.
inline constexpr char kTrainFlag[] = "--train";
// Rows about how a dynamic scale moves need this.
inline constexpr char kDynamicScale[] = "--loss-scale dynamic";

const FlagTable<TrainOptions>& TrainFlags();

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_TRAIN_FLAGS_H_
