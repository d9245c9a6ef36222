// Facts about operators, by name: one row per operator that the program has to know, in one table.
//
//   Gather, Concat    move elements          Floor         gives whole numbers        ReduceMean  sums along axes
//   Add, Where, Abs   keep a count a count   Sqrt          takes a root               Sin         has a period
//
// Facts, not policy: which operators run low is for lists/ to say. Types that ONNX's schemas state are left to
// ir/schema/schema.h; questions that need a node's attributes and ports are answered by ir/operators, which asks here.
// A row goes by domain and name alone: a node that calls a model-local function of such a name has it too.
#ifndef AMP_IR_SCHEMA_OPERATOR_TABLE_H_
#define AMP_IR_SCHEMA_OPERATOR_TABLE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/base/interval.h"

namespace amp {

enum class Role : uint64_t {
  // ---- arithmetic, as guards ask
  kMoves = 1ull << 0,              // its elements are those of its first operand or operands, elsewhere: no arithmetic
  kPointwise = 1ull << 1,          // element by element: order-free
  kAdds = 1ull << 2,               // Add, Sub, Sum: absolute errors add up
  kSubtracts = 1ull << 3,          // of the above: second operand from first
  kMultiplies = 1ull << 4,         // Mul
  kDivides = 1ull << 5,            // Div
  kRoots = 1ull << 6,              // Sqrt; Pow by a half too: see TakesRoot (ir/operators/operator_roles.h)
  kInverts = 1ull << 7,            // Reciprocal
  kPowers = 1ull << 8,             // Pow
  kNegates = 1ull << 9,            // Neg, Abs: magnitude stays
  kBounds = 1ull << 10,            // Max, Min, Clip, Where, Relu: chooses among values
  kClips = 1ull << 11,             // Clip: of the above, into a range that its later operands give
  kRounds = 1ull << 12,            // Floor, Ceil, Round, Mod: steps of one
  kCompares = 1ull << 13,          // gives truth values from an order
  kFindsIndex = 1ull << 14,        // ArgMax, TopK: gives where, not what
  kRanks = 1ull << 15,             // TopK: of the above; its first output is what, its second where
  kGathers = 1ull << 16,           // Gather: moves the elements at the places that its second operand names
  kSums = 1ull << 17,              // adds up elements along axes: ReduceSum, ReduceMean, pools of averages
  kSquares = 1ull << 18,           // of the above: of squares
  kPoolsGlobally = 1ull << 19,     // of the above: over all spatial dimensions, GlobalAveragePool
  kRunningSum = 1ull << 20,        // CumSum
  kTakesMaximum = 1ull << 21,      // ReduceMax
  kProducts = 1ull << 22,          // sums of products: MatMul, Conv
  kExponential = 1ull << 23,       // Exp
  kLogarithm = 1ull << 24,         // Log
  kPeriodic = 1ull << 25,          // Sin, Cos, Tan: of angles
  kCounts = 1ull << 26,            // Range: evenly spaced numbers
  kSelects = 1ull << 27,           // OneHot, EyeLike: rows of zeros with a one
  kReadsShape = 1ull << 28,        // Shape, Size: reads no element
  kCountsElements = 1ull << 29,    // Size: of the above, one number
  kTracksStatistics = 1ull << 30,  // BatchNormalization: outputs after the first are running statistics
  // ---- kinds of operators
  kCasts = 1ull << 31,            // Cast, CastLike: the operand in another type
  kPlainCast = 1ull << 32,        // Cast: of the above, to the type that its attribute names, whatever else is around
  kConstant = 1ull << 33,         // Constant
  kShapedLike = 1ull << 34,       // EyeLike, RandomNormalLike: of its operand it takes the shape, and perhaps the type
  kContains = 1ull << 35,         // packs or unpacks sequences and optionals: what goes in and out has one element type
  kPads = 1ull << 36,             // Pad: negative pads crop
  kReadsEquation = 1ull << 37,    // Einsum: a string says what is multiplied
  kLoss = 1ull << 38,             // only graphs that train hold one
  kRandom = 1ull << 39,           // draws random numbers
  kSoftmax = 1ull << 40,          // Softmax and its logarithm: what ends a classifier
  kHeavy = 1ull << 41,            // matrix work: where 16 bits pay
  kMatrixProduct = 1ull << 42,    // MatMul, Gemm: of two matrices
  kConvolution = 1ull << 43,      // Conv, ConvTranspose: of weights [outputs, inputs / group, ...]
  kSwapsChannels = 1ull << 44,    // ConvTranspose: of the above, weights [inputs, outputs / group, ...]
  kRearranges = 1ull << 45,       // Reshape, Transpose: moves every element of its first operand, once
  kLength = 1ull << 46,           // ReduceL2: of those that sum squares, gives the root
  kNormalises = 1ull << 47,       // LayerNormalization: the size of its results is that of its scale, whatever goes in
  kLargest = 1ull << 48,          // Max: of those that choose, the largest
  kLeast = 1ull << 49,            // Min
  kEndsAtOne = 1ull << 50,        // Atanh: infinite at 1 and at -1
  kJoins = 1ull << 51,            // Concat: moves every element of all operands, once
  kDividesByLength = 1ull << 52,  // LpNormalization: its operand by a norm of it
  // ---- what kernels do to elements
  kCopies = 1ull << 53,  // Where, OneHot, TopK: as kMoves, or fixed numbers, by whatever rule
  kDrops = 1ull << 54,   // Dropout: a copy where it does not train
  // ---- operands
  kSamplesAt = 1ull << 55,  // GridSample: its second operand says where the first is sampled, from -1 to 1
  // ---- more of arithmetic
  kOdd = 1ull << 56,  // Sin, Tanh, Erf: small results of small operands
};

class Roles {
 public:
  constexpr Roles() = default;
  // A set of one. NOLINTNEXTLINE(google-explicit-constructor)
  constexpr Roles(Role role) : bits_(static_cast<uint64_t>(role)) {}
  constexpr bool Has(Role role) const { return (bits_ & static_cast<uint64_t>(role)) != 0; }
  constexpr bool HasAny(Roles roles) const { return (bits_ & roles.bits_) != 0; }
  constexpr bool IsEmpty() const { return bits_ == 0; }
  friend constexpr Roles operator|(Roles a, Roles b) {
    a.bits_ |= b.bits_;
    return a;
  }

