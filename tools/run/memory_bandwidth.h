// The speed at which this machine reads memory.
#ifndef AMP_TOOLS_RUN_MEMORY_BANDWIDTH_H_
#define AMP_TOOLS_RUN_MEMORY_BANDWIDTH_H_

namespace amp {

// Returns bytes per second: the best of a few passes of so many threads over 256 MiB, which takes about 0.2 s. 0 if
// there is no memory for that.
double MeasureReadBandwidth(int threads);

}  // namespace amp

#endif  // AMP_TOOLS_RUN_MEMORY_BANDWIDTH_H_
