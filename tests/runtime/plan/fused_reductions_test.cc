// Reductions read what the cast ahead of them reads.
#include "absl/strings/str_cat.h"
#include "tests/catch2.h"
#include "tests/runtime/fused_case.h"

namespace amp {
namespace {

std::string Fused(const std::string& nodes, DType dtype = DType::kFloat16, const std::string& outputs = "float[] y") {
  SessionOptions options;
  options.fuse_chains = options.fuse_epilogues = false;
  return FusedWith(options,
                   {.graph = absl::StrCat("(T[n,l,16] x) => (", outputs, ") <int64[1] first = {0}> { ", nodes, " }"),
                    .tensors = {{"x", {5, 3, 16}}}},
                   dtype, 1e-5);
}

TEST_CASE("a cast that widens joins the reduction behind it") {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    CHECK(Fused("h = Cast <to = 1> (x) y = ReduceSum <keepdims = 0> (h, first)", dtype) == "ReduceSum");
    CHECK(Fused("h = Cast <to = 1> (x) y = ReduceMean (h)", dtype) == "ReduceMean");
    CHECK(Fused("h = Cast <to = 1> (x) y = ReduceMax (h, first)", dtype) == "ReduceMax");
    CHECK(Fused("h = Cast <to = 1> (x) y = GlobalAveragePool (h)", dtype) == "GlobalAveragePool");
  }
}

TEST_CASE("a cast stays that others read, that narrows, or whose reader is no reduction of numbers") {
  CHECK(Fused("h = Cast <to = 1> (x) y = ReduceSum (h, first) z = Neg (h)", DType::kFloat16, "float[] y, float[] z") ==
        "Cast ReduceSum Neg");
  CHECK(Fused("h = Cast <to = 1> (x) y = ReduceSum (h, first)", DType::kFloat16, "float[] y, float[] h") ==
        "Cast ReduceSum");
  CHECK(Fused("h = Cast <to = 10> (x) y = ReduceMax (h, first)", DType::kBfloat16, "float16[] y") == "Cast ReduceMax");
  CHECK(Fused("h = Cast <to = 1> (x) y = ArgMax (h)", DType::kFloat16, "int64[] y") == "Cast ArgMax");
}

}  // namespace
}  // namespace amp
