#include "runtime/kernel/move_elements.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ir/base/status.h"
#include "runtime/kernel/element_mover.h"
#include "runtime/kernel/no_kernel_error.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/kernel/turn_matrix.h"

namespace amp {
namespace {

absl::Status TypeStatus(bool known, const Tensor& tensor) {
  return known ? absl::OkStatus() : NoKernelFor(tensor.dtype());
}

// Null where the processor sees both.
ElementMover* MoverOf(const Tensor& from, const Tensor& to) {
  AMP_CHECK(from.mover() == to.mover() || from.num_elements() == 0);
  return to.mover();
}

// The axes of a copy from strided places to consecutive ones.
struct StridedAxes {
  Dims dims, strides;
};

// Returns the axes merged into as few as possible; at least one. REQUIRES: no dim is 0.
StridedAxes Merged(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides) {
  StridedAxes merged;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == 1) continue;
    if (!merged.dims.empty() && merged.strides.back() == strides[axis] * dims[axis]) {
      merged.dims.back() *= dims[axis];
      merged.strides.back() = strides[axis];
    } else {
      merged.dims.push_back(dims[axis]);
      merged.strides.push_back(strides[axis]);
    }
  }
  if (merged.dims.empty()) merged = {{1}, {1}};
  return merged;
}

template <typename T, size_t... i>
typename RegisterSquare<T>::Row EvenOnes(typename RegisterSquare<T>::Row a, typename RegisterSquare<T>::Row b,
                                         std::index_sequence<i...>) {
  return __builtin_shufflevector(a, b, (2 * i)...);
}

// Every other element, a register full at a time.
template <typename T>
void CopyEveryOther(const T* from, T* to, int64_t length) {
  int64_t i = 0;
  if constexpr (std::is_integral_v<T>) {
    using Row = typename RegisterSquare<T>::Row;
    constexpr auto kSide = static_cast<int64_t>(RegisterSquare<T>::kSide);
    // The last element that is read lies behind the last one that is wanted: that is left to the loop below.
    for (; i + kSide < length; i += kSide) {
      Row first, second;
      std::memcpy(&first, from + 2 * i, sizeof(Row));
      std::memcpy(&second, from + 2 * i + kSide, sizeof(Row));
      const Row picked = EvenOnes<T>(first, second, std::make_index_sequence<RegisterSquare<T>::kSide>());
      std::memcpy(to + i, &picked, sizeof(Row));
    }
  }
  for (; i < length; ++i) to[i] = from[2 * i];
}

constexpr int64_t kShortRow = 8;  // elements: for fewer a call would cost more than the loop

// Elements `step` apart become consecutive ones.
template <typename T>
void CopyRow(const T* from, int64_t step, T* to, int64_t length) {
  switch (step) {
    case 0:
      std::fill_n(to, length, *from);
      return;
    case 1:
      if (length < kShortRow) break;
      std::copy_n(from, length, to);
      return;
    case 2:
      return CopyEveryOther(from, to, length);
    default:
      break;
  }
  for (int64_t i = 0; i < length; ++i) to[i] = from[i * step];
}

// REQUIRES: Merged. `to_strides`: of all that is copied, of which these axes may be a part.
template <typename T>
void CopyMerged(const T* from, const StridedAxes& axes, const Dims& to_strides, T* to) {
  const size_t last = axes.dims.size() - 1;
  // An axis whose elements are neighbours, unless it is the last one: it is turned together with that.
  const auto found = std::find(axes.strides.begin(), axes.strides.end(), 1);
  const auto turned = static_cast<size_t>(found - axes.strides.begin());
  // Rows are copied in turn without a step of the walk for each.
  const size_t rows = turned < last ? turned : last - std::min<size_t>(last, 1);
  Dims outer = axes.dims;
  outer[last] = outer[rows] = 1;
  for (StridedWalk walk(outer, {axes.strides, to_strides}); !walk.AtEnd(); walk.Next()) {
    // Places may lie before the first one: as signed numbers.
    const T* const first = from + static_cast<int64_t>(walk[0]);
    T* const target = to + walk[1];
    if (turned < last) {
      TurnMatrix(first, target, {axes.dims[turned], axes.dims[last], axes.strides[last], to_strides[turned]});
      continue;
    }
    for (int64_t row = 0; row < (last == 0 ? 1 : axes.dims[rows]); ++row) {
      CopyRow(first + row * axes.strides[rows], axes.strides[last], target + row * to_strides[rows], axes.dims[last]);
    }
  }
}

