// com.microsoft's attention against the reference: GroupQueryAttention, MultiHeadAttention, Attention. judge: attention
// compares many more forms with ONNX Runtime.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan/all_kernels.h"
#include "runtime/reference/reference_kernels.h"
#include "tests/catch2.h"
#include "tests/runtime/cpu/library_case.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

// Scores are small where operands are rounded on their way, which the reference does not do: a softmax of large ones
// makes much of that. Float inputs a, b, c, ... have these dims; `integers` are initializers in ONNX's text.
struct Case {
  std::string nodes;  // give y, and z, v where there are more outputs
  std::vector<Dims> inputs;
  std::string integers = {};
  size_t outputs = 1;
};

std::string NameOf(size_t input) { return std::string(1, static_cast<char>('a' + input)); }

std::string TextOf(const Case& each, DType dtype) {
  const std::string type(dtype == DType::kFloat32 ? "float" : DTypeName(dtype));
  std::vector<std::string> inputs, outputs;
  for (size_t i = 0; i < each.inputs.size(); ++i) {
    inputs.push_back(absl::StrCat(type, "[", absl::StrJoin(each.inputs[i], ","), "] ", NameOf(i)));
  }
  for (size_t i = 0; i < each.outputs; ++i) outputs.push_back(absl::StrCat(type, "[] ", std::string(1, "yzv"[i])));
  return absl::StrCat("<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]> g (",
                      absl::StrJoin(inputs, ", "), ") => (", absl::StrJoin(outputs, ", "), ") <", each.integers, "> {",
                      each.nodes, "}");
}

// Returns the family of the last node, or what differs from the reference.
std::string Family(const Case& each, DType dtype) {
  const SessionText text = {.text = TextOf(each, dtype)};
  SessionOptions options;
  options.find_kernels = FindAllKernels;
  const auto session = MakeSession(text, options),
             reference = MakeSession(text, OneByOne({.limits = {}, .find_kernels = FindReferenceKernels}));
  NamedDatums inputs;
  for (size_t i = 0; i < each.inputs.size(); ++i) inputs[NameOf(i)] = RandomTensor(dtype, each.inputs[i]);
  const std::vector<Tensor> expected = RunSession(*reference, inputs);
  const double tolerance = dtype == DType::kFloat32 ? 2e-5 : dtype == DType::kFloat16 ? 4e-3 : 3e-2;
  for (int run = 0; run < 2; ++run) {
    const std::string difference = DifferenceOf(RunSession(*session, inputs), expected, tolerance);
    if (!difference.empty()) return absl::StrCat(DTypeName(dtype), ": ", difference);
  }
  const std::string kernel = KernelsOf(*session).back();
  return kernel.substr(0, kernel.find(' '));
}

// Returns what a run says of inputs that do not fit, which is to be what the reference says.
std::string ErrorOf(const Case& each) {
  const SessionText text = {.text = TextOf(each, DType::kFloat32)};
  NamedDatums inputs;
  for (size_t i = 0; i < each.inputs.size(); ++i) inputs[NameOf(i)] = RandomTensor(DType::kFloat32, each.inputs[i]);
  const absl::Status found = TryToRun(*MakeSession(text), inputs).status();
  const auto reference = MakeSession(text, OneByOne({.limits = {}, .find_kernels = FindReferenceKernels}));
  CHECK(found == TryToRun(*reference, inputs).status());
  return std::string(found.message());
}

std::string Families(const Case& each) {
  std::string family;
  for (const DType dtype : kFloats) {
    INFO(each.nodes);
    const std::string found = Family(each, dtype);
    if (!family.empty() && found != family) return absl::StrCat(family, " and ", found);
    family = found;
  }
  return family;
}

std::string GroupQuery(const std::string& inputs, const std::string& attributes = "",
                       const std::string& outputs = "y, z, v") {
  return absl::StrCat(outputs, " = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2", attributes, ">(",
                      inputs, ")");
}

