// Whether a text is an equation of Einsum: terms of letters, each with at most one ellipsis, commas between them.
//
//   "ij, jk -> ik", "b...ij,...j"    yes: spaces mean nothing
//   "ij;jk", "ij,jk-", "......"      no
//
// The part behind "->" is not read.
#ifndef AMP_IR_GRAPH_EINSUM_EQUATION_H_
#define AMP_IR_GRAPH_EINSUM_EQUATION_H_

#include "absl/strings/string_view.h"

namespace amp {

bool IsEquation(absl::string_view text);

}  // namespace amp

#endif  // AMP_IR_GRAPH_EINSUM_EQUATION_H_