// The threads of the run have parts of the longest axis.
template <typename T>
void CopyMergedTogether(const T* from, const StridedAxes& axes, T* to) {
  const Dims to_strides = RowStrides(axes.dims);
  const auto longest = static_cast<size_t>(std::max_element(axes.dims.begin(), axes.dims.end()) - axes.dims.begin());
  const int64_t length = axes.dims[longest], of_each = ElementsBetween(axes.dims, 0, axes.dims.size()) / length;
  ParallelFor(static_cast<size_t>(length), static_cast<size_t>(of_each), [&](const Share& share) {
    const auto first = static_cast<int64_t>(share.first);
    StridedAxes part = axes;
    part.dims[longest] = static_cast<int64_t>(share.end) - first;
    CopyMerged(from + first * axes.strides[longest], part, to_strides, to + first * to_strides[longest]);
  });
}

// Where `index` of the axes but the last leads, by the lists of CopyPicked; kNowhere if one of them says so.
int64_t PickedPlace(absl::Span<const std::vector<int64_t>> picks, const Dims& strides, const Dims& index) {
  int64_t place = 0;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    const int64_t picked = picks[axis][static_cast<size_t>(index[axis])];
    if (picked == kNowhere) return kNowhere;
    place += picked * strides[axis];
  }
  return place;
}

// Indices one behind the other, or kNowhere throughout.
struct Stretch {
  int64_t first;
  size_t length;
};

std::vector<Stretch> StretchesOf(absl::Span<const int64_t> indices) {
  std::vector<Stretch> stretches;
  for (const int64_t index : indices) {
    const Stretch* last = stretches.empty() ? nullptr : &stretches.back();
    const int64_t next =
        last == nullptr || last->first == kNowhere ? kNowhere : last->first + static_cast<int64_t>(last->length);
    if (last != nullptr && index == next) {
      ++stretches.back().length;
    } else {
      stretches.push_back({index, 1});
    }
  }
  return stretches;
}

// The lists of CopyPicked, but for the last axes that are copied as they are: blocks of so many elements are moved.
struct PickedBlocks {
  absl::Span<const std::vector<int64_t>> outer;  // of the axes ahead of the stretches
  std::vector<Stretch> stretches;
  size_t block = 1;
};

bool IsWhole(const std::vector<int64_t>& picks, int64_t dim) {
  if (static_cast<int64_t>(picks.size()) != dim) return false;
  for (int64_t i = 0; i < dim; ++i) {
    if (picks[static_cast<size_t>(i)] != i) return false;
  }
  return true;
}

PickedBlocks BlocksOf(absl::Span<const std::vector<int64_t>> picks, const Dims& from) {
  PickedBlocks blocks;
  size_t axes = picks.size();
  for (; axes > 0 && IsWhole(picks[axes - 1], from[axes - 1]); --axes) blocks.block *= picks[axes - 1].size();
  if (axes == 0) {
    blocks.stretches = {{0, 1}};
    return blocks;
  }
  blocks.outer = picks.first(axes - 1);
  blocks.stretches = StretchesOf(picks[axes - 1]);
  return blocks;
}

// The lines of elements that stretches of blocks pick from; null if there is none.
template <typename T>
T* CopyStretches(const T* line, const PickedBlocks& blocks, const T& nothing, T* out) {
  for (const Stretch& stretch : blocks.stretches) {
    const size_t length = stretch.length * blocks.block;
    if (line == nullptr || stretch.first == kNowhere) {
      out = std::fill_n(out, length, nothing);
      continue;
    }
    const T* const from = line + static_cast<size_t>(stretch.first) * blocks.block;
    if (length == 1) {
      *out++ = *from;
    } else {
      out = std::copy_n(from, length, out);
    }
  }
  return out;
}