 private:
  uint64_t bits_ = 0;
};
constexpr Roles operator|(Role a, Role b) { return Roles(a) | Roles(b); }

// The attribute that chooses the type of an output where no input does.
struct TypeAttribute {
  enum class Form : uint8_t {
    kNone,
    kNumber,            // of the element type: Cast.to
    kTensor,            // the result itself, of one of several attributes: Constant
    kFill,              // a tensor with the one element that fills the result: ConstantOfShape.value
    kTypeProto,         // a whole type: Optional.type
    kSoftmaxPrecision,  // of the softmax inside fused attention, not of a result
  };
  enum class Absent : uint8_t { kFloat32, kTypeOfFirstInput, kTypeOfSecondInput };

  Form form = Form::kNone;
  absl::string_view name = "";
  Absent absent = Absent::kFloat32;  // kNumber: what a missing attribute means
};

// A value that an attribute has, or has without being stated; of no name: whatever attributes say.
struct AttributeCondition {
  absl::string_view name = "", value = "";
};

// Which ports of the node and of its bodies are joined: see ir/graph/control_flow.h.
enum class ControlFlowKind : uint8_t { kNone, kIf, kLoop, kScan, kSequenceMap };

struct Operator {
  absl::string_view domain;  // "" for ai.onnx
  absl::string_view name;
  Roles roles;
  TypeAttribute type_attribute = {};
  ControlFlowKind control_flow = ControlFlowKind::kNone;
  int separate_statistics = 0;           // the opset of ai.onnx from which on statistics have a type of their own
  Interval results = {};                 // all that it ever gives, up to ends that ordinary operands reach or come near
  double saturates = 0;                  // the operand's size from which on results lie at an end of these; 0: never
  uint32_t addends = 0;                  // bit i: input i is added to what the others give, as a bias is
  AttributeCondition copies_where = {};  // of those that move or copy: when that is all they do

  constexpr bool Has(Role role) const { return roles.Has(role); }
};

// The operator's row, or, for one that has none, a row without name and roles. `domain`: "" for ai.onnx. One look into
// a hash table; nodes in memory remember theirs (Node::op, ir/graph/graph.h).
const Operator& FindOperator(absl::string_view domain, absl::string_view name);

absl::Span<const Operator> OperatorTable();

}  // namespace amp

#endif  // AMP_IR_SCHEMA_OPERATOR_TABLE_H_
