#include "ir/file/text.h"

#include <algorithm>
#include <exception>
#include <new>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "ir/base/status.h"
#include "onnx/defs/parser.h"
#include "onnx/defs/printer.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

// "line 3, column 7" of the character at `offset`.
std::string Position(absl::string_view text, size_t offset) {
  const absl::string_view before = text.substr(0, offset);
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 == 0
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  return absl::StrCat("line ", line, ", column ", offset - line_start + 1);
}

// ONNX's parser, which says where it stopped as a number instead of as part of a message of several lines.
class TextParser : public onnx::OnnxParser {
 public:
  using OnnxParser::OnnxParser;
  size_t offset() const { return pos_; }
};

// The last line of ONNX's message, which is the one that says what is wrong.
absl::string_view LastLine(absl::string_view message) {
  while (absl::EndsWith(message, "\n")) message.remove_suffix(1);
  return message.substr(message.rfind('\n') + 1);
}

}  // namespace

absl::StatusOr<std::string> ParseOnnxText(absl::string_view text) {
  TextParser parser(std::string_view(text.data(), text.size()));
  onnx::ModelProto model;
  try {
    const onnx::Common::Status status = parser.Parse(model);
    if (!status.IsOK()) return ModelError(Position(text, parser.offset()), ": ", LastLine(status.ErrorMessage()));
  } catch (const std::bad_alloc&) {  // nothing that the text says
    throw;
  } catch (const std::exception& error) {  // numbers out of range
    return ModelError(Position(text, parser.offset()), ": ", LastLine(error.what()));
  }
  return model.SerializeAsString();
}

absl::StatusOr<std::string> PrintOnnxText(const onnx::ModelProto& model) {
  std::ostringstream out;
  try {
    onnx::operator<<(out, model) << '\n';
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {  // raw data of another size than the shape asks for
    return ModelError("cannot print the model as text: a tensor's data do not fit its shape");
  }
  return std::move(out).str();
}

}  // namespace amp
