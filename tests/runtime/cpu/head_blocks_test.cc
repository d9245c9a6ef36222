// Blocks of heads, gathered and put back, against the plainest loop: any strides, two types, fewer rows than the most.
#include "runtime/cpu/head_blocks.h"

#include <numeric>
#include <random>
#include <vector>

#include "ir/base/convert.h"
#include "runtime/kernel/shape_math.h"
#include "tests/catch2.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

class NoBodies : public BodyRunner {
 public:
  size_t NumInputs(GraphId) const override { return 0; }
  absl::StatusOr<std::vector<Datum>> Run(GraphId, std::vector<Datum>) override {
    return absl::InternalError("no bodies");
  }
};

// A kernel's context with nothing in it but memory.
class EmptyContext {
 public:
  EmptyContext()
      : session_(MakeSession({.text = "<ir_version: 8, opset_import: [\"\" : 19]> g (float[1] x) => (float[1] y) { "
                                      "y = Neg (x) }"})),
        context_(session_->model(), session_->program().blocks[kMainGraph][0].node, {}, {}, resources_, bodies_,
                 site_) {}
  const KernelContext& get() const { return context_; }

 private:
  std::unique_ptr<Session> session_;
  RunResources resources_;
  NoBodies bodies_;
  KernelSite site_;
  KernelContext context_;
};

// [batch, heads, rows, columns] in memory in another order of axes.
HeadStrides StridesIn(const Dims& dims, const std::vector<size_t>& order) {
  HeadStrides strides;
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= dims[order[i]];
  }
  return strides;
}

double NumberAt(const Tensor& x, size_t i) {
  return x.dtype() == DType::kFloat32 ? x.elements<float>()[i] : WidenOne(x.elements<uint16_t>()[i], x.dtype());
}

Tensor Random(DType dtype, const Dims& dims) { return RandomTensor(dtype, dims, Values::kPlain, 1); }

void CheckBothWays(const Dims& dims, const std::vector<size_t>& order, DType stored, DType compute) {
  const EmptyContext context;
  const HeadStrides strides = StridesIn(dims, order);
  INFO(DimsText(dims) << " " << order[0] << order[1] << order[2] << order[3] << " " << DTypeName(stored) << " "
                      << DTypeName(compute));
  const HeadOperand x{Random(stored, {ElementsBetween(dims, 0, 4)}), strides};
  Tensor y = Random(stored, {ElementsBetween(dims, 0, 4)});
  const HeadBlock most{.heads = dims[1], .rows = dims[2], .columns = dims[3]};
  auto reader = HeadReader::Create(context.get(), x, most, compute, HeadAccess::kGathered);
  auto writer = HeadWriter::Create(context.get(), y, strides, most, compute, HeadAccess::kGathered);
  REQUIRE((reader.ok() && writer.ok()));
  const auto seen = StridesOfBlock(strides, most, HeadAccess::kGathered);
  size_t wrong = 0;
  for (int64_t batch = 0; batch < dims[0]; ++batch) {
    for (const int64_t rows : {dims[2], dims[2] / 2 + 1}) {
      const HeadPlace place{.batch = batch, .head = 0, .row = dims[2] - rows};
      const HeadBlock block{.heads = dims[1], .rows = rows, .columns = dims[3]};
      const void* const gathered = reader->Read(place, block);
      Tensor view = *Tensor::Create(compute, {most.num_elements()});
      std::memcpy(view.mutable_bytes().data(), gathered, view.size_bytes());
      std::memcpy(writer->Begin(place), gathered, view.size_bytes());
      writer->End(place, block);
      for (StridedWalk walk({dims[1], rows, dims[3]}, {}); !walk.AtEnd(); walk.Next()) {
        const Dims& at = walk.index();
        const auto lies = static_cast<size_t>(batch * strides[0] + at[0] * strides[1] +
                                              (place.row + at[1]) * strides[2] + at[2] * strides[3]);
        const auto is_at = static_cast<size_t>(at[0] * seen[0] + at[1] * seen[1] + at[2] * seen[2]);
        wrong += NumberAt(view, is_at) != NumberAt(x.tensor, lies) || NumberAt(y, lies) != NumberAt(x.tensor, lies);
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("gathered heads have the elements of those that lie elsewhere, and come back") {
  for (const auto& [stored, compute] : {std::pair(DType::kFloat16, DType::kFloat32),
                                        {DType::kFloat32, DType::kFloat32},
                                        {DType::kBfloat16, DType::kFloat32},
                                        {DType::kBfloat16, DType::kBfloat16}}) {
    std::vector<size_t> order = {0, 1, 2, 3};
    do {
      CheckBothWays({2, 3, 5, 7}, order, stored, compute);
    } while (std::next_permutation(order.begin(), order.end()));
    CheckBothWays({1, 2, 3, 600}, {0, 3, 2, 1}, stored, compute);
    CheckBothWays({1, 1, 600, 3}, {0, 1, 3, 2}, stored, compute);
    CheckBothWays({2, 1, 1, 1}, {0, 1, 2, 3}, stored, compute);
  }
}

TEST_CASE("heads that stay where they lie are read and written there") {
  const EmptyContext context;
  const HeadOperand x{Random(DType::kFloat32, {120}), {60, 5, 15, 1}};
  const HeadBlock most{.heads = 3, .rows = 4, .columns = 5};
  auto reader = HeadReader::Create(context.get(), x, most, DType::kFloat32, HeadAccess::kWhereTheyLie);
  REQUIRE(reader.ok());
  CHECK(reader->Read({1, 2, 3}, most) == x.tensor.elements<float>().data() + 60 + 10 + 45);
  CHECK(StridesOfBlock(x.strides, most, HeadAccess::kWhereTheyLie) == std::array<int64_t, 3>{5, 15, 1});
  Tensor y = x.tensor;
  auto writer = HeadWriter::Create(context.get(), y, x.strides, most, DType::kFloat32, HeadAccess::kWhereTheyLie);
  REQUIRE(writer.ok());
  CHECK(writer->Begin({0, 1, 0}) == y.elements<float>().data() + 5);
}

}  // namespace
}  // namespace amp
