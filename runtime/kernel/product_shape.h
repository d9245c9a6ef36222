// The shape of a product of matrices: as NumPy has it, and as a library is best asked for it.
//
//   [2, 8, 16] [16, 32]        one product [16, 16] [16, 32]: the rows of all matrices on the left
//   [2, 12, 8, 16] [2, 12, 16, 8]     24 products [8, 16] [16, 8]
//   [2, 1, 8, 16] [3, 16, 8]   as it is, broadcast
#ifndef AMP_RUNTIME_KERNEL_PRODUCT_SHAPE_H_
#define AMP_RUNTIME_KERNEL_PRODUCT_SHAPE_H_

#include <cstddef>
#include <optional>

#include "runtime/kernel/tensor.h"

namespace amp {

struct ProductShape {
  enum class Way { kFolded, kOneBatch, kAsIs };

  // The dims of the operands as they lie in memory, with vectors made matrices: [..., rows, columns] before any
  // transposition.
  Dims a = {}, b = {};
  bool transposes_a = false, transposes_b = false;
  Dims y = {};        // NumPy's result, of at least two axes
  Dims y_final = {};  // without the axes that stand for vectors
  int64_t m = 0, k = 0, n = 0;
  bool has_vectors = false;

  // The first way that is possible at `way` or behind it.
  Way FirstWay(Way way) const;
  // The dims that the library sees.
  Dims ViewOfA(Way way) const { return View(a, way); }
  Dims ViewOfB(Way way) const;
  Dims ViewOfY(Way way) const { return View(y, way); }
  // An operand that broadcasts to y, in the shape of ViewOfY with ones; nothing where that cannot say it.
  std::optional<Dims> ViewOfOperand(const Dims& operand, Way way) const;

 private:
  Dims View(const Dims& dims, Way way) const;
};

// Nothing where the shapes do not fit, or have no elements.
std::optional<ProductShape> ShapeOfProduct(Dims a, Dims b, bool transposes_a, bool transposes_b);

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_PRODUCT_SHAPE_H_
