// Ranks whose devices speak to each other, by test doubles in threads; and one rank alone on a GPU, where there is one.
#include "runtime/parallel/exchange_rank_group.h"
#include "tests/catch2.h"
#include "tests/runtime/device/fake_device.h"
#include "tests/runtime/device/run_on_device.h"
#include "tests/runtime/parallel/thread_transport.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

const SessionText kMeans = {
    .text = R"(<ir_version: 8, opset_import: ["" : 17, "ai.amp" : 1], metadata_props: ["amp.state" : "[]"]>
  g (float[4] x, float[] limit) => (float[4] mean, bool all, float[4] twice) {
    d = Neg (x) started = ai.amp.StartMeanOverRanks (d) twice = Add (d, d) mean = ai.amp.MeanOverRanks (started)
    sum = ReduceSum <keepdims = 0> (x) below = Less (sum, limit) all = ai.amp.TrueOnAllRanks (below) }
  <domain: "ai.amp", opset_import: ["" : 17]> StartMeanOverRanks (value) => (started) { started = Identity (value) }
  <domain: "ai.amp", opset_import: ["" : 17]> MeanOverRanks (started) => (mean) { mean = Identity (started) }
  <domain: "ai.amp", opset_import: ["" : 17]> TrueOnAllRanks (own) => (all) { all = Identity (own) })"};

Tensor Fours(float value) { return Tensor::Of<float>(DType::kFloat32, {4}, {value, value, value, value}); }
std::vector<float> ReadFloats(const Datum& datum) {
  const auto elements = datum.tensor()->elements<float>();
  return {elements.begin(), elements.end()};
}

TEST_CASE("means go from device to device, also where they are replayed") {
  ThreadWorld(3).Run([&](RankGroup& ranks) {
    const auto state = std::make_shared<FakeDeviceState>();
    SessionOptions options;
    options.device = OpenFakeDevice(state);
    options.ranks = &ranks;
    AMP_CHECK(options.device->JoinRanks(ranks).ok());
    AMP_CHECK(options.device->ranks_text() == "ranks of the double");
    auto session = CreateSession(kMeans, options);
    AMP_CHECK(session.ok());
    const auto rank = static_cast<float>(ranks.rank());
    for (int run = 0; run < 4; ++run) {
      const float limit = run == 2 ? 6 : 100;
      const auto outputs = (*session)->Run({{"x", Fours(rank)}, {"limit", Tensor::Scalar(limit)}});
      AMP_CHECK(outputs.ok());
      AMP_CHECK(ReadFloats((*outputs)[0]) == std::vector<float>(4, -1));
      AMP_CHECK((*outputs)[1].tensor()->elements<bool>()[0] == (run != 2));
      AMP_CHECK(ReadFloats((*outputs)[2]) == std::vector<float>(4, -2 * rank));
      AMP_CHECK((*session)->LastCopies().out == 3);
    }
    AMP_CHECK(state->replays == 3);
    AMP_CHECK(state->folds == 2 + 2 + 1 + 1);  // asked for: the mean in a plain run and a recording, the flag in each
    return true;
  });
}

