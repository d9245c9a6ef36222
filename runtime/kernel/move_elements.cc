#include "runtime/kernel/move_elements.h"

#include <algorithm>
#include <cstring>

#include "ir/base/status.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

absl::Status TypeStatus(bool known, const Tensor& tensor) {
  return known ? absl::OkStatus() : ModelError("no kernel for ", DTypeName(tensor.dtype()));
}

absl::Span<const int64_t> AllButLast(absl::Span<const int64_t> list) {
  return list.subspan(0, list.empty() ? 0 : list.size() - 1);
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

void FillWithZero(Tensor& tensor) {
  if (tensor.dtype() == DType::kString) {
    const auto strings = tensor.mutable_elements<std::string>();
    std::fill(strings.begin(), strings.end(), std::string());
  } else {
    std::fill(tensor.mutable_bytes().begin(), tensor.mutable_bytes().end(), std::byte{0});
  }
}

absl::Status CopyRuns(const Tensor& from, absl::Span<const size_t> firsts, size_t run, Tensor& to) {
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
  const int64_t length = to.rank() == 0 ? 1 : to.dims().back();
  const int64_t step = to.rank() == 0 ? 0 : strides.back();
  const auto outer = AllButLast(strides);
  const bool known = VisitStorage(from.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = from.elements<T>();
    T* out = to.mutable_elements<T>().data();
    for (StridedWalk walk(AllButLast(to.dims()), {Dims(outer.begin(), outer.end())}); !walk.AtEnd(); walk.Next()) {
      const int64_t first = start + static_cast<int64_t>(walk[0]);
      for (int64_t i = 0; i < length; ++i) *out++ = in[static_cast<size_t>(first + i * step)];
    }
  });
  return TypeStatus(known, from);
}

absl::Status CopyPicked(const Tensor& from, absl::Span<const std::vector<int64_t>> picks, const Tensor* fill,
                        Tensor& to) {
  AMP_CHECK(picks.size() == to.rank() && from.rank() == to.rank());
  if (to.num_elements() == 0) return absl::OkStatus();
  const Dims strides = RowStrides(from.dims());
  const std::vector<int64_t> only = {0};  // a scalar's
  const std::vector<int64_t>& last = picks.empty() ? only : picks.back();
  const bool known = VisitStorage(from.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = from.elements<T>();
    const T nothing = fill == nullptr ? T() : fill->elements<T>()[0];
    T* out = to.mutable_elements<T>().data();
    for (StridedWalk walk(AllButLast(to.dims()), {}); !walk.AtEnd(); walk.Next()) {
      const int64_t first = PickedPlace(picks, strides, walk.index());
      for (const int64_t index : last) {
        const bool picked = first != kNowhere && index != kNowhere;
        *out++ = picked ? in[static_cast<size_t>(first + index)] : nothing;
      }
    }
  });
  return TypeStatus(known, from);
}

}  // namespace amp
