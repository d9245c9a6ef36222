// The kernels of what makes one step of those of several ranks, in sessions of ranks that are threads and of one.
#include <atomic>

#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/parallel/thread_transport.h"
#include "tests/runtime/session_text.h"

namespace amp {
namespace {

constexpr char kFunctions[] = R"(
  <domain: "ai.amp", opset_import: ["" : 17]> StartMeanOverRanks (value) => (started) { started = Identity (value) }
  <domain: "ai.amp", opset_import: ["" : 17]> MeanOverRanks (started) => (mean) { mean = Identity (started) }
  <domain: "ai.amp", opset_import: ["" : 17]> TrueOnAllRanks (own) => (all) { all = Identity (own) })";

std::unique_ptr<Session> MakeSession(const std::string& graph, RankGroup* ranks) {
  SessionOptions options;
  options.ranks = ranks;
  auto session = CreateSession({.text = absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17, "ai.amp" : 1],
           metadata_props: ["amp.state" : "[]"]>)",
                                                     graph, kFunctions)},
                               options);
  AMP_CHECK(session.ok());
  return *std::move(session);
}

bool AllOf(RankGroup* ranks, bool own) {
  const auto session = MakeSession("g (bool own) => (bool all) { all = ai.amp.TrueOnAllRanks (own) }", ranks);
  const auto outputs = TryToRun(*session, {{"own", Tensor::Of<bool>(DType::kBool, {}, {own})}});
  AMP_CHECK(outputs.ok());
  return outputs->front().elements<bool>()[0];
}

TEST_CASE("a flag holds if it holds on every rank, and all learn of it") {
  CHECK(AllOf(nullptr, true));
  CHECK_FALSE(AllOf(nullptr, false));
  for (int num_false = 0; num_false < 3; ++num_false) {
    std::atomic<int> num_true = 0;
    ThreadWorld(3).Run([&](RankGroup& ranks) {
      num_true += AllOf(&ranks, ranks.rank() >= num_false) ? 1 : 0;
      return true;
    });
    CHECK(num_true == (num_false == 0 ? 3 : 0));
  }
}

TEST_CASE("means of several tensors, the first one waited for last") {
  constexpr char kGraph[] = R"(g (float[2] x, float[n] y) => (float[n] b, float[2] a) {
    p = ai.amp.StartMeanOverRanks (x)
    q = ai.amp.StartMeanOverRanks (y)
    b = ai.amp.MeanOverRanks (q)
    a = ai.amp.MeanOverRanks (p)
  })";
  const auto inputs_of = [](float rank) {
    return NamedDatums{{"x", Tensor::Of<float>(DType::kFloat32, {2}, {rank, 1})},
                       {"y", Tensor::Of<float>(DType::kFloat32, {3}, {rank, 2 * rank, -rank})}};
  };
  const auto floats = [](const Tensor& tensor) {
    return std::vector<float>(tensor.elements<float>().begin(), tensor.elements<float>().end());
  };
  const auto alone = TryToRun(*MakeSession(kGraph, nullptr), inputs_of(5));
  REQUIRE(alone.ok());
  CHECK(floats((*alone)[1]) == std::vector<float>{5, 1});
  std::atomic<int> num_right = 0;
  ThreadWorld(3).Run([&](RankGroup& ranks) {
    const auto session = MakeSession(kGraph, &ranks);
    for (int run = 0; run < 3; ++run) {
      const auto outputs = TryToRun(*session, inputs_of(static_cast<float>(ranks.rank() + run)));
      const auto mean = static_cast<float>(1 + run);
      const bool is_right = outputs.ok() && floats((*outputs)[0]) == std::vector<float>{mean, 2 * mean, -mean} &&
                            floats((*outputs)[1]) == std::vector<float>{mean, 1};
      num_right += is_right ? 1 : 0;
    }
    return true;
  });
  CHECK(num_right == 9);
}

TEST_CASE("a mean that nobody started is an error that names the node") {
  ThreadWorld(2).Run([&](RankGroup& ranks) {
    const auto session = MakeSession("g (float[2] x) => (float[2] a) { [node] a = ai.amp.MeanOverRanks (x) }", &ranks);
    const auto outputs = TryToRun(*session, {{"x", Tensor::Of<float>(DType::kFloat32, {2}, {1, 2})}});
    AMP_CHECK(absl::IsDataLoss(outputs.status()));
    AMP_CHECK(
        absl::StrContains(outputs.status().message(), "node (ai.amp::MeanOverRanks-1): expected a mean over ranks"));
    return true;
  });
}

}  // namespace
}  // namespace amp
