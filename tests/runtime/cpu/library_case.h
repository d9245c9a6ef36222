// A node computed by the library's rows and by the reference, for tests of those rows.
//
//   Families({.node = "y = MatMul(a, b)", .inputs = {{4, 7}, {7, 5}}, .constants = "b"}) == "onednn"
#ifndef AMP_TESTS_RUNTIME_CPU_LIBRARY_CASE_H_
#define AMP_TESTS_RUNTIME_CPU_LIBRARY_CASE_H_

#include <memory>
#include <string>
#include <vector>

#include "ir/base/dtype.h"
#include "runtime/kernel/tensor.h"
#include "runtime/session.h"
#include "tests/runtime/library_kernels_first.h"

namespace amp {

inline constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat16, DType::kBfloat16};

// A node whose inputs a, b, c, ... have these dims; those named in `constants` are the model's own, those in
// `overridable` too, but may be given.
struct LibraryCase {
  std::string node;  // gives y, and z, v where there are more outputs
  std::vector<Dims> inputs;
  std::string constants = {}, overridable = {};
  size_t outputs = 1;
  int opset = 22;
  double scale = 1;                 // of the inputs
  DType gives = DType::kUndefined;  // the outputs' type, where that is not the inputs'
  FindKernels find = FindLibraryKernelsFirst;
};

// Returns values for the inputs that are not constant. Overridable ones get values only with `overrides`.
NamedDatums RandomInputs(const LibraryCase& each, DType dtype, bool overrides = false);

class TwoSessions {
 public:
  TwoSessions(const LibraryCase& each, DType dtype);

  // "onednn", the family that ran; or what differs.
  std::string Run(const NamedDatums& inputs) const;
  const Session& library() const { return *library_; }

 private:
  DType gives_;
  std::unique_ptr<Session> library_, reference_;
};

// Two runs of all that there is to run: the family, or what differs.
std::string Family(const LibraryCase& each, DType dtype = DType::kFloat32);
// Runs the case in each float type. Returns "onednn" if that family ran in all of them, else the first other answer of
// Family, behind its type.
std::string Families(const LibraryCase& each);

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_CPU_LIBRARY_CASE_H_
