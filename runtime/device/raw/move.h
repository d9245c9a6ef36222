// Kernels that move elements without reading their values.
#ifndef AMP_RUNTIME_DEVICE_RAW_MOVE_H_
#define AMP_RUNTIME_DEVICE_RAW_MOVE_H_

#include <cstdint>

#include "runtime/device/raw/elementwise.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/shape.h"

namespace amp::device {

// Copies to[i, j, ...] = from[start + i * strides[0] + j * strides[1] + ...].
struct CopyStridedArguments {
  static constexpr Kernel kKernel = Kernel::kCopyStrided;
  const void* from;
  void* to;
  uint32_t count;
  size_t element_bytes;
  int64_t start;
  StridedShape<1> shape;
};

template <typename T>
struct CopyStridedBody {
  CopyStridedArguments copy;
  AMP_BOTH void operator()(uint32_t i) const {
    int64_t places[1];
    copy.shape.PlacesOf(i, places);
    static_cast<T*>(copy.to)[i] = static_cast<const T*>(copy.from)[copy.start + places[0]];
  }
};

template <typename Runner>
int Start(Runner& runner, const CopyStridedArguments& copy) {
  return VisitSize(copy.element_bytes, kBadArguments,
                   [&]<typename T>(Tag<T>) { return runner.ForEach(copy.count, CopyStridedBody<T>{copy}); });
}

// Copies blocks of `run` elements: to[to_first + b * to_step + r] = from[from_first + b * from_step + r].
struct CopyBlocksArguments {
  static constexpr Kernel kKernel = Kernel::kCopyBlocks;
  const void* from;
  void* to;
  uint32_t count;  // of elements, in all blocks
  size_t element_bytes;
  uint32_t run;
  int64_t from_first, from_step, to_first, to_step;
};

template <typename T>
struct CopyBlocksBody {
  CopyBlocksArguments copy;
  AMP_BOTH void operator()(uint32_t i) const {
    const int64_t block = i / copy.run, within = i % copy.run;
    static_cast<T*>(copy.to)[copy.to_first + block * copy.to_step + within] =
        static_cast<const T*>(copy.from)[copy.from_first + block * copy.from_step + within];
  }
};

template <typename Runner>
int Start(Runner& runner, const CopyBlocksArguments& copy) {
  return VisitSize(copy.element_bytes, kBadArguments,
                   [&]<typename T>(Tag<T>) { return runner.ForEach(copy.count, CopyBlocksBody<T>{copy}); });
}

// Copies to[i, j, ...] = from[picks of axis 0 [i] + picks of axis 1 [j] + ...], or `fill` if one of these is below 0.
// `picks` holds the lists of all axes one after another, as offsets in `from`: indices times its strides.
struct CopyPickedArguments {
  static constexpr Kernel kKernel = Kernel::kCopyPicked;
  const void* from;
  void* to;
  uint32_t count;
  size_t element_bytes;
  uint64_t fill;  // the element's bytes come first
  const int64_t* picks;
  int32_t rank;
  uint32_t dims[kMaxAxes];
};

template <typename T>
struct CopyPickedBody {
  CopyPickedArguments copy;
  AMP_BOTH void operator()(uint32_t i) const {
    uint32_t rest = i, first = 0;
    for (int axis = 0; axis < copy.rank; ++axis) first += copy.dims[axis];
    int64_t place = 0;
    bool is_nowhere = false;
    for (int axis = copy.rank - 1; axis >= 0; --axis) {
      first -= copy.dims[axis];
      const int64_t picked = copy.picks[first + rest % copy.dims[axis]];
      rest /= copy.dims[axis];
      is_nowhere |= picked < 0;
      place += picked;
    }
    static_cast<T*>(copy.to)[i] = is_nowhere ? static_cast<T>(copy.fill) : static_cast<const T*>(copy.from)[place];
  }
};

template <typename Runner>
int Start(Runner& runner, const CopyPickedArguments& copy) {
  return VisitSize(copy.element_bytes, kBadArguments,
                   [&]<typename T>(Tag<T>) { return runner.ForEach(copy.count, CopyPickedBody<T>{copy}); });
}

// Copies runs of `run` elements that begin at the offsets `firsts` of `from`.
struct CopyRunsArguments {
  static constexpr Kernel kKernel = Kernel::kCopyRuns;
  const void* from;
  void* to;
  uint32_t count;  // of elements, in all runs
  size_t element_bytes;
  uint32_t run;
  const int64_t* firsts;
};

template <typename T>
struct CopyRunsBody {
  CopyRunsArguments copy;
  AMP_BOTH void operator()(uint32_t i) const {
    static_cast<T*>(copy.to)[i] = static_cast<const T*>(copy.from)[copy.firsts[i / copy.run] + i % copy.run];
  }
};

template <typename Runner>
int Start(Runner& runner, const CopyRunsArguments& copy) {
  return VisitSize(copy.element_bytes, kBadArguments,
                   [&]<typename T>(Tag<T>) { return runner.ForEach(copy.count, CopyRunsBody<T>{copy}); });
}

// Copies runs of `run` elements to the offsets `firsts` of `to`. REQUIRES: no two runs overlap.
struct ScatterRunsArguments {
  static constexpr Kernel kKernel = Kernel::kScatterRuns;
  const void* from;
  void* to;
  uint32_t count;  // of elements, in all runs
  size_t element_bytes;
  uint32_t run;
  const int64_t* firsts;
};

template <typename T>
struct ScatterRunsBody {
  ScatterRunsArguments scatter;
  AMP_BOTH void operator()(uint32_t i) const {
    static_cast<T*>(scatter.to)[scatter.firsts[i / scatter.run] + i % scatter.run] =
        static_cast<const T*>(scatter.from)[i];
  }
};

template <typename Runner>
int Start(Runner& runner, const ScatterRunsArguments& scatter) {
  return VisitSize(scatter.element_bytes, kBadArguments,
                   [&]<typename T>(Tag<T>) { return runner.ForEach(scatter.count, ScatterRunsBody<T>{scatter}); });
}

// Converts the planes of a picture to interleaved channels, and sets further channels to 0: for pixel p of picture n,
//   to[n, p, c] = from[n, c, p], or 0 if there is no plane c
// A thread writes all channels of a pixel.
inline constexpr uint32_t kJoinedPlanes = 4;
struct JoinPlanesArguments {
  static constexpr Kernel kKernel = Kernel::kJoinPlanes;
  const void* from;
  void* to;
  uint32_t count;  // of pixels, in all pictures
  size_t element_bytes;
  uint32_t planes, pixels;  // of a picture; at most kJoinedPlanes planes
};

template <typename T>
struct JoinPlanesBody {
  JoinPlanesArguments join;
  AMP_BOTH void operator()(uint32_t i) const {
    struct alignas(sizeof(T) * kJoinedPlanes < 16 ? sizeof(T) * kJoinedPlanes : 16) Pixel {
      T channels[kJoinedPlanes];
    };
    const uint32_t picture = i / join.pixels;
    const T* const from =
        static_cast<const T*>(join.from) + static_cast<int64_t>(picture) * join.planes * join.pixels + i % join.pixels;
    Pixel pixel;
    for (uint32_t c = 0; c < kJoinedPlanes; ++c) {
      pixel.channels[c] = c < join.planes ? from[static_cast<int64_t>(c) * join.pixels] : T();
    }
    static_cast<Pixel*>(join.to)[i] = pixel;
  }
};

template <typename Runner>
int Start(Runner& runner, const JoinPlanesArguments& join) {
  if (join.planes > kJoinedPlanes) return kBadArguments;
  return VisitSize(join.element_bytes, kBadArguments,
                   [&]<typename T>(Tag<T>) { return runner.ForEach(join.count, JoinPlanesBody<T>{join}); });
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_MOVE_H_
