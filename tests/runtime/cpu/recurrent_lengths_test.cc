// Recurrent layers of sequences of several lengths, by the library's products against the reference.
#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/onednn/open_library.h"
#include "runtime/reference/reference_kernels.h"
#include "tests/catch2.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

constexpr int64_t kSteps = 6, kBatch = 4, kInput = 5, kHidden = 7;

struct LengthsCase {
  std::string op, direction = "forward";
  std::vector<int32_t> lengths;
  int reset = 0;
};

int64_t GatesOf(const std::string& op) { return op == "RNN" ? 1 : op == "GRU" ? 3 : 4; }

// "onednn" where that gives what the reference gives; else what is wrong.
std::string Family(const LengthsCase& each, DType dtype) {
  const int64_t directions = each.direction == "bidirectional" ? 2 : 1, rows = GatesOf(each.op) * kHidden;
  const auto random = [&](const Dims& dims) { return RandomTensor(dtype, dims, Values::kPlain, 0.5); };
  SessionText text = {.text = "",
                      .constants = {{"w", random({directions, rows, kInput})},
                                    {"r", random({directions, rows, kHidden})},
                                    {"b", random({directions, 2 * rows})},
                                    {"h0", random({directions, kBatch, kHidden})}}};
  const std::string more = each.op == "GRU" ? absl::StrCat(", linear_before_reset = ", each.reset) : "",
                    cell = each.op == "LSTM" ? ", c" : "";
  const std::string type = dtype == DType::kFloat32 ? "float" : std::string(DTypeName(dtype));
  text.text = absl::StrCat("<ir_version: 10, opset_import: [\"\" : 22]> g (", type, "[n,m,k] x, int32[m] lengths) => (",
                           type, "[] y, ", type, "[] h", cell.empty() ? "" : absl::StrCat(", ", type, "[] c"),
                           ") { y, h", cell, " = ", each.op, " <hidden_size = ", kHidden, ", direction = \"",
                           each.direction, "\"", more, "> (x, w, r, b, lengths, h0) }");
  const auto library = MakeSession(text);
  SessionOptions with_reference;
  with_reference.find_kernels = FindReferenceKernels;
  const auto reference = MakeSession(text, with_reference);
  const NamedDatums inputs = {{"x", random({kSteps, kBatch, kInput})},
                              {"lengths", Tensor::Of<int32_t>(DType::kInt32, {kBatch}, each.lengths)}};
  const std::string difference = DifferenceOf(RunSession(*library, inputs), RunSession(*reference, inputs),
                                              dtype == DType::kFloat32 ? 1e-5 : 1e-2);
  const std::string kernel = KernelsOf(*library)[0];
  return difference.empty() ? kernel.substr(0, kernel.find(' ')) : difference;
}

TEST_CASE("recurrent layers of sequences of several lengths: zeros behind the end, the last state of each") {
  const std::string expected = onednn::OpenLibrary().library == nullptr ? "reference" : "onednn";
  for (const std::string op : {"RNN", "GRU", "LSTM"}) {
    for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
      for (const std::vector<int32_t>& lengths :
           {std::vector<int32_t>{6, 3, 1, 5}, {2, 2, 2, 2}, {0, 6, 0, 4}, {0, 0, 0, 0}, {6, 6, 6, 6}}) {
        for (const int reset : {0, 1}) {
          if (reset == 1 && op != "GRU") continue;
          INFO(op << " " << direction << " " << lengths[0] << lengths[1] << " " << reset);
          const LengthsCase each = {.op = op, .direction = direction, .lengths = lengths, .reset = reset};
          CHECK(Family(each, DType::kFloat32) == expected);
          CHECK(Family(each, DType::kBfloat16) == expected);
        }
      }
    }
  }
}

TEST_CASE("lengths that do not fit are errors that name the node") {
  const SessionText text = {
      .text = R"(<ir_version: 10, opset_import: ["" : 22]>
    g (float[2,1,1] x, int32[m] lengths) => (float[] y) { [layer] y = RNN <hidden_size = 1> (x, w, r, , lengths) })",
      .constants = {{"w", RandomTensor(DType::kFloat32, {1, 1, 1})}, {"r", RandomTensor(DType::kFloat32, {1, 1, 1})}}};
  const auto session = MakeSession(text);
  for (const std::vector<int32_t>& lengths : {std::vector<int32_t>{3}, {-1}, {1, 1}}) {
    const Tensor given = Tensor::Of<int32_t>(DType::kInt32, {static_cast<int64_t>(lengths.size())}, lengths);
    const auto outputs = TryToRun(*session, {{"x", RandomTensor(DType::kFloat32, {2, 1, 1})}, {"lengths", given}});
    CHECK(absl::StrContains(outputs.status().message(), "layer (RNN-22): sequence_lens: expected"));
  }
}

}  // namespace
}  // namespace amp