// Blocks of a size that the compiler knows are moved without a call.
template <size_t kBytes>
void CopyBlocksOf(const std::byte* from, size_t from_step, std::byte* to, size_t to_step, size_t count) {
  for (size_t i = 0; i < count; ++i) std::memcpy(to + i * to_step, from + i * from_step, kBytes);
}

void CopyBytes(const std::byte* from, size_t from_step, std::byte* to, size_t to_step, size_t bytes, size_t count) {
  switch (bytes) {
    case 1:
      return CopyBlocksOf<1>(from, from_step, to, to_step, count);
    case 2:
      return CopyBlocksOf<2>(from, from_step, to, to_step, count);
    case 4:
      return CopyBlocksOf<4>(from, from_step, to, to_step, count);
    case 8:
      return CopyBlocksOf<8>(from, from_step, to, to_step, count);
    case 16:
      return CopyBlocksOf<16>(from, from_step, to, to_step, count);
    case 32:
      return CopyBlocksOf<32>(from, from_step, to, to_step, count);
    case 64:
      return CopyBlocksOf<64>(from, from_step, to, to_step, count);
    case 128:
      return CopyBlocksOf<128>(from, from_step, to, to_step, count);
    default:
      for (size_t i = 0; i < count; ++i) std::memcpy(to + i * to_step, from + i * from_step, bytes);
  }
}

}  // namespace

void CopyElements(const Tensor& from, size_t first, Tensor& to, size_t at, size_t count) {
  AMP_CHECK(from.dtype() == to.dtype());
  if (count == 0) return;
  if (from.dtype() == DType::kString) {
    const auto in = from.elements<std::string>().subspan(first, count);
    std::copy(in.begin(), in.end(), to.mutable_elements<std::string>().subspan(at, count).begin());
    return;
  }
  const size_t size = ElementBytes(from.dtype());
  const auto in = from.bytes().subspan(first * size, count * size);
  const auto out = to.mutable_bytes().subspan(at * size, count * size);
  std::memcpy(out.data(), in.data(), out.size());
}

void CopyBlocks(const Tensor& from, BlockPlaces source, Tensor& to, BlockPlaces target, size_t run, size_t count) {
  AMP_CHECK(from.dtype() == to.dtype());
  if (run == 0 || count == 0) return;
  if (ElementMover* mover = MoverOf(from, to)) return mover->CopyBlocks(from, source, to, target, run, count);
  if (from.dtype() == DType::kString) {
    for (size_t i = 0; i < count; ++i) {
      CopyElements(from, source.first + i * source.step, to, target.first + i * target.step, run);
    }
    return;
  }
  const size_t size = ElementBytes(from.dtype());
  AMP_CHECK((source.first + (count - 1) * source.step + run) * size <= from.size_bytes());
  AMP_CHECK((target.first + (count - 1) * target.step + run) * size <= to.size_bytes());
  const std::byte* const in = from.bytes().data() + source.first * size;
  std::byte* const out = to.mutable_bytes().data() + target.first * size;
  if (count == 1 || (source.step == run && target.step == run)) {
    return ParallelFor(run * count, 1, [&](const Share& share) {
      std::memcpy(out + share.first * size, in + share.first * size, (share.end - share.first) * size);
    });
  }
  const size_t in_step = source.step * size, out_step = target.step * size;
  ParallelFor(count, run, [&](const Share& share) {
    CopyBytes(in + share.first * in_step, in_step, out + share.first * out_step, out_step, run * size,
              share.end - share.first);
  });
}

void FillWithZero(Tensor& tensor) {
  if (ElementMover* mover = tensor.mover()) return mover->SetZero(tensor);
  if (tensor.dtype() == DType::kString) {
    const auto strings = tensor.mutable_elements<std::string>();
    std::fill(strings.begin(), strings.end(), std::string());
  } else {
    std::fill(tensor.mutable_bytes().begin(), tensor.mutable_bytes().end(), std::byte{0});
  }
}

