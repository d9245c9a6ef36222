// A few rows times a matrix that is read once, where it lies and in the type in which it is stored.
#ifndef AMP_RUNTIME_LOOPS_FEW_ROWS_H_
#define AMP_RUNTIME_LOOPS_FEW_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "ir/base/dtype.h"
#include "runtime/loops/raw/loops.h"

namespace amp {

// A matrix [depth, columns] as it is stored: so, or transposed. Its rows there are `step` elements apart.
struct StoredMatrix {
  DType dtype = DType::kFloat32;  // float32, float16 or bfloat16
  bool is_transposed = false;
  const void* elements = nullptr;
  size_t step = 0;

  // The elements from a column on.
  StoredMatrix From(size_t column) const;
};

// The most rows with which the loops are as fast as a library that packs such a matrix. `bytes`: of all matrices that
// the product has.
int64_t MostFewRows(DType dtype, bool is_transposed, size_t bytes);
// For tests: whether that is 48, for every matrix and on every processor. Not while anything runs.
void TakeAllFewRows(bool takes);

// Elements between rows of so many that may be read, or written, up to the next multiple of kVectorGranule. Rows that
// lie a multiple of 4 KiB apart would push each other out of the nearest cache.
constexpr size_t FewRowsStep(size_t elements) { return (elements / kVectorGranule + 2) * kVectorGranule; }

// y [rows, columns] = x [rows, depth] times b. Rows of x have zeros, and rows of y have room, up to the next multiple
// of kVectorGranule.
struct FewRowsProduct {
  const float* x = nullptr;
  size_t x_step = 0;
  StoredMatrix b = {};
  float* y = nullptr;
  size_t y_step = 0;
  size_t rows = 0, depth = 0, columns = 0;

  void Run() const;  // by one thread
};

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_FEW_ROWS_H_
