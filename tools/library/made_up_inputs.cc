#include "tools/library/made_up_inputs.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "runtime/kernel/no_kernel_error.h"

namespace amp {
namespace {

constexpr int64_t kMostGuessed = int64_t{1} << 24;  // elements of an input: more takes long for a guess
constexpr int64_t kTriedDims[] = {MadeUpInputs::kUsualDim, 64, 256, 1024};

bool HaveSameDims(const NamedDatums& a, const NamedDatums& b) {
  for (const auto& [name, datum] : a) {
    const Tensor* const x = datum.tensor();
    const Tensor* const y = b.at(name).tensor();
    if (x != nullptr && y != nullptr && x->dims() != y->dims()) return false;
  }
  return true;
}

// Not where memory or time ran out, or a kernel is missing.
bool MayBeOfInputs(const absl::Status& status) { return absl::IsDataLoss(status) && !IsNoKernelError(status); }

}  // namespace

absl::StatusOr<MadeUpInputs> MakeFittingInputs(const Session& session, RandomInputOptions options,
                                               const RunOptions& how) {
  const auto make = [&](int64_t other_dim) {
    options.other_dim = other_dim;
    return MakeRandomInputs(session, options);
  };
  AMP_ASSIGN_OR_RETURN(const NamedDatums first, make(kTriedDims[0]));
  const absl::StatusOr<NamedDatums> second = make(kTriedDims[1]);
  if (second.ok() && HaveSameDims(first, *second)) return MadeUpInputs{first};
  absl::Status first_error;
  for (const bool only_last : {false, true}) {
    options.only_last = only_last;
    for (const int64_t dim : kTriedDims) {
      absl::StatusOr<NamedDatums> inputs = make(dim);
      first_error.Update(inputs.status());
      if (!inputs.ok()) break;
      options.most_elements = kMostGuessed;  // from the second on
      absl::StatusOr<std::vector<Datum>> outputs = session.Run(*inputs, how);
      if (outputs.ok()) return MadeUpInputs{*std::move(inputs), dim, *std::move(outputs)};
      first_error.Update(outputs.status());
      if (!absl::IsDataLoss(outputs.status())) return first_error;  // memory or time ran out
    }
  }
  return first_error;
}

std::string HowToSize(const Session& session, const RandomInputOptions& options) {
  return absl::StrJoin(UnsizedSymbols(session, options), " ", [](std::string* out, const std::string& symbol) {
    absl::StrAppend(out, "--dim ", Escaped(symbol), "=N");
  });
}

absl::Status ExplainMadeUp(const absl::Status& status, const Session& session, const RandomInputOptions& options,
                           const std::string& how_to_give) {
  if (!MayBeOfInputs(status)) return status;
  const std::string sizes = HowToSize(session, options);
  return UsageError(status.message(), "; inputs are made up: ", sizes, sizes.empty() ? "" : " sizes them, ",
                    how_to_give, " gives real ones");
}

}  // namespace amp
