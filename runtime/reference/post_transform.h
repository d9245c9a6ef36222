// The last step of ai.onnx.ml's predictors: transforms of scores, and labels that are numbers or strings.
#ifndef AMP_RUNTIME_REFERENCE_POST_TRANSFORM_H_
#define AMP_RUNTIME_REFERENCE_POST_TRANSFORM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace amp {

enum class PostTransform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };  // numbered as TreeEnsemble-5 does

// By the attribute post_transform, which is a name. Errors: another name.
absl::StatusOr<PostTransform> ReadPostTransform(const KernelContext& context);

// Transforms one sample's scores in place.
void ApplyPostTransform(PostTransform transform, absl::Span<double> scores);

// The score of the first class in a model of two classes that has a single score and states no transform.
enum class SecondClass { kComplement, kOpposite };  // the first class has 1 - score, or -score
// The scores of both classes. Transforms other than LOGISTIC and PROBIT are about several scores and do nothing here.
std::vector<double> ScoresOfTwo(double score, PostTransform transform, SecondClass second_class);

// A classifier's labels: of two lists one is empty.
struct ClassLabels {
  std::vector<int64_t> ints;
  std::vector<std::string> strings;

  size_t size() const { return strings.empty() ? ints.size() : strings.size(); }
};
// Errors: neither or both of classlabels_strings and `ints_name`.
absl::StatusOr<ClassLabels> ReadClassLabels(const KernelContext& context, absl::string_view ints_name);
// Output 0: the label of each sample. REQUIRES: classes below labels.size().
absl::Status WriteLabels(KernelContext& context, const ClassLabels& labels, absl::Span<const size_t> classes);

size_t IndexOfLargest(absl::Span<const double> scores);

// Input 0 as rows of features, [N, F] or [F]; numbers of any type.
struct Samples {
  size_t count = 0, features = 0;
  std::vector<double> values;

  absl::Span<const double> row(size_t i) const { return absl::MakeConstSpan(values).subspan(i * features, features); }
};
absl::StatusOr<Samples> ReadSamples(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_POST_TRANSFORM_H_
