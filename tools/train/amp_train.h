// The command-line tool amp-train as a function, so that tests run it in their own process.
#ifndef AMP_TOOLS_TRAIN_AMP_TRAIN_H_
#define AMP_TOOLS_TRAIN_AMP_TRAIN_H_

#include <string>
#include <vector>

#include "tools/program/device_flag.h"
#include "tools/program/tool_output.h"
#include "tools/train/ranks.h"

namespace amp {

// Where results go: on a terminal the curve of the losses is drawn unasked.
enum class ResultsGoTo { kFile, kTerminal };

// The environment in which a run is started.
struct TrainHost {
  RankOpener open_ranks = nullptr;  // null: there is one
  DeviceHost devices = {};
};

// `arguments` are without the program's name. Without streams nothing is read, and all is printed at the end. Never
// throws, never exits, but for a run of several ranks that fails on one of them. While a model is trained, SIGINT and
// SIGTERM end the loop after a step.
ToolOutput RunAmpTrain(const std::vector<std::string>& arguments, ToolStreams streams = {},
                       ResultsGoTo results = ResultsGoTo::kFile, const TrainHost& host = {});

}  // namespace amp

#endif  // AMP_TOOLS_TRAIN_AMP_TRAIN_H_
