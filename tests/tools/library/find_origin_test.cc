// Where NaN and infinities of a run begin.
#include "tools/library/find_origin.h"

#include <limits>

#include "tests/catch2.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

std::string OriginIn(const std::string& nodes, const std::vector<float>& x) {
  const auto session = MakeSession(
      {.text = "<ir_version: 10, opset_import: [\"\" : 21]> g (float[2] x) => (float[2] y) "
               "<float[2] one = {1, 1}, float[2] zero = {0, 0}> {" +
               nodes + "}",
       .constants = {{"mask", Tensor::Of<float>(DType::kFloat32, {2}, {0, -std::numeric_limits<float>::infinity()})}}});
  const absl::StatusOr<std::string> origin =
      FindOriginOfNotFinite(*session, {{"x", Tensor::Of<float>(DType::kFloat32, {2}, x)}});
  REQUIRE(origin.ok());
  return *origin;
}

TEST_CASE("the first value that is not finite although the inputs of its node are") {
  CHECK(OriginIn("h = Log (x) g = Mul (h, zero) y = Add (g, one)", {1, 0}) ==
        "'h' of node Log#0 (Log-13), 1 of 2 elements");
  CHECK(OriginIn("h = Log (x) y = Add (h, one)", {1, 2}).empty());
}

TEST_CASE("an input that has them is the beginning") {
  CHECK(OriginIn("h = Log (x) y = Add (h, one)", {std::numeric_limits<float>::quiet_NaN(), 1}) ==
        "input 'x', 1 of 2 elements");
}

TEST_CASE("a mask is no beginning, and what is behind it is") {
  CHECK(OriginIn("m = Add (x, mask) s = Softmax <axis = 0> (m) y = Identity (s)", {1, 1}).empty());
  CHECK(OriginIn("m = Add (x, mask) s = Softmax <axis = 0> (m) y = Log (s)", {1, 1}) ==
        "'y' of node Log#0 (Log-13), 1 of 2 elements");
}

}  // namespace
}  // namespace amp