TEST_CASE("GroupQueryAttention: steps of a decoder") {
  const std::vector<Dims> step = {{2, 1, 32}, {2, 1, 16}, {2, 1, 16},   {2, 2, 9, 8}, {2, 2, 9, 8},
                                  {16, 4},    {16, 4},    {2, 1, 1, 9}, {4}};
  const std::string equal = "int32[2] n = {7, 7}, int32 t = {8}", unequal = "int32[2] n = {3, 8}, int32 t = {9}";
  for (const std::string& lengths : {equal, unequal}) {
    for (const char* attributes :
         {"", ", scale = 0.5", ", softcap = 0.7", ", local_window_size = 3", ", smooth_softmax = 1", ", causal = 0"}) {
      CHECK(Families({GroupQuery("a, b, c, d, e, n, t", attributes), step, lengths, 3}) == "few-rows");
    }
    for (const char* turned :
         {", do_rotary = 1, scale = 0.02", ", do_rotary = 1, scale = 0.1, rotary_interleaved = 1"}) {
      CHECK(Families({GroupQuery("a, b, c, d, e, n, t, f, g", turned), step, lengths, 3}) == "few-rows");
    }
    CHECK(Families({GroupQuery("a, b, c, d, e, n, t, , , , h"), step, lengths, 3}) == "few-rows");
    CHECK(Families({GroupQuery("a, b, c, d, e, n, t, , , , , i"), step, lengths, 3}) == "few-rows");
    CHECK(Families({GroupQuery("a, b, c, d, e, n, t", "", "y"), step, lengths, 1}) == "few-rows");
  }
  const std::string places = absl::StrCat(equal, ", int64[2,1] p = {2, 15}");
  CHECK(Families({GroupQuery("a, b, c, d, e, n, t, f, g, p", ", do_rotary = 1, scale = 0.02"), step, places, 3}) ==
        "few-rows");
  // Part of a head is turned; its size fills no register.
  const std::vector<Dims> odd = {{1, 1, 28}, {1, 1, 14}, {1, 1, 14}, {1, 2, 5, 7}, {1, 2, 5, 7}, {16, 2}, {16, 2}};
  CHECK(Families({GroupQuery("a, b, c, d, e, n, t, f, g", ", do_rotary = 1, scale = 0.02"), odd,
                  "int32[1] n = {5}, int32 t = {6}", 3}) == "few-rows");
}

TEST_CASE("GroupQueryAttention: prompts, packed operands, several tokens behind others") {
  const std::vector<Dims> prompt = {{2, 6, 32}, {2, 6, 16},   {2, 6, 16},   {2, 6, 64}, {16, 4},
                                    {16, 4},    {2, 2, 9, 8}, {1, 4, 6, 6}, {4}};
  const std::string whole = "int32[2] n = {5, 5}, int32 t = {6}", padded = "int32[2] n = {2, 5}, int32 t = {6}";
  for (const std::string& lengths : {whole, padded}) {
    for (const char* attributes : {"", ", local_window_size = 2", ", causal = 0", ", softcap = 0.5"}) {
      CHECK(Families({GroupQuery("a, b, c, , , n, t", attributes), prompt, lengths, 3}) == "onednn");
      CHECK(Families({GroupQuery("d, , , , , n, t", attributes), prompt, lengths, 3}) == "onednn");
      CHECK(Families({GroupQuery("d, , , g, g, n, t", attributes), prompt, lengths, 3}) == "onednn");
    }
    CHECK(Families({GroupQuery("d, , , , , n, t, e, f", ", do_rotary = 1, scale = 0.02"), prompt, lengths, 3}) ==
          "onednn");
    CHECK(Families({GroupQuery("a, b, c, , , n, t, , , , h, i"), prompt, lengths, 3}) == "onednn");
  }
  const std::vector<Dims> more = {{1, 3, 32}, {1, 3, 16}, {1, 3, 16}, {1, 2, 9, 8}, {1, 2, 9, 8}, {16, 4}, {16, 4}};
  const std::string behind = "int32[1] n = {7}, int32 t = {8}";
  CHECK(Families({GroupQuery("a, b, c, d, e, n, t, f, g", ", do_rotary = 1, scale = 0.02"), more, behind, 3}) ==
        "few-rows");
  CHECK(Families({GroupQuery("a, b, c, d, e, n, t", ", local_window_size = 4"), more, behind, 3}) == "few-rows");
}

TEST_CASE("GroupQueryAttention: a past that nobody else needs is written behind its last token") {
  const std::vector<Dims> step = {{2, 1, 32}, {2, 1, 16}, {2, 1, 16}, {2, 2, 9, 8}};
  const std::string lengths = "int32[2] n = {3, 8}, int32 t = {9}";
  CHECK(Families({absl::StrCat("k = Neg (d) w = Abs (d) ", GroupQuery("a, b, c, k, w, n, t")), step, lengths, 3}) ==
        "few-rows");
}

