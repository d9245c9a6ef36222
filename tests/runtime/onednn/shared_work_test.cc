// Work that threads share or one does alone: how that is decided, and that it changes no bit.
#include "runtime/onednn/shared_work.h"

#include <numeric>
#include <string>
#include <vector>

#include "runtime/onednn/open_library.h"
#include "tests/catch2.h"

namespace amp::onednn {
namespace {

constexpr float kUsual = 1e-4F;
constexpr bool kIsDue = true;

void Repeat(int count, WorkTimes& times, bool is_alone, float seconds) {
  for (int i = 0; i < count; ++i) times.Add(is_alone, seconds);
}

TEST_CASE("work that takes as long as usual is shared, however slow the first time was") {
  WorkTimes times;
  CHECK(!times.Choose(kIsDue).is_alone);
  Repeat(1, times, false, 100 * kUsual);
  CHECK(!times.Choose(kIsDue).is_alone);
  Repeat(3, times, false, kUsual);
  CHECK(!times.Choose(kIsDue).is_alone);
  Repeat(20, times, false, 1.9F * kUsual);
  CHECK(!times.Choose(kIsDue).is_alone);
}

TEST_CASE("work that waits is tried alone, and stays alone if that is faster") {
  WorkTimes times;
  Repeat(10, times, false, kUsual);
  Repeat(10, times, false, 20 * kUsual);
  REQUIRE(times.Choose(!kIsDue).is_alone);
  Repeat(1, times, true, 1.8F * kUsual);
  CHECK(times.Choose(!kIsDue).is_alone);
  const Choice trial = times.Choose(kIsDue);
  CHECK(!trial.is_alone);
  CHECK(trial.is_trial);
  INFO("the load is gone: trials find it");
  Repeat(40, times, false, kUsual);
  CHECK(!times.Choose(!kIsDue).is_alone);
}

TEST_CASE("work that waits is shared if it takes longer alone") {
  WorkTimes times;
  Repeat(10, times, false, kUsual);
  Repeat(20, times, false, 3 * kUsual);
  Repeat(1, times, true, 5 * kUsual);
  CHECK(!times.Choose(!kIsDue).is_alone);
  CHECK(times.Choose(kIsDue).is_alone);
}

TEST_CASE("equal shares: the calling thread waits no longer than the other shares would take it") {
  constexpr size_t kShares = 3;
  WaitTimes times;
  CHECK(!times.Choose(kShares, kIsDue).is_alone);
  times.Add(kUsual, 1.9F * kUsual);
  CHECK(!times.Choose(kShares, kIsDue).is_alone);
  for (int i = 0; i < 20; ++i) times.Add(kUsual, 2.2F * kUsual);
  CHECK(times.Choose(kShares, !kIsDue).is_alone);
  CHECK(times.Choose(kShares, kIsDue).is_trial);
  for (int i = 0; i < 40; ++i) times.Add(kUsual, 0);
  CHECK(!times.Choose(kShares, !kIsDue).is_alone);
}

TEST_CASE("trials are due by what was spent on the same work, and after a stop as soon as after a short one") {
  Trials trials;
  CHECK(trials.IsDue());
  trials.Add(/*is_trial=*/true, kUsual);
  CHECK(!trials.IsDue());
  for (int i = 0; i < 19; ++i) trials.Add(false, kUsual);
  CHECK(!trials.IsDue());
  for (int i = 0; i < 2; ++i) trials.Add(false, kUsual);
  CHECK(trials.IsDue());
  constexpr float kHour = 3600, kSecond = 1;
  trials.Add(true, kHour);
  trials.Add(false, kSecond / 2);
  CHECK(!trials.IsDue());
  trials.Add(false, kSecond);
  CHECK(trials.IsDue());
}

Operand RowMajor(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return {DType::kFloat32, dims, strides};
}
size_t NumElements(const Operand& operand) {
  return static_cast<size_t>(
      std::accumulate(operand.dims.begin(), operand.dims.end(), int64_t{1}, std::multiplies<>()));
}
std::vector<float> SomeNumbers(size_t count) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>((i * 7919) % 1009) / 1009.0F - 0.4F;
  return numbers;
}

// Checks that a product or convolution gives the same bits with all threads that it was made for, and with one of them.
template <typename Spec, typename Make>
void CheckBits(const Library& library, const Spec& spec, const Operand& a_of, const Operand& b_of, Make make) {
  std::string why_not;
  const std::unique_ptr<Primitive> primitive = make(spec, &why_not);
  INFO(why_not);
  REQUIRE(primitive != nullptr);
  INFO(primitive->implementation());
  const std::vector<float> a = SomeNumbers(NumElements(a_of)), b = SomeNumbers(NumElements(b_of));
  std::vector<float> shared(NumElements(spec.y)), alone(shared.size());
  std::vector<std::byte> scratch(primitive->scratch_bytes() + 1), packed(primitive->packed_bytes() + 1);
  Primitive::Arguments arguments;
  arguments.a = a.data();
  arguments.b = b.data();
  arguments.scratch = scratch.data();
  if (primitive->packed_bytes() > 0) {
    REQUIRE(primitive->Pack(b.data(), packed.data()));
    arguments.b = packed.data();
  }
  for (const Sharing sharing : {Sharing::kAlways, Sharing::kNever}) {
    library.SetSharing(sharing);
    arguments.y = (sharing == Sharing::kAlways ? shared : alone).data();
    CHECK(primitive->Run(arguments));
  }
  library.SetSharing(Sharing::kByTimes);
  CHECK(shared == alone);
}

// Channels of x and y, groups, size of the image and of the window.
struct Shape {
  int64_t n, c, k, groups, size, window, stride;
};

TEST_CASE("what was made for several threads gives the same bits on one") {
  const Library* const library = OpenLibrary().library;
  if (library == nullptr) {
    WARN("skipped: no oneDNN for this processor");
    return;
  }
  for (const int threads : {2, 3, 7}) {
    library->SetThreads(threads);
    CAPTURE(threads);
    for (const Shape& s :
         {Shape{1, 32, 64, 1, 56, 3, 1}, Shape{2, 3, 32, 1, 112, 3, 2}, Shape{1, 512, 2048, 1, 7, 1, 1},
          Shape{1, 2048, 48, 1, 14, 1, 1}, Shape{1, 96, 96, 96, 56, 3, 1}, Shape{1, 144, 144, 144, 57, 5, 2},
          Shape{4, 64, 64, 4, 28, 3, 1}, Shape{1, 40, 24, 1, 64, 7, 1}, Shape{8, 256, 256, 1, 4, 3, 1}}) {
      CAPTURE(s.n, s.c, s.k, s.groups, s.size, s.window, s.stride);
      ConvolutionSpec spec;
      const int64_t pad = s.window / 2, out = (s.size + 2 * pad - s.window) / s.stride + 1;
      spec.x = RowMajor({s.n, s.c, s.size, s.size});
      spec.y = RowMajor({s.n, s.k, out, out});
      spec.w = RowMajor({s.groups, s.k / s.groups, s.c / s.groups, s.window, s.window});
      spec.strides = {s.stride, s.stride};
      spec.dilations = {1, 1};
      spec.pads_begin = spec.pads_end = {pad, pad};
      CheckBits(*library, spec, spec.x, spec.w,
                [&](const auto& of, std::string* why_not) { return library->MakeConvolution(of, why_not); });
    }
    for (const auto& [m, k, n] :
         {std::array<int64_t, 3>{128, 768, 768}, {1, 4096, 1024}, {17, 65536, 16}, {512, 64, 512}}) {
      CAPTURE(m, k, n);
      const MatMulSpec spec = {.a = RowMajor({m, k}), .b = RowMajor({k, n}), .y = RowMajor({m, n}), .packs_b = true};
      CheckBits(*library, spec, spec.a, spec.b,
                [&](const auto& of, std::string* why_not) { return library->MakeMatMul(of, why_not); });
    }
  }
}

}  // namespace
}  // namespace amp::onednn
