// Prints the GPUs that detection finds, on one line: "NVIDIA H200 9.0, Odd unknown", or "none: why".
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/hardware/hardware.h"

int main() {
  const amp::Hardware hardware = amp::DetectHardware();
  const auto format = [](std::string* out, const amp::Gpu& gpu) {
    absl::StrAppend(out, gpu.name, " ", gpu.capability ? amp::CapabilityText(*gpu.capability) : "unknown");
  };
  const std::string line =
      hardware.gpus.empty() ? absl::StrCat("none: ", hardware.no_gpu_why) : absl::StrJoin(hardware.gpus, ", ", format);
  std::puts(line.c_str());
}
