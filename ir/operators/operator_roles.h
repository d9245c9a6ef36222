// What operators do to values, as far as guards ask: facts, not policy.
//
//   Gather, Concat    move elements          Floor         gives whole numbers        ReduceMean  sums along axes
//   Add, Where, Abs   keep a count a count   Sqrt          takes a root               Sin         has a period
//
// One table names every operator; operators without a row have no role. Operators of other domains than ai.onnx and
// calls of functions have none either.
#ifndef AMP_IR_OPERATORS_OPERATOR_ROLES_H_
#define AMP_IR_OPERATORS_OPERATOR_ROLES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace amp {

enum class Role : uint32_t {
  kMoves = 1u << 0,              // its elements are elements of its first operand or operands, elsewhere: no arithmetic
  kPointwise = 1u << 1,          // element by element: order-free
  kAdds = 1u << 2,               // Add, Sub, Sum: absolute errors add up
  kSubtracts = 1u << 3,          // of the above: second operand from first
  kMultiplies = 1u << 4,         // Mul
  kDivides = 1u << 5,            // Div
  kRoots = 1u << 6,              // Sqrt, Pow by a half: see TakesRoot
  kInverts = 1u << 7,            // Reciprocal
  kPowers = 1u << 8,             // Pow
  kNegates = 1u << 9,            // Neg, Abs: magnitude stays
  kBounds = 1u << 10,            // Max, Min, Clip, Where, Relu: chooses among values
  kRounds = 1u << 11,            // Floor, Ceil, Round, Mod: steps of one
  kCompares = 1u << 12,          // gives truth values from an order
  kFindsIndex = 1u << 13,        // ArgMax, TopK: gives where, not what
  kSums = 1u << 14,              // adds up elements along axes: ReduceSum, ReduceMean, pools of averages
  kSquares = 1u << 15,           // of the above: of squares
  kRunningSum = 1u << 16,        // CumSum
  kTakesMaximum = 1u << 17,      // ReduceMax
  kProducts = 1u << 18,          // sums of products: MatMul, Conv
  kExponential = 1u << 19,       // Exp
  kLogarithm = 1u << 20,         // Log
  kPeriodic = 1u << 21,          // Sin, Cos, Tan: of angles
  kCounts = 1u << 22,            // Range: evenly spaced numbers
  kSelects = 1u << 23,           // OneHot, EyeLike: rows of zeros with a one
  kReadsShape = 1u << 24,        // Shape, Size: reads no element
  kTracksStatistics = 1u << 25,  // BatchNormalization: outputs after the first are running statistics
};

class Roles {
 public:
  constexpr Roles() = default;
  constexpr explicit Roles(uint32_t bits) : bits_(bits) {}
  constexpr bool Has(Role role) const { return (bits_ & static_cast<uint32_t>(role)) != 0; }
  constexpr bool HasAny(Roles roles) const { return (bits_ & roles.bits_) != 0; }
  constexpr uint32_t bits() const { return bits_; }

 private:
  uint32_t bits_ = 0;
};
constexpr Roles operator|(Role a, Role b) { return Roles(static_cast<uint32_t>(a) | static_cast<uint32_t>(b)); }
constexpr Roles operator|(Roles a, Role b) { return Roles(a.bits() | static_cast<uint32_t>(b)); }

Roles RolesOf(const Model& model, NodeId node);
// The names in the table, for the test against ONNX's schemas.
std::vector<std::string> OperatorsWithRoles();

// The value that the node squares: Mul(x, x), Pow(x, 2), ReduceSumSquare(x), ReduceL2(x); kNone for others.
ValueId SquaredValue(const Model& model, NodeId node);
// Sqrt, or Pow by 0.5 or -0.5.
bool TakesRoot(const Model& model, NodeId node);
// How many elements are added up for one element of the result of a node that kSums; -1 if that is not known.
int64_t SummedElements(const Model& model, NodeId node);

}  // namespace amp

#endif  // AMP_IR_OPERATORS_OPERATOR_ROLES_H_