absl::Status CopyRuns(const Tensor& from, absl::Span<const size_t> firsts, size_t run, Tensor& to) {
  if (to.num_elements() == 0) return absl::OkStatus();
  if (ElementMover* mover = MoverOf(from, to)) {
    mover->CopyRuns(from, firsts, run, to);
    return absl::OkStatus();
  }
  const bool known = VisitStorage(from.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = from.elements<T>();
    T* const out = to.mutable_elements<T>().data();
    ParallelFor(firsts.size(), run, [&](const Share& share) {
      for (size_t i = share.first; run == 1 && i < share.end; ++i) out[i] = in[firsts[i]];
      for (size_t i = share.first; run != 1 && i < share.end; ++i) {
        const auto source = in.subspan(firsts[i], run);
        std::copy(source.begin(), source.end(), out + i * run);
      }
    });
  });
  return TypeStatus(known, from);
}

absl::Status CopyAlong(const Tensor& from, size_t axis, absl::Span<const int64_t> indices, Tensor& to) {
  if (to.num_elements() == 0) return absl::OkStatus();
  const AxisView view(from.dims(), axis);
  std::vector<size_t> firsts;
  for (size_t outer = 0; outer < view.outer; ++outer) {
    for (const int64_t index : indices) {
      firsts.push_back((outer * view.size + static_cast<size_t>(index)) * view.inner);
    }
  }
  return CopyRuns(from, firsts, view.inner, to);
}

absl::Status CopyStrided(const Tensor& from, int64_t start, absl::Span<const int64_t> strides, Tensor& to) {
  AMP_CHECK(strides.size() == to.rank());
  if (to.num_elements() == 0) return absl::OkStatus();
  const StridedAxes axes = Merged(to.dims(), strides);
  if (ElementMover* mover = MoverOf(from, to)) {
    mover->CopyStrided(from, start, axes.dims, axes.strides, to);
    return absl::OkStatus();
  }
  const bool known = VisitStorage(from.dtype(), [&]<typename T>(TypeTag<T>) {
    CopyMergedTogether(from.elements<T>().data() + start, axes, to.mutable_elements<T>().data());
  });
  return TypeStatus(known, from);
}

absl::Status CopyPicked(const Tensor& from, absl::Span<const std::vector<int64_t>> picks, const Tensor* fill,
                        Tensor& to) {
  AMP_CHECK(picks.size() == to.rank() && from.rank() == to.rank());
  if (to.num_elements() == 0) return absl::OkStatus();
  if (ElementMover* mover = MoverOf(from, to)) {
    mover->CopyPicked(from, picks, fill, to);
    return absl::OkStatus();
  }
  const Dims strides = RowStrides(from.dims());
  const PickedBlocks blocks = BlocksOf(picks, from.dims());
  const Dims outer(to.dims().begin(), to.dims().begin() + static_cast<std::ptrdiff_t>(blocks.outer.size()));
  const auto lines = static_cast<size_t>(ElementsBetween(outer, 0, outer.size()));
  const size_t line = static_cast<size_t>(to.num_elements()) / lines;
  const bool known = VisitStorage(from.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* const in = from.elements<T>().data();
    T* const out = to.mutable_elements<T>().data();
    const T nothing = fill == nullptr ? T() : fill->elements<T>()[0];
    ParallelFor(lines, line, [&](const Share& share) {
      StridedWalk walk(outer, {});
      walk.Skip(share.first);
      int64_t before = kNowhere;  // where the line before came from
      for (size_t i = share.first; i < share.end; ++i, walk.Next()) {
        T* const at = out + i * line;
        const int64_t place = PickedPlace(blocks.outer, strides, walk.index());
        if (place != kNowhere && place == before) {
          std::copy_n(at - line, line, at);
        } else {
          CopyStretches<T>(place == kNowhere ? nullptr : in + place, blocks, nothing, at);
        }
        before = place;
      }
    });
  });
  return TypeStatus(known, from);
}

}  // namespace amp
