#include "tests/runtime/device/fake_operations.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "ir/base/check.h"
#include "runtime/device/raw/convolution.h"
#include "runtime/device/raw/window_gradient.h"

namespace amp {
namespace {

using device::LibraryAttention;
using device::LibraryConvolution;
using device::ResultStep;
using Floats = std::vector<float>;

Floats Widened(const void* from, device::Storage storage, int64_t count) {
  Floats floats(static_cast<size_t>(count));
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = device::LoadFloat(from, storage, static_cast<int64_t>(i));
  return floats;
}

// Where an element of [outer, channels, plane] is that is the i-th row by row.
size_t PlaceOf(size_t i, const LibraryConvolution& c, int64_t channels, int64_t plane) {
  const auto at = static_cast<int64_t>(i);
  const int64_t outer = at / plane / channels, channel = at / plane % channels, pixel = at % plane;
  return static_cast<size_t>(c.channels_last ? (outer * plane + pixel) * channels + channel : at);
}
// Row by row.
Floats Planes(const void* from, const LibraryConvolution& c, int64_t outer, int64_t channels, int64_t plane) {
  const Floats given = Widened(from, c.storage, outer * channels * plane);
  Floats planes(given.size());
  for (size_t i = 0; i < planes.size(); ++i) planes[i] = given[PlaceOf(i, c, channels, plane)];
  return planes;
}

int64_t Elements(const LibraryConvolution& c, int32_t device::PoolAxis::*size) {
  int64_t count = 1;
  for (const device::PoolAxis& axis : c.axes) count *= axis.*size;
  return count;
}

// ---- convolutions, by the body of the kernel without a library

void Apply(const LibraryConvolution& c, const ResultStep& step, int64_t plane, Floats& y) {
  const int64_t operand_elements = step.operand == ResultStep::Operand::kWhole      ? static_cast<int64_t>(y.size())
                                   : step.operand == ResultStep::Operand::kChannels ? c.filters
                                                                                    : 1;
  if (step.operand == ResultStep::Operand::kNone) {
    for (float& each : y) each = device::Apply(step.function, each, step.a, step.b);
    return;
  }
  const bool is_whole = step.operand == ResultStep::Operand::kWhole;
  const Floats operand = is_whole ? Planes(step.elements, c, c.batch, c.filters, plane)
                                  : Widened(step.elements, c.storage, operand_elements);
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t channel = i / static_cast<size_t>(plane) % static_cast<size_t>(c.filters);
    const size_t at = step.operand == ResultStep::Operand::kWhole ? i : operand.size() == 1 ? 0 : channel;
    y[i] = device::Apply(step.combine, y[i], operand[at]);
  }
}

// ---- attention

// Where an element of [batch, heads, rows, columns] is.
int64_t PlaceOf(const device::HeadSteps& heads, int64_t batch, int64_t head, int64_t row, int64_t column) {
  return batch * heads.steps[0] + head * heads.steps[1] + row * heads.steps[2] + column * heads.steps[3];
}

float MaskAt(const LibraryAttention& a, int64_t batch, int64_t head, int64_t query, int64_t key) {
  if (a.mask == nullptr) return 0;
  const int64_t index[] = {batch, head, query, key};
  int64_t at = 0;
  for (size_t i = 0; i < 4; ++i) at = at * a.mask_dims[i] + (a.mask_dims[i] == 1 ? 0 : index[i]);
  return device::LoadFloat(a.mask, a.storage, at);
}

void AttendQuery(const LibraryAttention& a, int64_t batch, int64_t head, int64_t query) {
  const int64_t key_head = head / (a.heads / a.key_heads);
  Floats scores(static_cast<size_t>(a.keys));
  float largest = -std::numeric_limits<float>::infinity();
  for (int64_t key = 0; key < a.keys; ++key) {
    float sum = 0;
    for (int64_t i = 0; i < a.size; ++i) {
      sum += device::LoadFloat(a.q, a.storage, PlaceOf(a.q_steps, batch, head, query, i)) *
             device::LoadFloat(a.k, a.storage, PlaceOf(a.k_steps, batch, key_head, key, i));
    }
    float& score = scores[static_cast<size_t>(key)];
    score = a.scale * sum + MaskAt(a, batch, head, query, key);
    largest = std::max(largest, score);
  }
  float total = 0;
  for (float& score : scores) total += score = std::exp(score - largest);
  for (int64_t column = 0; column < a.value_size; ++column) {
    float sum = 0;
    for (int64_t key = 0; key < a.keys; ++key) {
      sum += scores[static_cast<size_t>(key)] *
             device::LoadFloat(a.v, a.storage, PlaceOf(a.v_steps, batch, key_head, key, column));
    }
    device::StoreFloat(a.y, a.storage, PlaceOf(a.y_steps, batch, head, query, column), sum / total);
  }
}

// A team of one, as bodies of kernels want it.
struct Alone {
  static bool IsFirst() { return true; }
  template <typename Of>
  static float Sum(uint32_t count, Of of) {
    float sum = 0;
    for (uint32_t i = 0; i < count; ++i) sum += of(i);
    return sum;
  }
};

void GiveWeights(const LibraryConvolution& c) {
  AMP_CHECK(!c.is_transposed && c.bias == nullptr && c.num_steps == 0);
  Floats dw(static_cast<size_t>(c.filters * (c.channels / c.groups) * Elements(c, &device::PoolAxis::kernel)));
  device::ConvolveForWeightsArguments convolve = {.x = c.x,
                                                  .g = c.w,
                                                  .dw = dw.data(),
                                                  .x_storage = c.storage,
                                                  .g_storage = c.storage,
                                                  .count = static_cast<uint32_t>(dw.size()),
                                                  .batch = static_cast<uint32_t>(c.batch),
                                                  .channels = static_cast<uint32_t>(c.channels),
                                                  .filters = static_cast<uint32_t>(c.filters),
                                                  .group_channels = static_cast<uint32_t>(c.channels / c.groups),
                                                  .group_filters = static_cast<uint32_t>(c.filters / c.groups),
                                                  .axes = {}};
  for (int axis = 0; axis < device::kMaxPoolAxes; ++axis) {
    const device::PoolAxis& of = convolve.axes[axis] = c.axes[axis];
    // As cuDNN has it: as many windows as there is room for.
    const int32_t room = of.input + of.pad_begin + of.pad_end - (of.kernel - 1) * of.dilation - 1;
    AMP_CHECK(of.output == room / of.stride + 1);
  }
  const device::ConvolveForWeightsBody body{convolve};
  Alone team;
  for (uint32_t i = 0; i < convolve.count; ++i) body(i, team);
  for (size_t i = 0; i < dw.size(); ++i) device::StoreFloat(c.y, c.stored_as, static_cast<int64_t>(i), dw[i]);
}

}  // namespace

