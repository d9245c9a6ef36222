// The progress that a training run keeps beside the state: orders of samples, sums, curves; and how predictions are
// judged.
#include "tools/train/train_progress.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "tests/catch2.h"
#include "tools/data/judge_batch.h"
#include "tools/train/epoch_order.h"

namespace amp {
namespace {

TrainProgress Example() {
  TrainProgress p;
  p.batch = 128;
  p.num_samples = 60'000;
  p.drop_last = true;
  p.shuffle = std::numeric_limits<uint64_t>::max();
  p.base_rate = 0.1;
  p.flags = {{"--batch", "128"}, {"--shuffle", "none"}};
  p.epoch = 3;
  p.next_batch = 17;
  p.totals = {.steps = 17, .skipped = 2, .samples = 1920, .loss = 1.0 / 3, .judged = 1920, .right = 7, .seconds = 0.7};
  p.skips_in_a_row = 1;
  p.loss_scale = 16384;
  p.history = {
      {.epoch = 1, .totals = {}, .learning_rate = 0.1F, .loss_scale = 32768, .test_loss = {}, .test_accuracy = 0.5}};
  p.curve.Add(std::numeric_limits<double>::infinity());
  p.curve.Add(2.5);
  return p;
}

TEST_CASE("progress is read as it was written") {
  const TrainProgress progress = Example();
  const absl::StatusOr<TrainProgress> read = ParseProgress(ProgressJson(progress));
  INFO(read.status().message());
  REQUIRE(read.ok());
  CHECK(*read == progress);
}

TEST_CASE("progress that is none is an error") {
  const std::string json = ProgressJson(Example());
  for (size_t size = 0; size < json.size(); size += 7) CHECK_FALSE(ParseProgress(json.substr(0, size)).ok());
  CHECK(ParseProgress(absl::StrReplaceAll(json, {{"\"batch\":128", "\"batch\":-1"}})).status().message() ==
        "expected the progress of a training run, found a wrong 'batch'");
  CHECK_FALSE(ParseProgress(absl::StrReplaceAll(json, {{"\"history\":[", "\"history\":[3,"}})).ok());
  CHECK_FALSE(ParseProgress(absl::StrReplaceAll(json, {{"\"--batch\":\"128\"", "\"--batch\":128"}})).ok());
  CHECK_FALSE(ParseProgress("[]").ok());
}

TEST_CASE("changes of flags are those of flags that both runs have") {
  const std::map<std::string, std::string> before = {{"--batch", "128"}, {"--shuffle", "none"}};
  CHECK(ChangesSince(before, before).empty());
  CHECK(ChangesSince(before, {{"--batch", "64"}, {"--epochs", "3"}, {"--shuffle", "1"}}) ==
        "--batch 64 (was 128), --shuffle 1 (was none)");
}

TEST_CASE("an epoch has each sample once, in another order than the one before, the same on every machine") {
  CHECK(EpochOrder(4, std::nullopt, 5) == std::vector<int64_t>{0, 1, 2, 3});
  std::vector<int64_t> order = EpochOrder(1000, 1, 0);
  CHECK(order != EpochOrder(1000, 1, 1));
  CHECK(order != EpochOrder(1000, 2, 0));
  CHECK(order == EpochOrder(1000, 1, 0));
  std::sort(order.begin(), order.end());
  CHECK(order == EpochOrder(1000, std::nullopt, 0));
  CHECK(EpochOrder(0, 1, 0).empty());
}

TEST_CASE("a curve keeps means, however many steps there are") {
  LossCurve curve;
  for (int i = 0; i < 1000; ++i) curve.Add(i < 500 ? 2 : 1);
  CHECK(curve.means.size() < 128);
  CHECK(curve.means.front() == 2);
  CHECK(curve.means.back() == 1);
  const std::string drawn = DrawCurve(curve);
  CHECK(std::count(drawn.begin(), drawn.end(), '\n') == 11);
  CHECK(absl::StrContains(drawn, "         2 |****"));
  CHECK(absl::StrContains(drawn, "loss over 1000 steps"));
  CHECK(DrawCurve({}).empty());
}

TEST_CASE("predictions are judged by the largest score") {
  const Tensor scores = Tensor::Of<float>(DType::kFloat32, {3, 2}, {1, 0, 0, 3, 2, 2});
  CHECK(CountRight(scores, Tensor::OfInts({0, 0, 0})) == 2);
  CHECK(CountRight(scores, Tensor::Of<float>(DType::kFloat32, {3, 2}, {0, 1, 0, 1, 0, 1})) == 1);
  CHECK_FALSE(CountRight(scores, Tensor::OfInts({0, 0})).has_value());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(CountRight(Tensor::Of<float>(DType::kFloat32, {2, 2}, {nan, nan, 1, 0}), Tensor::OfInts({0, 0})) == 1);
  CHECK_FALSE(CountRight(scores, Tensor::OfInts({0, 2, 0})).has_value());
  CHECK(*SoftmaxCrossEntropy(scores, Tensor::OfInts({0, 1, 1})) ==
        Approx((std::log(1 + std::exp(-1)) + std::log(1 + std::exp(-3)) + std::log(2)) / 3));
  CHECK(*MeanSquaredError(scores, Tensor::Of<float>(DType::kFloat32, {3, 2}, {0, 0, 0, 0, 0, 0})) == Approx(18.0 / 6));
}

TEST_CASE("the line and the table of an epoch") {
  EpochRecord r{
      .epoch = 2,
      .totals = {.steps = 4, .skipped = 1, .samples = 30, .loss = 15, .judged = 30, .right = 27, .seconds = 0.01},
      .learning_rate = 0.5,
      .loss_scale = 512,
      .test_loss = {},
      .test_accuracy = 0.875};
  CHECK(EpochLine(r, 5, {.has_scale = true, .may_skip = true}) ==
        "epoch 2/5  loss 0.5000  accuracy 0.9000  loss scale 512  skipped 1  2.500 ms/step  test accuracy 0.8750\n");
  CHECK(EpochLine(r, 5, {.may_skip = true}) ==
        "epoch 2/5  loss 0.5000  accuracy 0.9000  skipped 1  2.500 ms/step  test accuracy 0.8750\n");
  CHECK(EpochLine(r, 5, {}) == "epoch 2/5  loss 0.5000  accuracy 0.9000  2.500 ms/step  test accuracy 0.8750\n");
  CHECK(HistoryCsv({r}) ==
        "epoch,loss,accuracy,loss_scale,skipped,steps,ms_per_step,learning_rate,test_loss,test_accuracy\n"
        "2,0.5,0.9,512,1,4,2.5000,0.5,,0.875\n");
  r.totals.judged = 0;
  r.totals.measured = 30;
  r.totals.absolute_error = 6;
  r.test_absolute_error = 0.25;
  r.test_accuracy.reset();
  CHECK(EpochLine(r, 5, {}) ==
        "epoch 2/5  loss 0.5000  mean absolute error 0.2000  2.500 ms/step  test mean absolute error 0.2500\n");
  CHECK_THAT(HistoryCsv({r}), Catch::Matchers::Contains("test_accuracy,mean_absolute_error,test_mean_absolute_error\n"
                                                        "2,0.5,,512,1,4,2.5000,0.5,,,0.2,0.25\n"));
}

TEST_CASE("the best epoch has the least test loss that is a number, the first of equal ones") {
  const auto of = [](const std::vector<double>& losses) {
    std::vector<EpochRecord> history;
    history.reserve(losses.size());
    for (const double loss : losses) {
      history.push_back(
          {.epoch = static_cast<int64_t>(history.size()) + 1, .totals = {}, .test_loss = loss, .test_accuracy = {}});
    }
    return history;
  };
  const double nan = std::nan("");
  CHECK(BestEpoch(of({})) == 0);
  CHECK(BestEpoch(of({3, 2, 2, nan, 2.5})) == 2);
  CHECK(EpochsSinceBest(of({3, 2, 2, nan, 2.5})) == 3);
  CHECK(BestEpoch(of({nan, nan})) == 0);
  CHECK(EpochsSinceBest(of({nan, nan})) == 2);
  CHECK(EpochsSinceBest(of({2, 1})) == 0);
}

}  // namespace
}  // namespace amp
