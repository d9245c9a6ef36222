// Large copies by way of pinned memory, by a test double that puts them off for as long as it may: what arrives, in
// which order, and what happens where no memory can be pinned.
#include "runtime/device/staged_copies.h"

#include <algorithm>
#include <numeric>
#include <thread>

#include "runtime/device/raw/elementwise.h"
#include "tests/catch2.h"
#include "tests/runtime/device/fake_device.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

constexpr size_t kStage = 64, kLeast = 8;

Tensor Bytes(size_t count, uint8_t first) {
  Tensor tensor = *Tensor::Create(DType::kUint8, {static_cast<int64_t>(count)});
  const absl::Span<uint8_t> elements = tensor.mutable_elements<uint8_t>();
  std::iota(elements.begin(), elements.end(), first);
  return tensor;
}

void Spoil(Tensor& tensor) {
  const absl::Span<uint8_t> elements = tensor.mutable_elements<uint8_t>();
  std::fill(elements.begin(), elements.end(), uint8_t{0xee});
}

std::vector<uint8_t> ElementsOf(const Tensor& tensor) {
  const absl::Span<const uint8_t> elements = tensor.elements<uint8_t>();
  return {elements.begin(), elements.end()};
}

TEST_CASE("copies of every size arrive, several in a row, whatever becomes of what they were made from") {
  const auto state = std::make_shared<FakeDeviceState>();
  {
    const auto device = OpenFakeDevice(state, {.stage_bytes = kStage});
    const size_t sizes[] = {0, 1, kLeast - 1, kLeast, kStage - 1, kStage, kStage + 1, 2 * kStage, 3 * kStage + 5, 1000};
    std::vector<Tensor> there;
    int parts = 0;
    for (const size_t size : sizes) {
      Tensor from = Bytes(size, static_cast<uint8_t>(size));
      there.push_back(*device->CopyIn(from, nullptr));
      Spoil(from);
      parts += size < kLeast ? 0 : static_cast<int>((size + kStage - 1) / kStage);
      CHECK(state->staged == parts);
    }
    CHECK(state->pinned_blocks == 2);
    for (size_t i = 0; i < there.size(); ++i) {
      INFO(sizes[i]);
      CHECK(ElementsOf(*device->CopyOut(there[i], nullptr)) ==
            ElementsOf(Bytes(sizes[i], static_cast<uint8_t>(sizes[i]))));
    }
    CHECK(state->staged == 2 * parts);
  }
  CHECK(state->pinned_blocks == 0);
}

TEST_CASE("what is copied in behind a kernel, or over what one has read, comes in that order") {
  const auto device = OpenFakeDevice(nullptr, {.stage_bytes = kStage});
  const Tensor first = Bytes(300, 1), second = Bytes(300, 77);
  Tensor x = *device->CopyIn(first, nullptr);
  Tensor before = *Tensor::Create(DType::kUint8, {300}, device.get()), after = before;
  after = *Tensor::Create(DType::kUint8, {300}, device.get());
  device->CopyWithin(x, before);
  CHECK(device->CopyInto(second, x).ok());
  device->CopyWithin(x, after);
  CHECK(device->CopyInto(first, x).ok());
  CHECK(ElementsOf(*device->CopyOut(before, nullptr)) == ElementsOf(first));
  CHECK(ElementsOf(*device->CopyOut(after, nullptr)) == ElementsOf(second));
  CHECK(ElementsOf(*device->CopyOut(x, nullptr)) == ElementsOf(first));
  CHECK(device->Finish().ok());
}

TEST_CASE("small copies pin nothing, and where nothing can be pinned, large ones go without") {
  const auto state = std::make_shared<FakeDeviceState>();
  const auto device = OpenFakeDevice(state, {.stage_bytes = kStage});
  CHECK(ElementsOf(*device->CopyOut(*device->CopyIn(Bytes(kLeast - 1, 3), nullptr), nullptr)) ==
        ElementsOf(Bytes(kLeast - 1, 3)));
  CHECK(state->pinned_blocks == 0);
  CHECK(device->CopiesText().empty());
  const auto none_state = std::make_shared<FakeDeviceState>();
  const auto none = OpenFakeDevice(none_state, {.stage_bytes = kStage, .has_pinned_memory = false});
  for (int i = 0; i < 2; ++i) {
    CHECK(ElementsOf(*none->CopyOut(*none->CopyIn(Bytes(1000, 9), nullptr), nullptr)) == ElementsOf(Bytes(1000, 9)));
  }
  CHECK(none_state->staged == 0);
  CHECK(none_state->pinned_blocks == 0);
  CHECK(none->Status().ok());
  CHECK(none->CopiesText() ==
        "large copies go from and to pageable memory: none is pinned: no error of the double's (error 902)");
}

// Results of the threads are checked after they have ended: Catch's assertions, also those inside MakeSession and
// RunSession, may be made by one thread only.
TEST_CASE("sessions of several threads on one device share its pinned memory") {
  const SessionText text = {.text = R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,8] x) => (float[n,8] y) { a = Softmax (x) b = MatMul (a, w) y = Softmax (b) })",
                            .constants = {{"w", RandomTensor(DType::kFloat32, {8, 8})}}};
  SessionOptions options;
  options.device = OpenFakeDevice(nullptr, {.stage_bytes = kStage});
  struct Work {
    NamedDatums inputs;
    std::vector<Tensor> expected;
    std::string difference;
  };
  std::vector<Work> work(3);
  std::vector<std::thread> threads;
  threads.reserve(work.size());
  int64_t rows = 0;
  for (Work& one : work) {
    one.inputs["x"] = RandomTensor(DType::kFloat32, {rows += 11, 8});
    one.expected = RunSession(*MakeSession(text), one.inputs);
  }
  for (Work& one : work) {
    threads.emplace_back([&] {
      const absl::StatusOr<std::unique_ptr<Session>> session = CreateSession(text, options);
      if (!session.ok()) one.difference = std::string(session.status().message());
      for (int run = 0; run < 20 && one.difference.empty(); ++run) {
        one.difference = DifferenceOf(*TryToRun(**session, one.inputs), one.expected, 1e-5);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Work& one : work) CHECK(one.difference == "");
}

}  // namespace
}  // namespace amp
