// The rewriter as golden files see it: text in, text and report out.
#ifndef AMP_TESTS_GOLDEN_REWRITE_H_
#define AMP_TESTS_GOLDEN_REWRITE_H_

#include <string>
#include <vector>

#include "tests/golden_runner.h"

namespace amp {

// Runs the tool's main job in this process on the model `input_model_text` with the flags `options`, under TensorFlow
// 1.15's lists and rules where these name no profile.
GoldenResult RewriteForGolden(const std::string& input_model_text, const std::vector<std::string>& options);

}  // namespace amp

#endif  // AMP_TESTS_GOLDEN_REWRITE_H_
