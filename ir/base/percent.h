// Percentages for people: 0.00012, 3.1, 100; never 1e+02.
#ifndef AMP_IR_BASE_PERCENT_H_
#define AMP_IR_BASE_PERCENT_H_

#include <string>

namespace amp {

// "3.1" for a share of 0.0314 and two significant digits, without the sign. Numbers that printf's %g writes with an
// exponent are written out. Tested in tests/ir/base/percent_test.cc.
std::string PercentText(double share, int significant_digits);

}  // namespace amp

#endif  // AMP_IR_BASE_PERCENT_H_
