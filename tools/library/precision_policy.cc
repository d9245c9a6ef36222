#include "tools/library/precision_policy.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"

namespace amp {
namespace {

using Policy = RewriteOptions::Policy;
using Dtype = RewriteOptions::Dtype;
using Weights = RewriteOptions::Weights;

struct Row {
  Policy policy;
  const char* name;
  Dtype dtype;
  Weights weights;
  bool keep_io;
  const char* compute;
  const char* variables;
};

constexpr Row kRows[] = {
    {Policy::kMixedFloat16, "mixed_float16", Dtype::kFloat16, Weights::kCast, true, "float16", "float32"},
    {Policy::kMixedBfloat16, "mixed_bfloat16", Dtype::kBfloat16, Weights::kCast, true, "bfloat16", "float32"},
    {Policy::kFloat32, "float32", Dtype::kFloat16, Weights::kConvert, true, "float32", "float32"},
    {Policy::kFloat16, "float16", Dtype::kFloat16, Weights::kConvert, false, "float16", "float16"},
    {Policy::kBfloat16, "bfloat16", Dtype::kBfloat16, Weights::kConvert, false, "bfloat16", "bfloat16"},
};

const Row& RowOf(Policy policy) {
  for (const Row& row : kRows) {
    if (row.policy == policy) return row;
  }
  return kRows[0];  // not reached: the table is whole
}

const char* FlagText(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat16:
      return "--dtype float16";
    case Dtype::kBfloat16:
      return "--dtype bfloat16";
    case Dtype::kAuto:
      return "--dtype auto";
  }
  return "";
}

absl::Status Contradiction(const Row& row, absl::string_view flag, absl::string_view why) {
  return UsageError("--policy ", row.name, " and ", flag, " contradict each other: ", why);
}

std::string KeepIoFlag(const RewriteOptions& options) {
  if (!options.keep_io_names.empty()) return absl::StrCat("--keep-io ", absl::StrJoin(options.keep_io_names, ","));
  return *options.keep_io ? "--keep-io all" : "--keep-io none";
}

}  // namespace

absl::Status ApplyPolicy(RewriteOptions& options) {
  if (!options.policy.has_value()) return absl::OkStatus();
  const Row& row = RowOf(*options.policy);
  const bool undoes = row.policy == Policy::kFloat32;
  if (options.dtype.has_value() && (undoes || *options.dtype != row.dtype)) {
    return Contradiction(row, FlagText(*options.dtype), absl::StrCat("the policy computes in ", row.compute));
  }
  const std::string stored =
      undoes ? "the policy takes a rewrite back" : absl::StrCat("the policy keeps weights in ", row.variables);
  if (options.weights.has_value() && (undoes || *options.weights != row.weights)) {
    return Contradiction(row, *options.weights == Weights::kCast ? "--weights cast" : "--weights convert", stored);
  }
  if (options.keep_io.has_value() && (*options.keep_io != row.keep_io || !options.keep_io_names.empty())) {
    return Contradiction(row, KeepIoFlag(options),
                         row.keep_io ? "the policy keeps inputs and outputs in float32"
                                     : absl::StrCat("the policy makes inputs and outputs ", row.compute));
  }
  options.dtype = row.dtype;
  options.weights = row.weights;
  options.keep_io = row.keep_io;
  return absl::OkStatus();
}

bool TakesBack(const RewriteOptions& options) { return options.policy == Policy::kFloat32 && !options.train.train; }

PolicyTypes TypesOf(Policy policy) { return {RowOf(policy).compute, RowOf(policy).variables}; }

std::string PolicyDtypes(const RewriteOptions& options) {
  if (!options.policy.has_value()) return "";
  const PolicyTypes types = TypesOf(*options.policy);
  return absl::StrCat("Compute dtype: ", types.compute, "\nVariable dtype: ", types.variables, "\n");
}

}  // namespace amp
