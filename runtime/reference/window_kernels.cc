// Window functions: HannWindow, HammingWindow, BlackmanWindow.
//
// All are w[i] = a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n), where n is the size for periodic windows, and one less
// for symmetric ones.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>

#include "runtime/reference/elementwise.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

struct CosineSum {
  double a0, a1, a2;

  double operator()(double turns) const {
    const double angle = 2 * std::numbers::pi * turns;
    return a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle);
  }
};
constexpr CosineSum kHann = {0.5, 0.5, 0};
constexpr CosineSum kHamming = {25.0 / 46, 21.0 / 46, 0};
constexpr CosineSum kBlackman = {0.42, 0.5, 0.08};

constexpr size_t kChunk = 1024;

template <const CosineSum& kWindow>
absl::Status Window(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const int64_t size, context.InputInt(0));
  const std::optional<DType> dtype =
      HasAttribute(context.node(), "output_datatype") ? GetDType(context.node(), "output_datatype") : DType::kFloat32;
  if (!dtype.has_value()) return ModelError("expected an element type as output_datatype, found none");
  if (!VisitNumbers(*dtype, [](auto) {})) return context.TypeError(*dtype);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, *dtype, {size}));
  const int64_t period = GetInt(context.node(), "periodic", 1) != 0 ? size : size - 1;
  std::array<double, kChunk> buffer;
  const auto count = static_cast<size_t>(size);
  for (size_t first = 0; first < count; first += kChunk) {
    const absl::Span<double> chunk(buffer.data(), std::min(kChunk, count - first));
    for (size_t i = 0; i < chunk.size(); ++i) {
      // A symmetric window of one element is its own middle.
      const double turns = period == 0 ? 0.5 : static_cast<double>(first + i) / static_cast<double>(period);
      chunk[i] = kWindow(turns);
    }
    StoreDoubles(chunk, *y, first);
  }
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"BlackmanWindow", Window<kBlackman>},
    {"HammingWindow", Window<kHamming>},
    {"HannWindow", Window<kHann>},
};

}  // namespace

absl::Span<const KernelRow> WindowKernels() { return kRows; }

}  // namespace amp
