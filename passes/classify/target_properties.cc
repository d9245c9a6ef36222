#include "passes/classify/target_properties.h"

#include <algorithm>
#include <array>

#include "ir/base/dtype.h"

namespace amp {
namespace {

constexpr std::array<absl::string_view, 5> kNames = {"accumulate", "device", "rnn", "softmax", "stats"};

absl::string_view DeviceName(Device device) {
  switch (device) {
    case Device::kCuda:
      return "cuda";
    case Device::kCpu:
      return "cpu";
    case Device::kXpu:
      return "xpu";
    case Device::kTpu:
      return "tpu";
  }
  return "";
}

std::optional<absl::string_view> TypeIf(bool is_promised, DType type) {
  return is_promised ? std::optional(DTypeName(type)) : std::nullopt;
}

}  // namespace

absl::Span<const absl::string_view> TargetPropertyNames() { return kNames; }

std::optional<TargetProperty> FindTargetProperty(absl::string_view name) {
  const auto it = std::find(kNames.begin(), kNames.end(), name);
  return it == kNames.end() ? std::nullopt : std::optional(static_cast<TargetProperty>(it - kNames.begin()));
}

std::optional<absl::string_view> PromisedValue(const TargetPromises& promises, TargetProperty property) {
  switch (property) {
    case TargetProperty::kAccumulate:
      return TypeIf(promises.float32_accumulation, DType::kFloat32);
    case TargetProperty::kDevice:
      return promises.device.has_value() ? std::optional(DeviceName(*promises.device)) : std::nullopt;
    case TargetProperty::kRnn:
      return TypeIf(promises.bfloat16_recurrence, DType::kBfloat16);
    case TargetProperty::kSoftmax:
      return TypeIf(promises.float32_softmax, DType::kFloat32);
    case TargetProperty::kStats:
      return TypeIf(promises.float32_statistics, DType::kFloat32);
  }
  return std::nullopt;
}

}  // namespace amp
