// Values as formulas: what a gradient rule writes its nodes with.
//
//   Term y = ...;  dx = g * (1 - y * y)     ->     Mul (y, y), Sub (1, .), Mul (g, .)
//
// A Term is a value of the graph and its element type; an operation appends a node at the end of the main graph.
// Constants take the type of the other operand. Shapes broadcast as ONNX has it.
#ifndef AMP_PASSES_TRAIN_GRADIENT_TERM_H_
#define AMP_PASSES_TRAIN_GRADIENT_TERM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "ir/graph/append_nodes.h"

namespace amp {

class TermWriter;

class Term {
 public:
  Term() = default;  // none: an absent operand
  Term(TermWriter& writer, ValueId value, DType dtype) : writer_(&writer), value_(value), dtype_(dtype) {}

  bool IsNone() const { return value_ == kNone; }
  ValueId value() const { return value_; }
  DType dtype() const { return dtype_; }
  TermWriter& writer() const { return *writer_; }

 private:
  TermWriter* writer_ = nullptr;
  ValueId value_ = kNone;
  DType dtype_ = DType::kUndefined;
};

using Axes = std::vector<int64_t>;
enum class KeepDims { kNo, kYes };

// A model-local function of domain ai.amp: its name, and what ir/functions/add_functions.h takes.
struct AmpFunction {
  absl::string_view name, text;
};

class TermWriter {
 public:
  explicit TermWriter(Model& model) : append_(model, "gradient") {}

  const Model& model() const { return append_.model(); }
  NodeAppender& append() { return append_; }

  Term Of(ValueId value) { return value == kNone ? Term() : Term(*this, value, model().value(value).dtype); }
  // A node of ai.onnx whose result has the type of its first operand, or the one that is said.
  Term Op(absl::string_view op_type, const std::vector<Term>& operands, const NewAttributes& attributes = {});
  Term OpAs(DType dtype, absl::string_view op_type, const std::vector<Term>& operands,
            const NewAttributes& attributes = {});
  std::vector<Term> OpMany(absl::string_view op_type, const std::vector<Term>& operands, size_t num_outputs,
                           const NewAttributes& attributes = {});
  // A call of a function of domain ai.amp, which is added to the model with the first. Results have type `dtype`.
  std::vector<Term> Call(const AmpFunction& function, const std::vector<Term>& operands, size_t num_outputs,
                         DType dtype, const NewAttributes& attributes = {});

  Term Number(double value, DType dtype) { return {*this, append_.Scalar(value, dtype), dtype}; }
  Term Integer(int64_t value) { return {*this, append_.Int64(value), DType::kInt64}; }
  Term Integers(const Axes& values) { return {*this, append_.Int64s(values), DType::kInt64}; }

  // The shape of a value: a constant where it is known, else a Shape node, one per value.
  Term ShapeOf(ValueId value);
  // Returns the shape as Reshape takes it: one unknown dimension may be -1.
  Term ReshapeTarget(ValueId value);
  // kUnknownDim where it is not known, or there is no such axis.
  int64_t KnownDim(ValueId value, int64_t axis) const;
  // Dimension `axis` of the value, a tensor of rank 1; and how many elements it has, as a scalar of a float type.
  Term DimOf(ValueId value, int64_t axis);
  Term CountOf(ValueId value, const Axes& axes, DType dtype);
  Term SizeOf(ValueId value, DType dtype);
  Term ZerosLike(ValueId value);

 private:
  std::vector<Term> Append(absl::string_view domain, absl::string_view op_type, const std::vector<Term>& operands,
                           size_t num_outputs, DType dtype, const NewAttributes& attributes);

  NodeAppender append_;
  absl::flat_hash_map<ValueId, Term> shapes_;
};

Term operator+(const Term& a, const Term& b);
Term operator-(const Term& a, const Term& b);
Term operator*(const Term& a, const Term& b);
Term operator/(const Term& a, const Term& b);
Term operator-(const Term& a);
Term operator+(const Term& a, double b);
Term operator+(double a, const Term& b);
Term operator-(const Term& a, double b);
Term operator-(double a, const Term& b);
Term operator*(const Term& a, double b);
Term operator*(double a, const Term& b);
Term operator/(const Term& a, double b);
Term operator/(double a, const Term& b);

// Truth values.
Term operator>(const Term& a, double b);
Term operator<(const Term& a, double b);
Term Greater(const Term& a, const Term& b);
Term Less(const Term& a, const Term& b);
Term IsEqual(const Term& a, const Term& b);
Term And(const Term& a, const Term& b);

Term Where(const Term& condition, const Term& yes, const Term& no);
Term Where(const Term& condition, const Term& yes, double no);
Term Where(const Term& condition, double yes, const Term& no);
Term Exp(const Term& x);
Term Log(const Term& x);
Term Sqrt(const Term& x);
Term Tanh(const Term& x);
Term Sigmoid(const Term& x);
Term Cast(const Term& x, DType to);  // `x` itself where it has the type

// Sums along axes.
Term Sum(const Term& x, const Axes& axes, KeepDims keep);
Term SumAlong(const Term& x, const Term& axes, KeepDims keep);  // none in `axes`: x

Term Transpose(const Term& x, const Axes& permutation);
Term Reshape(const Term& x, const Term& shape);  // zeros in `shape` are dimensions of zero
Term ReshapeLike(const Term& x, ValueId like);   // to the shape of another value
Term Expand(const Term& x, const Term& shape);
Term Squeeze(const Term& x, const Axes& axes);
Term Unsqueeze(const Term& x, const Axes& axes);
Term Concat(const std::vector<Term>& parts, int64_t axis);
Term Slice(const Term& x, const Axes& starts, const Axes& ends, const Axes& axes);
Term MatMul(const Term& a, const Term& b);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_GRADIENT_TERM_H_
