#include "runtime/kernel/move_elements.h"

#include <algorithm>
#include <cstring>

#include "ir/base/status.h"
#include "runtime/kernel/element_mover.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/kernel/turn_matrix.h"

namespace amp {
namespace {

absl::Status TypeStatus(bool known, const Tensor& tensor) {
  return known ? absl::OkStatus() : ModelError("no kernel for ", DTypeName(tensor.dtype()));
}

// Null where the processor sees both.
ElementMover* MoverOf(const Tensor& from, const Tensor& to) {
  AMP_CHECK(from.mover() == to.mover() || from.num_elements() == 0);
  return to.mover();
}

absl::Span<const int64_t> AllButLast(absl::Span<const int64_t> list) {
  return list.subspan(0, list.empty() ? 0 : list.size() - 1);
}

// The axes of a copy from strided places to consecutive ones.
struct StridedAxes {
  Dims dims, strides;
};

// The same with as few axes as possible; at least one. REQUIRES: no dim is 0.
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

// Elements `step` apart become consecutive ones.
template <typename T>
void CopyRow(const T* from, int64_t step, T* to, int64_t length) {
  if (step == 1) {
    std::copy_n(from, length, to);
  } else {
    for (int64_t i = 0; i < length; ++i) to[i] = from[i * step];
  }
}

// REQUIRES: Merged.
template <typename T>
void CopyMerged(const T* from, const StridedAxes& axes, T* to) {
  const size_t last = axes.dims.size() - 1;
  const Dims to_strides = RowStrides(axes.dims);
  // An axis whose elements are neighbours, unless it is the last one: it is turned together with that.
  const auto found = std::find(axes.strides.begin(), axes.strides.end(), 1);
  const auto turned = static_cast<size_t>(found - axes.strides.begin());
  Dims outer = axes.dims;
  outer[last] = 1;
  if (turned < last) outer[turned] = 1;
  for (StridedWalk walk(outer, {axes.strides, to_strides}); !walk.AtEnd(); walk.Next()) {
    // Places may lie before the first one: as signed numbers.
    const T* const first = from + static_cast<int64_t>(walk[0]);
    if (turned < last) {
      TurnMatrix(first, to + walk[1], {axes.dims[turned], axes.dims[last], axes.strides[last], to_strides[turned]});
    } else {
      CopyRow(first, axes.strides[last], to + walk[1], axes.dims[last]);
    }
  }
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

// What `stretches` pick from a line of elements, null where there is none.
template <typename T>
T* CopyStretches(const T* line, absl::Span<const Stretch> stretches, const T& nothing, T* out) {
  for (const Stretch& stretch : stretches) {
    if (line == nullptr || stretch.first == kNowhere) {
      out = std::fill_n(out, stretch.length, nothing);
    } else if (stretch.length == 1) {
      *out++ = line[stretch.first];
    } else {
      out = std::copy_n(line + stretch.first, stretch.length, out);
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
  const bool is_one_block = source.step == run && target.step == run;
  CopyBytes(from.bytes().data() + source.first * size, source.step * size,
            to.mutable_bytes().data() + target.first * size, target.step * size,
            run * size * (is_one_block ? count : 1), is_one_block ? 1 : count);
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
    auto out = to.mutable_elements<T>().begin();
    for (const size_t first : firsts) {
      const auto source = in.subspan(first, run);
      out = std::copy(source.begin(), source.end(), out);
    }
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
    CopyMerged(from.elements<T>().data() + start, axes, to.mutable_elements<T>().data());
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
  const std::vector<int64_t> only = {0};  // a scalar's
  const std::vector<int64_t>& last = picks.empty() ? only : picks.back();
  const std::vector<Stretch> stretches = StretchesOf(last);
  const bool known = VisitStorage(from.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = from.elements<T>();
    const T nothing = fill == nullptr ? T() : fill->elements<T>()[0];
    T* out = to.mutable_elements<T>().data();
    for (StridedWalk walk(AllButLast(to.dims()), {}); !walk.AtEnd(); walk.Next()) {
      const int64_t first = PickedPlace(picks, strides, walk.index());
      out = CopyStretches<T>(first == kNowhere ? nullptr : in.data() + first, stretches, nothing, out);
    }
  });
  return TypeStatus(known, from);
}

}  // namespace amp