TEST_CASE("GroupQueryAttention: what a bias has for keys that a query does not see does not count") {
  const Case each = {GroupQuery("a, b, c, d, e, n, t, , , , h", "", "y"),
                     {{2, 1, 32}, {2, 1, 16}, {2, 1, 16}, {2, 2, 9, 8}, {2, 2, 9, 8}, {1}, {1}, {2, 1, 1, 9}},
                     "int32[2] n = {3, 8}, int32 t = {9}"};
  const auto session = MakeSession({.text = TextOf(each, DType::kFloat32)});
  NamedDatums inputs;
  for (size_t i = 0; i < each.inputs.size(); ++i) inputs[NameOf(i)] = RandomTensor(DType::kFloat32, each.inputs[i]);
  const std::vector<Tensor> expected = RunSession(*session, inputs);
  inputs["h"].mutable_tensor()->mutable_elements<float>()[8] = NAN;  // the first sample has four keys
  CHECK(DifferenceOf(RunSession(*session, inputs), expected, 0) == "");
  CHECK(KernelsOf(*session).back() == "few-rows GroupQueryAttention");
}

TEST_CASE("com.microsoft's attention: shapes that do not fit get the reference's error") {
  const std::string first = "int32[1] n = {5}, int32 t = {8}";
  CHECK(absl::StrContains(ErrorOf({GroupQuery("a, b, c, , , n, t"), {{1, 0, 32}, {1, 0, 16}, {1, 0, 16}}, first, 3}),
                          "seqlens_k"));
  const std::string step = "int32[1] n = {7}, int32 t = {8}";
  CHECK(absl::StrContains(ErrorOf({GroupQuery("a, b, c, d, e, n, t"),
                                   {{1, 1, 32}, {1, 1, 16}, {1, 1, 16}, {1, 2, 9, 8}, {1, 2, 0, 8}},
                                   step,
                                   3}),
                          "expected past_key and past_value of one length"));
  const auto attention = [](const Dims& bias, const std::string& attributes, int64_t width) {
    return ErrorOf({absl::StrCat("y = com.microsoft.Attention<num_heads = 2", attributes, ">(a, b, , , , c)"),
                    {{2, 9, 6}, {6, width}, bias}});
  };
  for (const Dims& bias :
       {Dims{1, 2, 2, 9, 9}, Dims{0}, Dims{2, 2, 2, 2}, Dims{2, 2, 9, 16}, Dims{1, 1, 1, 1, 1, 1, 9}}) {
    CHECK(!attention(bias, "", 48).empty());
  }
  CHECK(absl::StrContains(attention({9}, ", qkv_hidden_sizes = [40, 2, 6]", 48), "expected Q [B, Hq, L, E], K"));
}

TEST_CASE("com.microsoft's attention: tensors without elements") {
  const std::vector<Dims> nobody = {{0, 1, 32}, {0, 1, 16}, {0, 1, 16}, {0, 2, 9, 8}, {0, 2, 9, 8}};
  CHECK(Families({GroupQuery("a, b, c, d, e, n, t"), nobody, "int32[0] n = {}, int32 t = {8}", 3}) == "reference");
}

TEST_CASE("GroupQueryAttention: a past that is given away is not copied") {
  const Case each = {GroupQuery("a, b, c, d, e, n, t"),
                     {{2, 1, 32}, {2, 1, 16}, {2, 1, 16}, {2, 2, 9, 8}, {2, 2, 9, 8}},
                     "int32[2] n = {3, 7}, int32 t = {8}",
                     3};
  const auto session = MakeSession({.text = TextOf(each, DType::kFloat16)});
  NamedDatums inputs;
  for (size_t i = 0; i < each.inputs.size(); ++i) inputs[NameOf(i)] = RandomTensor(DType::kFloat16, each.inputs[i]);
  const std::vector<Tensor> expected = RunSession(*session, inputs);
  CHECK(expected[1].data() != inputs["d"].tensor()->data());
  const Tensor kept = *inputs["d"].tensor();  // so that this one is not only the session's
  const void* const given = inputs["e"].tensor()->data();
  const std::vector<Datum> outputs = *session->Run(std::move(inputs));
  CHECK(outputs[1].tensor()->data() != kept.data());
  CHECK(outputs[2].tensor()->data() == given);
  for (size_t i = 0; i < expected.size(); ++i) CHECK(DifferenceOf(*outputs[i].tensor(), expected[i], 0) == "");
}

