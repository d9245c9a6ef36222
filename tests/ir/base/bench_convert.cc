// Conversion speed: GB/s read plus written on one core, per path and type, with memcpy beside it.
//
//   build/tests/bench_convert [elements] [rounds]     (default 64 Mi elements, 9 rounds)
//
// All entries take turns within a round and medians over the rounds are printed, so that a slow moment of the machine
// falls on all of them alike.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "ir/base/convert.h"

namespace amp {
namespace {

struct Entry {
  std::string name;
  double bytes_per_element;
  std::function<void()> run;
  std::vector<double> seconds = {};
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Measure(size_t num_elements, int num_rounds) {
  std::vector<float> in(num_elements);
  std::vector<float> back(num_elements);
  std::vector<uint16_t> out(num_elements);
  std::vector<double> wide(num_elements / 8);
  std::mt19937 random(1);
  std::normal_distribution<float> weights(0, 0.05f);
  for (float& value : in) value = weights(random);
  std::copy(in.begin(), in.begin() + static_cast<ptrdiff_t>(wide.size()), wide.begin());

  std::vector<Entry> entries;
  entries.push_back({"memcpy", 8, [&] { std::memcpy(back.data(), in.data(), in.size() * sizeof(float)); }});
  for (const DType low : {DType::kFloat16, DType::kBfloat16}) {
    for (const ConvertPath path : AvailableConvertPaths()) {
      const std::string suffix = " " + std::string(DTypeName(low)) + " " + std::string(ConvertPathName(path));
      entries.push_back({"Narrow" + suffix, 6, [&, path, low] { NarrowOn(path, in, low, absl::MakeSpan(out)); }});
      entries.push_back({"NarrowWithStats" + suffix, 6, [&, path, low] {
                           NarrowingStats stats;
                           NarrowWithStatsOn(path, in, low, absl::MakeSpan(out), stats);
                         }});
      entries.push_back({"Widen" + suffix, 6, [&, path, low] { WidenOn(path, out, low, absl::MakeSpan(back)); }});
    }
    entries.push_back({"SurveyNarrowing " + std::string(DTypeName(low)), 4, [&, low] {
                         NarrowingStats stats;
                         SurveyNarrowing(in, low, stats);
                       }});
    // An eighth of the elements.
    entries.push_back({"NarrowFloat64 " + std::string(DTypeName(low)), 10.0 / 8,
                       [&, low] { NarrowFloat64(wide, low, absl::MakeSpan(out).first(wide.size())); }});
  }
  for (int round = 0; round < num_rounds; ++round) {
    for (Entry& entry : entries) {
      const auto start = std::chrono::steady_clock::now();
      entry.run();
      entry.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  }
  std::printf("%zu elements, median of %d rounds, GB/s read + written\n", num_elements, num_rounds);
  for (const Entry& entry : entries) {
    const double bytes = entry.bytes_per_element * static_cast<double>(num_elements);
    std::printf("%-36s %6.1f\n", entry.name.c_str(), bytes / Median(entry.seconds) / 1e9);
  }
}

}  // namespace
}  // namespace amp

int main(int argc, char** argv) {
  const long num_elements = argc > 1 ? std::atol(argv[1]) : 64L << 20;
  const long num_rounds = argc > 2 ? std::atol(argv[2]) : 9;
  if (num_elements < 8 || num_rounds < 1) {
    std::fprintf(stderr, "usage: bench_convert [elements] [rounds]\n");
    return 2;
  }
  amp::Measure(static_cast<size_t>(num_elements), static_cast<int>(num_rounds));
  return 0;
}