void ConvolveOnHost(const LibraryConvolution& c) {
  if (c.gives_weights) return GiveWeights(c);
  const int64_t x_plane = Elements(c, c.is_transposed ? &device::PoolAxis::output : &device::PoolAxis::input);
  const int64_t y_plane = Elements(c, c.is_transposed ? &device::PoolAxis::input : &device::PoolAxis::output);
  const Floats x = Planes(c.x, c, c.batch, c.channels, x_plane);
  AMP_CHECK(!c.channels_last || !c.is_transposed);
  const Floats w =
      Planes(c.w, c, c.is_transposed ? c.channels : c.filters, (c.is_transposed ? c.filters : c.channels) / c.groups,
             Elements(c, &device::PoolAxis::kernel));
  const Floats bias = c.bias == nullptr ? Floats() : Widened(c.bias, c.storage, c.filters);
  Floats y(static_cast<size_t>(c.batch * c.filters * y_plane));
  device::ConvolveArguments convolve = {.x = x.data(),
                                        .w = w.data(),
                                        .bias = bias.empty() ? nullptr : bias.data(),
                                        .y = y.data(),
                                        .storage = device::Storage::kFloat32,
                                        .stored_as = device::Storage::kFloat32,
                                        .count = static_cast<uint32_t>(y.size()),
                                        .channels = static_cast<uint32_t>(c.channels),
                                        .filters = static_cast<uint32_t>(c.filters),
                                        .group_channels = static_cast<uint32_t>(c.channels / c.groups),
                                        .group_filters = static_cast<uint32_t>(c.filters / c.groups),
                                        .is_transposed = c.is_transposed,
                                        .axes = {}};
  std::copy(std::begin(c.axes), std::end(c.axes), convolve.axes);
  const device::ConvolveBody<float> body{convolve};
  for (uint32_t i = 0; i < convolve.count; ++i) body(i);
  AMP_CHECK(c.num_steps <= device::kMaxResultSteps);
  for (int32_t i = 0; i < c.num_steps; ++i) Apply(c, c.steps[i], y_plane, y);
  for (size_t i = 0; i < y.size(); ++i) {
    device::StoreFloat(c.y, c.stored_as, static_cast<int64_t>(PlaceOf(i, c, c.filters, y_plane)), y[i]);
  }
}

void AttendOnHost(const LibraryAttention& a) {
  for (const device::HeadSteps& heads : {a.q_steps, a.k_steps, a.v_steps, a.y_steps}) {
    AMP_CHECK(std::all_of(std::begin(heads.steps), std::end(heads.steps), [](int64_t step) { return step > 0; }));
  }
  for (int64_t batch = 0; batch < a.batch; ++batch) {
    for (int64_t head = 0; head < a.heads; ++head) {
      for (int64_t query = 0; query < a.queries; ++query) AttendQuery(a, batch, head, query);
    }
  }
}

}  // namespace amp
