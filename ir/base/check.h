// AMP_CHECK aborts with file, line and condition. For our own bugs only: never reachable from a file or a flag.
#ifndef AMP_IR_BASE_CHECK_H_
#define AMP_IR_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

#define AMP_CHECK(condition)                                                                             \
  do {                                                                                                   \
    if (!(condition)) {                                                                                  \
      std::fprintf(stderr, "internal error: %s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                                      \
    }                                                                                                    \
  } while (false)

#endif  // AMP_IR_BASE_CHECK_H_