// Two ranks, the first of which cannot record a convolution. How often each has replayed in four runs.
std::vector<int> ReplaysOf(const std::string& nodes) {
  const SessionText text = {.text = absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17, "ai.amp" : 1],
    metadata_props: ["amp.state" : "[]"]>
  g (float[1,1,2,2] x, float[1,1,2,2] z) => (float[1,1,2,2] mean, float[1,1,2,2] y) {
    k = Constant <value = float[1,1,1,1] {2}> ()
    )",
                                                 nodes, R"(}
  <domain: "ai.amp", opset_import: ["" : 17]> StartMeanOverRanks (value) => (started) { started = Identity (value) }
  <domain: "ai.amp", opset_import: ["" : 17]> MeanOverRanks (started) => (mean) { mean = Identity (started) })")};
  std::vector<int> replays(2);
  ThreadWorld(2).Run([&](RankGroup& ranks) {
    const auto state = std::make_shared<FakeDeviceState>();
    SessionOptions options;
    options.device = OpenFakeDevice(state, {.records_operations = ranks.rank() != 0});
    options.ranks = &ranks;
    AMP_CHECK(options.device->JoinRanks(ranks).ok());
    auto session = CreateSession(text, options);
    AMP_CHECK(session.ok());
    for (int run = 0; run < 4; ++run) {
      const auto own = static_cast<float>(10 * run + ranks.rank());
      const auto outputs =
          (*session)->Run({{"x", Fours(own).Reshaped({1, 1, 2, 2})}, {"z", Fours(own).Reshaped({1, 1, 2, 2})}});
      AMP_CHECK(outputs.ok());
      AMP_CHECK(ReadFloats((*outputs)[0]) == std::vector<float>(4, 20 * static_cast<float>(run) + 1));
      AMP_CHECK(ReadFloats((*outputs)[1]) == std::vector<float>(4, 4 * own));
    }
    replays[static_cast<size_t>(ranks.rank())] = state->replays;
    return true;
  });
  return replays;
}

TEST_CASE("a rank that cannot replay what it has recorded folds no more often than the others") {
  // Within the stretch: of what was recorded nothing has happened.
  CHECK(ReplaysOf(R"(b = Neg (x) c = Conv (x, k) started = ai.amp.StartMeanOverRanks (c)
    mean = ai.amp.MeanOverRanks (started) d = Conv (c, k) y = Identity (d) e = Sum (z))") == std::vector<int>{0, 3});
  // Behind a fold, and a copy: a run that began again would fold once more, so that nothing is recorded there.
  CHECK(ReplaysOf(R"(b = Add (x, x) started = ai.amp.StartMeanOverRanks (b) mean = ai.amp.MeanOverRanks (started)
    c = Add (z, z) d = Conv (c, k) n = Softmax (d) m = Mul (n, n) y = Identity (d))") == std::vector<int>{3, 3});
}

TEST_CASE("where one of the ranks lacks the library, all are told, and means go through the processor") {
  ThreadWorld(2).Run([&](RankGroup& ranks) {
    const auto state = std::make_shared<FakeDeviceState>();
    SessionOptions options;
    options.device = OpenFakeDevice(state, {.has_ranks = ranks.rank() == 0});
    options.ranks = &ranks;
    const absl::Status joined = options.device->JoinRanks(ranks);
    AMP_CHECK(absl::IsUnimplemented(joined));
    AMP_CHECK(joined.message() == "rank 1: the double has no ranks");
    auto session = CreateSession(kMeans, options);
    AMP_CHECK(session.ok());
    const auto rank = static_cast<float>(ranks.rank());
    for (int run = 0; run < 3; ++run) {
      const auto outputs = (*session)->Run({{"x", Fours(rank)}, {"limit", Tensor::Scalar(3.0F)}});
      AMP_CHECK(outputs.ok());
      AMP_CHECK(ReadFloats((*outputs)[0]) == std::vector<float>(4, -0.5));
      AMP_CHECK(!(*outputs)[1].tensor()->elements<bool>()[0]);
    }
    AMP_CHECK(state->folds == 0);
    return true;
  });
}

TEST_CASE("one rank alone gets what it gives") {
  for (const std::shared_ptr<Accelerator>& device : TestDevices()) {
    ThreadWorld(1).Run([&](RankGroup& ranks) {
      const absl::Status joined = device->JoinRanks(ranks);
      if (absl::IsUnimplemented(joined)) {
        WARN(device->name() << ": " << joined.message());
        return true;
      }
      AMP_CHECK(joined.ok());
      Tensor values = *device->CopyIn(Fours(3), nullptr);
      device->StartAllReduce(values, device::AllReduce::kMean);
      device->AwaitAllReduces();
      AMP_CHECK(ReadFloats(Datum(*device->CopyOut(values, nullptr))) == std::vector<float>(4, 3));
      return true;
    });
  }
}

}  // namespace
}  // namespace amp
