// Constants' values: looked at in place for guards and reports, and converted to the low type.
#ifndef AMP_IR_GRAPH_CONSTANT_H_
#define AMP_IR_GRAPH_CONSTANT_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/statusor.h"
#include "ir/base/convert.h"
#include "ir/graph/graph.h"

namespace amp {

// kNone is none.
bool IsFloat32Constant(const Model& model, ValueId value);

// The effect of narrowing a constant to the low type.
struct ConstantFacts {
  NarrowingStats stats;
  std::vector<float> first_elements;  // at most 16
};

// Returns the facts of elements that are no constant yet.
ConstantFacts SurveyElements(absl::Span<const float> elements, DType low);

// Facts about float32 constants, each read once. Not thread-safe.
class ConstantSurvey {
 public:
  // The model must outlive the survey.
  ConstantSurvey(const Model& model, DType low) : model_(model), low_(low) {}

  // REQUIRES: a constant or an initializer that callers may override, float32. Errors: reading external data.
  absl::StatusOr<const ConstantFacts*> Facts(ValueId value);
  // Its elements are others now.
  void Forget(ValueId value) { facts_.erase(value); }

 private:
  const Model& model_;
  DType low_;
  absl::node_hash_map<ValueId, ConstantFacts> facts_;
};

enum class Saturate { kNo, kYes };

// kGoes: ReplaceConstant comes next, and the memory of the elements is used for the copy.
enum class Original { kStays, kGoes };

// A low copy of a float32 constant: an arena-owned tensor of the same shape, without a name. Embedded data is converted
// at once; external data is left to saving. Errors: reading external data.
absl::StatusOr<onnx::TensorProto*> NarrowConstant(Model& model, ValueId value, DType low, Saturate saturate,
                                                  Original original);

// The float32 form of a low constant, the other way round; exact.
absl::StatusOr<onnx::TensorProto*> WidenConstant(Model& model, ValueId value);

// The elements of a constant of numbers of any type, in order; nothing if it is no constant, has more than
// `max_elements`, is no tensor of numbers, or cannot be read (whoever needs its bytes says so).
std::optional<std::vector<double>> ConstantElements(const Model& model, ValueId value, int64_t max_elements);
// Returns those of a constant, or of an initializer that callers may override. REQUIRES: it is one of these.
std::optional<std::vector<double>> StoredElements(const Model& model, ValueId value, int64_t max_elements);
// The only element of a constant with one.
std::optional<double> ScalarConstant(const Model& model, ValueId value);

// Float32 elements that are on their way into a model.
struct FloatTensor {
  std::vector<int64_t> dims;
  std::vector<float> elements;
};
// Returns the result of `of` for every position and element of a float32 constant. Errors: reading external data.
absl::StatusOr<FloatTensor> MapConstant(const Model& model, ValueId value,
                                        const std::function<double(int64_t, double)>& of);
// As a message on the model's arena, without a name.
onnx::TensorProto* MakeTensor(Model& model, const FloatTensor& tensor);
onnx::TensorProto* MakeScalar(Model& model, float value);
onnx::TensorProto* MakeScalar(Model& model, int64_t value);
// Float32. REQUIRES: no dimension is negative.
onnx::TensorProto* MakeZeros(Model& model, const std::vector<int64_t>& dims);

// Lets a constant have another shape of as many elements; its payload is not looked at. False, and no effect, for one
// that is neither an initializer nor a Constant with a tensor, or where the numbers of elements differ.
bool ReshapeConstant(Model& model, ValueId value, const std::vector<int64_t>& dims);

// Gives a constant the elements of `tensor`, which lives on the model's arena, and frees those that it had. What the
// file says about the constant stays: name, doc_string, metadata_props, fields that this program does not know.
void ReplaceConstant(Model& model, ValueId value, onnx::TensorProto* tensor);

}  // namespace amp

#endif  // AMP_IR_GRAPH_CONSTANT_H_
