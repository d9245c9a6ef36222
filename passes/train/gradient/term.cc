#include "passes/train/gradient/term.h"

#include <algorithm>

#include "ir/functions/add_functions.h"
#include "ir/graph/shape.h"

namespace amp {
namespace {

constexpr int kOpsetWithAllowZero = 14;

Term Number(const Term& like, double value) { return like.writer().Number(value, like.dtype()); }
Term Op(absl::string_view op_type, const std::vector<Term>& operands, const NewAttributes& attributes = {}) {
  return operands.front().writer().Op(op_type, operands, attributes);
}
Term Truth(absl::string_view op_type, const std::vector<Term>& operands) {
  return operands.front().writer().OpAs(DType::kBool, op_type, operands);
}
NewAttribute FlagOf(KeepDims keep) { return int64_t{keep == KeepDims::kYes ? 1 : 0}; }

}  // namespace

Term TermWriter::Op(absl::string_view op_type, const std::vector<Term>& operands, const NewAttributes& attributes) {
  return OpAs(operands.front().dtype(), op_type, operands, attributes);
}

Term TermWriter::OpAs(DType dtype, absl::string_view op_type, const std::vector<Term>& operands,
                      const NewAttributes& attributes) {
  return Append("", op_type, operands, 1, dtype, attributes).front();
}

std::vector<Term> TermWriter::OpMany(absl::string_view op_type, const std::vector<Term>& operands, size_t num_outputs,
                                     const NewAttributes& attributes) {
  return Append("", op_type, operands, num_outputs, operands.front().dtype(), attributes);
}

std::vector<Term> TermWriter::Call(const AmpFunction& function, const std::vector<Term>& operands, size_t num_outputs,
                                   DType dtype, const NewAttributes& attributes) {
  AddFunction(append_.model(), function.text);
  return Append("ai.amp", function.name, operands, num_outputs, dtype, attributes);
}

std::vector<Term> TermWriter::Append(absl::string_view domain, absl::string_view op_type,
                                     const std::vector<Term>& operands, size_t num_outputs, DType dtype,
                                     const NewAttributes& attributes) {
  std::vector<ValueId> inputs;
  inputs.reserve(operands.size());
  for (const Term& operand : operands) inputs.push_back(operand.value());
  std::vector<Term> results;
  for (const ValueId output : append_.AddMany(domain, op_type, std::move(inputs), num_outputs, attributes)) {
    results.emplace_back(*this, output, dtype);
  }
  return results;
}

Term TermWriter::ShapeOf(ValueId value) {
  if (const auto it = shapes_.find(value); it != shapes_.end()) return it->second;
  const auto dims = amp::ShapeOf(model(), value);
  const bool is_known = dims.has_value() && std::count(dims->begin(), dims->end(), kUnknownDim) == 0;
  const Term shape = is_known ? Integers(*dims) : OpAs(DType::kInt64, "Shape", {Of(value)});
  return shapes_[value] = shape;
}

Term TermWriter::ReshapeTarget(ValueId value) {
  auto dims = amp::ShapeOf(model(), value);
  if (!dims.has_value() || std::count(dims->begin(), dims->end(), kUnknownDim) != 1 ||
      std::count(dims->begin(), dims->end(), 0) != 0) {
    return ShapeOf(value);
  }
  return Integers(*dims);  // kUnknownDim is Reshape's -1
}

int64_t TermWriter::KnownDim(ValueId value, int64_t axis) const {
  const auto dims = amp::ShapeOf(model(), value);
  const int64_t rank = dims.has_value() ? static_cast<int64_t>(dims->size()) : 0;
  if (axis < -rank || axis >= rank) return kUnknownDim;
  return (*dims)[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
}

Term TermWriter::DimOf(ValueId value, int64_t axis) {
  const int64_t dim = KnownDim(value, axis);
  return dim != kUnknownDim ? Integers({dim}) : Op("Gather", {ShapeOf(value), Integers({axis})});
}

Term TermWriter::CountOf(ValueId value, const Axes& axes, DType dtype) {
  double count = 1;
  for (const int64_t axis : axes) {
    const int64_t dim = KnownDim(value, axis);
    count = count < 0 || dim == kUnknownDim ? -1 : count * static_cast<double>(dim);
  }
  if (count >= 0) return Number(count, dtype);
  const Term sizes = Op("Gather", {ShapeOf(value), Integers(axes)});
  const Term product = Op("ReduceProd", {sizes}, {{"keepdims", int64_t{0}}});
  return Cast(product, dtype);
}

Term TermWriter::SizeOf(ValueId value, DType dtype) {
  const int64_t size = NumElements(model(), value);
  if (size >= 0) return Number(static_cast<double>(size), dtype);
  return Cast(OpAs(DType::kInt64, "Size", {Of(value)}), dtype);
}

Term TermWriter::ZerosLike(ValueId value) { return Expand(Number(0, model().value(value).dtype), ShapeOf(value)); }

Term operator+(const Term& a, const Term& b) { return Op("Add", {a, b}); }
Term operator-(const Term& a, const Term& b) { return Op("Sub", {a, b}); }
Term operator*(const Term& a, const Term& b) { return Op("Mul", {a, b}); }
Term operator/(const Term& a, const Term& b) { return Op("Div", {a, b}); }
Term operator-(const Term& a) { return Op("Neg", {a}); }
Term operator+(const Term& a, double b) { return a + Number(a, b); }
Term operator+(double a, const Term& b) { return Number(b, a) + b; }
Term operator-(const Term& a, double b) { return a - Number(a, b); }
Term operator-(double a, const Term& b) { return Number(b, a) - b; }
Term operator*(const Term& a, double b) { return a * Number(a, b); }
Term operator*(double a, const Term& b) { return Number(b, a) * b; }
Term operator/(const Term& a, double b) { return a / Number(a, b); }
Term operator/(double a, const Term& b) { return Number(b, a) / b; }

Term operator>(const Term& a, double b) { return Greater(a, Number(a, b)); }
Term operator<(const Term& a, double b) { return Less(a, Number(a, b)); }
Term Greater(const Term& a, const Term& b) { return Truth("Greater", {a, b}); }
Term Less(const Term& a, const Term& b) { return Truth("Less", {a, b}); }
Term IsEqual(const Term& a, const Term& b) { return Truth("Equal", {a, b}); }
Term And(const Term& a, const Term& b) { return Truth("And", {a, b}); }

Term Where(const Term& condition, const Term& yes, const Term& no) {
  return yes.writer().OpAs(yes.dtype(), "Where", {condition, yes, no});
}
Term Where(const Term& condition, const Term& yes, double no) { return Where(condition, yes, Number(yes, no)); }
Term Where(const Term& condition, double yes, const Term& no) { return Where(condition, Number(no, yes), no); }
Term Exp(const Term& x) { return Op("Exp", {x}); }
Term Log(const Term& x) { return Op("Log", {x}); }
Term Sqrt(const Term& x) { return Op("Sqrt", {x}); }
Term Tanh(const Term& x) { return Op("Tanh", {x}); }
Term Sigmoid(const Term& x) { return Op("Sigmoid", {x}); }
Term Cast(const Term& x, DType to) { return x.dtype() == to ? x : x.writer().OpAs(to, "Cast", {x}, {{"to", to}}); }

Term SumAlong(const Term& x, const Term& axes, KeepDims keep) {
  return Op("ReduceSum", {x, axes}, {{"keepdims", FlagOf(keep)}, {"noop_with_empty_axes", int64_t{1}}});
}
Term Sum(const Term& x, const Axes& axes, KeepDims keep) {
  return axes.empty() ? x : Op("ReduceSum", {x, x.writer().Integers(axes)}, {{"keepdims", FlagOf(keep)}});
}

Term Transpose(const Term& x, const Axes& permutation) { return Op("Transpose", {x}, {{"perm", permutation}}); }
Term Reshape(const Term& x, const Term& shape) {
  if (x.writer().model().opset("") < kOpsetWithAllowZero) return Op("Reshape", {x, shape});
  return Op("Reshape", {x, shape}, {{"allowzero", int64_t{1}}});
}
Term ReshapeLike(const Term& x, ValueId like) {
  const Term shape = x.writer().ReshapeTarget(like);
  return shape.value() == x.writer().ShapeOf(like).value() ? Reshape(x, shape) : Op("Reshape", {x, shape});
}
Term Expand(const Term& x, const Term& shape) { return Op("Expand", {x, shape}); }
Term Squeeze(const Term& x, const Axes& axes) { return Op("Squeeze", {x, x.writer().Integers(axes)}); }
Term Unsqueeze(const Term& x, const Axes& axes) { return Op("Unsqueeze", {x, x.writer().Integers(axes)}); }
Term Concat(const std::vector<Term>& parts, int64_t axis) { return Op("Concat", parts, {{"axis", axis}}); }
Term Slice(const Term& x, const Axes& starts, const Axes& ends, const Axes& axes) {
  TermWriter& write = x.writer();
  return Op("Slice", {x, write.Integers(starts), write.Integers(ends), write.Integers(axes)});
}
Term MatMul(const Term& a, const Term& b) { return Op("MatMul", {a, b}); }

}  // namespace amp
