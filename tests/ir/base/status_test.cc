#include "ir/base/status.h"

#include "tests/catch2.h"

namespace amp {
namespace {

TEST_CASE("names keep readable text and escape the rest") {
  CHECK(Escaped("conv1/W") == "conv1/W");
  CHECK(Escaped("größe") == "größe");
  CHECK(Escaped("a\nb\x1b[31m") == "a\\x0ab\\x1b[31m");
  CHECK(Escaped("back\\slash") == "back\\x5cslash");
  CHECK(Escaped("\xff\xfe") == "\\xff\\xfe");
  CHECK(Escaped("\xe2\x80\xae") == "\\xe2\\x80\\xae");  // right-to-left override
  CHECK(Escaped(std::string(300, 'x')) == std::string(200, 'x') + "...");
}

TEST_CASE("each class of error has its exit code") {
  CHECK(ExitCode(absl::OkStatus()) == 0);
  CHECK(ExitCode(UsageError("x")) == 2);
  CHECK(ExitCode(ModelError("x")) == 3);
  CHECK(ExitCode(RefusedError("x")) == 4);
  CHECK(ExitCode(LimitError("x")) == 5);
  CHECK(ExitCode(IoError("x")) == 6);
  CHECK(ExitCode(absl::InternalError("x")) == 70);
}

TEST_CASE("an error names one file, the innermost") {
  CHECK(InFile("a.onnx", IoError("cannot write")).message() == "a.onnx: cannot write");
  CHECK(InFile("in.onnx", InFile("out.onnx", IoError("cannot write"))).message() == "out.onnx: cannot write");
  CHECK(ExitCode(InFile("a.onnx", LimitError("x"))) == 5);
  CHECK(InFile("a\nb", IoError("x")).message() == "a\\x0ab: x");
  CHECK(InFile("a.onnx", absl::OkStatus()).ok());
}

TEST_CASE("the first of many names, and how many more") {
  CHECK(FirstOf({}).empty());
  CHECK(FirstOf({"a", "b", "c"}) == "a, b, c");
  CHECK(FirstOf({"a", "b", "c", "d", "e"}) == "a, b, c and 2 more");
  CHECK(QuotedFirstOf({}) == "none");
  CHECK(QuotedFirstOf({"a", "b\n"}) == "'a', 'b\\x0a'");
  CHECK(QuotedFirstOf({"a", "b", "c", "d"}) == "'a', 'b', 'c' and 1 more");
}

}  // namespace
}  // namespace amp