TEST_CASE("GroupQueryAttention: what is left to the reference") {
  const std::vector<Dims> step = {{2, 1, 32}, {2, 1, 16}, {2, 1, 16}, {2, 2, 9, 8}, {2, 2, 9, 8}};
  const std::string lengths = "int32[2] n = {7, 7}, int32 t = {8}";
  CHECK(Families({GroupQuery("a, b, c, d, e, n, t", ", qk_output = 1", "y, z, w, v"), step, lengths, 3}) ==
        "reference");
}

TEST_CASE("MultiHeadAttention: biases, masks and earlier steps") {
  const auto node = [](const std::string& inputs, const std::string& attributes = "",
                       const std::string& outputs = "y") {
    return absl::StrCat(outputs, " = com.microsoft.MultiHeadAttention<num_heads = 2, scale = 0.05", attributes, ">(",
                        inputs, ")");
  };
  for (const int64_t queries : {int64_t{1}, int64_t{9}}) {
    const std::string family = queries == 1 ? "few-rows" : "onednn";
    const std::vector<Dims> inputs = {{2, queries, 16}, {2, 5, 16},        {2, 5, 10},         {42},
                                      {2, 2, 3, 8},     {2, 2, 3, 5},      {1, 2, queries, 5}, {2, 2, 5, 8},
                                      {2, 2, 5, 5},     {2, 1, queries, 8}};
    const std::string masks = absl::StrCat(
        "int32[2] lengths = {2, 5}, int32[2,5] keys = {1, 0, 1, 1, 0, 0, 1, 0, 0, 1}, int32[4] ends = {4, 5, 1, 0}, "
        "int32[2,8] all = {1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0}");
    CHECK(Families({node("a, b, c"), inputs, masks}) == family);
    CHECK(Families({node("a, b, c, d"), inputs, masks}) == family);
    for (const char* mask : {"lengths", "keys", "ends"}) {
      for (const char* attributes : {"", ", unidirectional = 1", ", mask_filter_value = -20.0"}) {
        CHECK(Families({node(absl::StrCat("a, b, c, d, ", mask), attributes), inputs, masks}) == family);
      }
    }
    CHECK(Families({node("a, b, c, , , g"), inputs, masks}) == family);
    CHECK(Families({node("a, b, c, d, all, j, e, f", "", "y, z, v"), inputs, masks, 3}) == family);
    CHECK(Families({node("a, b, c, , , , e, f"), inputs, masks}) == family);
    CHECK(Families({node("a, h, i", "", "y, z, v"), inputs, masks, 3}) == family);
    CHECK(Families({node("a, h, i, d"), inputs, masks}) == family);
  }
}

TEST_CASE("Attention of com.microsoft: projections, masks, earlier steps, widths") {
  const auto node = [](const std::string& inputs, const std::string& attributes = "",
                       const std::string& outputs = "y") {
    return absl::StrCat(outputs, " = com.microsoft.Attention<num_heads = 2, scale = 0.002", attributes, ">(", inputs,
                        ")");
  };
  for (const int64_t queries : {int64_t{1}, int64_t{9}}) {
    const std::string family = queries == 1 ? "few-rows" : "onednn";
    const std::vector<Dims> inputs = {{2, queries, 6}, {6, 48}, {48},
                                      {2, 2, 2, 3, 8}, {6, 38}, {2, 2, queries, queries}};
    const std::string masks = "int32[2] lengths = {1, 2}";
    CHECK(Families({node("a, b"), inputs, masks}) == family);
    CHECK(Families({node("a, b, c, lengths", ", unidirectional = 1"), inputs, masks}) == family);
    CHECK(Families({node("a, b, c, , , f"), inputs, masks}) == family);
    CHECK(Families({node("a, b, c, lengths, d", "", "y, z"), inputs, masks, 2}) == family);
    CHECK(Families({node("a, b, , , ", "", "y, z"), inputs, masks, 2}) == family);
    CHECK(Families({node("a, e", ", qkv_hidden_sizes = [16, 16, 6]"), inputs, masks}) == family);
  }
}

}  // namespace
}  // namespace amp
