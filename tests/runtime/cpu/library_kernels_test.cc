// oneDNN's kernels against the reference kernels: products, convolutions, recurrent layers.
#include "runtime/cpu/library_kernels.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/cpu/library_case.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

// ---- products

TEST_CASE("MatMul of vectors, matrices and batches of them") {
  const std::pair<Dims, Dims> shapes[] = {{{7}, {7}},
                                          {{7}, {7, 5}},
                                          {{4, 7}, {7}},
                                          {{4, 7}, {7, 5}},
                                          {{1, 7}, {7, 5}},
                                          {{4, 7}, {7, 1}},
                                          {{4, 1}, {1, 5}},
                                          {{1, 1}, {1, 1}},
                                          {{3, 4, 7}, {7, 5}},
                                          {{4, 7}, {3, 7, 5}},
                                          {{3, 4, 7}, {3, 7, 5}},
                                          {{3, 4, 7}, {1, 7, 5}},
                                          {{1, 4, 7}, {3, 7, 5}},
                                          {{7}, {3, 7, 5}},
                                          {{3, 4, 7}, {7}},
                                          {{2, 3, 4, 7}, {2, 3, 7, 5}},
                                          {{2, 3, 4, 7}, {3, 7, 5}},
                                          {{3, 4, 7}, {2, 3, 7, 5}},
                                          {{2, 1, 4, 7}, {3, 7, 5}},
                                          {{2, 1, 4, 7}, {1, 3, 7, 5}},
                                          {{1, 3, 4, 7}, {2, 1, 7, 5}},
                                          {{2, 3, 4, 7}, {7}},
                                          {{2, 1, 2, 3, 4, 7}, {2, 1, 3, 7, 5}},
                                          {{2, 2, 1, 4, 7}, {3, 7, 65}}};
  for (const auto& [a, b] : shapes) {
    INFO(DimsText(a) << " " << DimsText(b));
    CHECK(Families({.node = "y = MatMul(a, b)", .inputs = {a, b}}) == "onednn");
    CHECK(Families({.node = "y = MatMul(a, b)", .inputs = {a, b}, .constants = "b"}) == "onednn");
    CHECK(Families({.node = "y = MatMul(a, b)", .inputs = {a, b}, .constants = "a"}) == "onednn");
  }
}

TEST_CASE("MatMul of sizes beside those of registers and tiles") {
  for (const int64_t m : {1, 16, 31, 64}) {
    for (const int64_t n : {1, 15, 64, 129}) {
      for (const int64_t k : {1, 3, 32, 130}) {
        INFO(m << " " << k << " " << n);
        CHECK(Families({.node = "y = MatMul(a, b)", .inputs = {{m, k}, {k, n}}, .constants = "b"}) == "onednn");
      }
    }
  }
}

TEST_CASE("products without elements, and what does not fit") {
  for (const auto& [a, b] : {std::pair<Dims, Dims>{{0, 7}, {7, 5}},
                             {{4, 0}, {0, 5}},
                             {{4, 7}, {7, 0}},
                             {{0, 4, 7}, {7, 5}},
                             {{2, 0, 7}, {2, 7, 5}},
                             {{0}, {0}},
                             {{1, 4, 7}, {0, 7, 5}}}) {
    INFO(DimsText(a) << " " << DimsText(b));
    CHECK(Families({.node = "y = MatMul(a, b)", .inputs = {a, b}}) == "float32: reference");
  }
  for (const auto& [a, b] :
       {std::pair<Dims, Dims>{{4, 7}, {6, 5}}, {{7}, {6}}, {{2, 4, 7}, {3, 7, 5}}, {{}, {7}}, {{4, 7}, {}}}) {
    INFO(DimsText(a) << " " << DimsText(b));
    CHECK(absl::StartsWith(Family({.node = "y = MatMul(a, b)", .inputs = {a, b}}), "both: "));
  }
}

TEST_CASE("Gemm: transposed operands, factors, C of every shape that broadcasts") {
  for (const int transposes : {0, 1, 2, 3}) {
    const bool of_a = (transposes & 1) != 0, of_b = (transposes & 2) != 0;
    const Dims a = of_a ? Dims{7, 4} : Dims{4, 7}, b = of_b ? Dims{5, 7} : Dims{7, 5};
    const std::string flags = absl::StrCat("transA = ", of_a ? 1 : 0, ", transB = ", of_b ? 1 : 0);
    for (const std::string factors : {"", ", alpha = 0.5", ", beta = 0.0", ", alpha = -2.0, beta = 3.0"}) {
      const std::string gemm = absl::StrCat("y = Gemm<", flags, factors, ">");
      const std::string with_beta = absl::StrContains(factors, "3.0") ? "float32: reference" : "onednn";
      INFO(gemm);
      CHECK(Families({.node = gemm + "(a, b)", .inputs = {a, b}}) == "onednn");
      for (const Dims& c : {Dims{}, Dims{1}, Dims{5}, Dims{1, 5}, Dims{4, 1}, Dims{1, 1}, Dims{4, 5}}) {
        INFO(DimsText(c));
        CHECK(Families({.node = gemm + "(a, b, c)", .inputs = {a, b, c}}) == with_beta);
        CHECK(Families({.node = gemm + "(a, b, c)", .inputs = {a, b, c}, .constants = "bc"}) == with_beta);
      }
    }
  }
}

TEST_CASE("Gemm whose C does not fit") {
  for (const Dims& c : {Dims{3}, Dims{4}, Dims{1, 4, 5}, Dims{5, 4}, Dims{4, 5, 1}, Dims{2, 5}}) {
    INFO(DimsText(c));
    for (const std::string factors : {"", "<beta = 0.0>", "<beta = 2.0>"}) {
      const std::string found = Family({.node = "y = Gemm" + factors + "(a, b, c)", .inputs = {{4, 7}, {7, 5}, c}});
      CHECK(absl::StartsWith(found, "both: "));
    }
  }
}

TEST_CASE("FusedMatMul") {
  for (const std::string flags :
       {"", "<alpha = 0.25>", "<transA = 1>", "<transB = 1>", "<transA = 1, transB = 1, alpha = -1.5>"}) {
    const bool of_a = absl::StrContains(flags, "transA"), of_b = absl::StrContains(flags, "transB");
    for (const Dims& batch : {Dims{}, Dims{3}, Dims{2, 3}}) {
      Dims a = batch, b = batch;
      a.insert(a.end(), of_a ? std::initializer_list<int64_t>{7, 4} : std::initializer_list<int64_t>{4, 7});
      b.insert(b.end(), of_b ? std::initializer_list<int64_t>{5, 7} : std::initializer_list<int64_t>{7, 5});
      INFO(flags << DimsText(a) << DimsText(b));
      CHECK(Families({.node = "y = com.microsoft.FusedMatMul" + flags + "(a, b)", .inputs = {a, b}}) == "onednn");
    }
  }
}

TEST_CASE("Einsum as products of matrices, one after another") {
  const auto einsum = [](const std::string& equation, const std::vector<Dims>& inputs) {
    std::string node = "y = Einsum<equation = \"" + equation + "\">(a";
    for (size_t i = 1; i < inputs.size(); ++i) absl::StrAppend(&node, ", ", std::string(1, "abcd"[i]));
    for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {  // ai.onnx's Einsum has no bfloat16
      const std::string found = Family({.node = node + ")", .inputs = inputs}, dtype);
      if (found != "onednn") return found;
    }
    return std::string("onednn");
  };
  CHECK(einsum("ij,jk->ik", {{4, 7}, {7, 5}}) == "onednn");
  CHECK(einsum("bhid,bhjd->bhij", {{2, 3, 4, 5}, {2, 3, 6, 5}}) == "onednn");
  CHECK(einsum("ij,jk,kl->il", {{4, 7}, {7, 5}, {5, 6}}) == "onednn");
  CHECK(einsum("ij,jk,kl,lm->mi", {{4, 7}, {7, 5}, {5, 6}, {6, 3}}) == "onednn");
  CHECK(einsum("bij,bjk,bkl->bli", {{2, 4, 7}, {2, 7, 5}, {2, 5, 6}}) == "onednn");
  CHECK(einsum("bij,jk,bkl->bil", {{2, 4, 7}, {7, 5}, {2, 5, 6}}) == "onednn");
  CHECK(einsum("i,ij,j->", {{4}, {4, 7}, {7}}) == "onednn");
  // Nothing is summed by the first product: a later operand has the label that both have.
  CHECK(einsum("ij,jk,jl->ikl", {{4, 7}, {7, 5}, {7, 6}}) == "reference");
  CHECK(einsum("ij,jk,kl->il", {{4, 7}, {7, 0}, {0, 6}}) == "reference");
  CHECK(einsum("ij,jk,kk->ik", {{4, 7}, {7, 5}, {5, 5}}) == "reference");
  CHECK(einsum("...ij,jk,kl->...il", {{4, 7}, {7, 5}, {5, 6}}) == "reference");
  CHECK(absl::StartsWith(einsum("ij,jk,kl->il", {{4, 7}, {7, 5}, {4, 6}}), "both: "));
}

// ---- convolutions

// With W computed and constant, with a bias and without.
std::string Convolutions(const std::string& attributes, const Dims& x, const Dims& w, int64_t channels) {
  std::string result;
  for (const std::string constants : {"", "b", "bc"}) {
    for (const bool has_bias : {false, true}) {
      LibraryCase each = {
          .node = attributes + (has_bias ? "(a, b, c)" : "(a, b)"), .inputs = {x, w}, .constants = constants};
      if (has_bias) each.inputs.push_back({channels});
      result = Families(each);
      if (result != "onednn") return absl::StrCat(each.node, " ", constants, ": ", result);
    }
  }
  return result;
}

std::string Conv(const std::string& attributes, const Dims& x, const Dims& w) {
  return Convolutions("y = Conv" + attributes, x, w, w[0]);
}

TEST_CASE("DeformConv: groups of both kinds, masks, windows, one and three axes") {
  struct Deformable {
    std::string attributes;
    std::vector<Dims> inputs;  // x, w, offset, mask
  };
  const Deformable cases[] = {
      {"", {{2, 3, 9, 8}, {5, 3, 3, 2}, {2, 12, 7, 7}}},
      {"<strides = [2, 1], pads = [1, 2, 0, 1], dilations = [1, 2]>",
       {{2, 3, 9, 8}, {5, 3, 3, 2}, {2, 12, 4, 9}, {2, 6, 4, 9}}},
      {"<group = 2, offset_group = 2>", {{2, 4, 6, 6}, {6, 2, 2, 2}, {2, 16, 5, 5}, {2, 8, 5, 5}}},
      {"<offset_group = 4>", {{1, 4, 40, 40}, {3, 4, 1, 1}, {1, 8, 40, 40}}},
      {"", {{2, 3, 9}, {5, 3, 3}, {2, 3, 7}}},
      {"", {{1, 2, 4, 4, 4}, {2, 2, 2, 2, 2}, {1, 24, 3, 3, 3}, {1, 8, 3, 3, 3}}}};
  for (const Deformable& each : cases) {
    for (const bool has_bias : {false, true}) {
      const bool has_mask = each.inputs.size() == 4;
      LibraryCase node = {.node = "y = DeformConv" + each.attributes + "(a, b, c", .inputs = each.inputs};
      if (has_mask) node.node += has_bias ? ", e, d" : ", , d";
      if (!has_mask && has_bias) node.node += ", d";
      node.node += ')';
      if (has_bias) node.inputs.push_back({each.inputs[1][0]});
      INFO(node.node);
      CHECK(Families(node) == "onednn");
      for (const double scale : {0.1, 10.0}) {
        node.scale = scale;
        CHECK(Family(node) == "onednn");
      }
    }
  }
  const LibraryCase outside = {.node = "y = DeformConv(a, b, c)", .inputs = {{1, 1, 3, 3}, {1, 1, 2, 2}, {1, 8, 3, 2}}};
  CHECK(absl::StartsWith(Family(outside), "both: "));
  CHECK(absl::StartsWith(
      Family({.node = "y = DeformConv(a, b, c, d)", .inputs = {{1, 1, 3, 3}, {2, 1, 2, 2}, {1, 8, 2, 2}, {1}}}),
      "both: "));
  CHECK(Family({.node = "y = DeformConv(a, b, c)", .inputs = {{0, 1, 3, 3}, {1, 1, 2, 2}, {0, 8, 2, 2}}}) ==
        "reference");
}

TEST_CASE("Conv of one, two and three axes") {
  CHECK(Conv("", {2, 3, 9}, {5, 3, 3}) == "onednn");
  CHECK(Conv("", {2, 3, 9, 8}, {5, 3, 3, 2}) == "onednn");
  CHECK(Conv("", {2, 3, 5, 6, 7}, {5, 3, 3, 2, 1}) == "onednn");
  CHECK(Conv("", {2, 16, 9, 8}, {32, 16, 1, 1}) == "onednn");
  CHECK(Conv("", {1, 1, 1, 1}, {1, 1, 1, 1}) == "onednn");
  CHECK(Conv("", {2, 1, 4, 4}, {1, 1, 2, 2}) == "onednn");
  CHECK(Conv("", {2, 64, 1, 1}, {64, 64, 1, 1}) == "onednn");
}

TEST_CASE("strides, dilations, pads of each side, pads by name") {
  CHECK(Conv("<strides = [2, 3]>", {2, 8, 11, 12}, {16, 8, 3, 3}) == "onednn");
  CHECK(Conv("<strides = [4, 5]>", {2, 8, 11, 12}, {16, 8, 2, 1}) == "onednn");
  CHECK(Conv("<strides = [3]>", {2, 8, 11}, {16, 8, 1}) == "onednn");
  CHECK(Conv("<dilations = [2, 3]>", {2, 8, 11, 12}, {16, 8, 3, 3}) == "onednn");
  CHECK(Conv("<dilations = [3], strides = [2], pads = [1, 2]>", {2, 8, 11}, {16, 8, 3}) == "onednn");
  CHECK(Conv("<pads = [0, 1, 2, 3]>", {2, 8, 5, 6}, {16, 8, 3, 3}) == "onednn");
  CHECK(Conv("<pads = [3, 0, 0, 0, 1, 2]>", {1, 4, 3, 4, 5}, {8, 4, 3, 3, 3}) == "onednn");
  CHECK(Conv("<kernel_shape = [3, 3], pads = [2, 2, 2, 2]>", {2, 8, 1, 1}, {16, 8, 3, 3}) == "onednn");
  for (const std::string name : {"SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"}) {
    CHECK(Conv("<auto_pad = \"" + name + "\", strides = [2, 2]>", {2, 8, 10, 11}, {16, 8, 4, 3}) == "onednn");
    CHECK(Conv("<auto_pad = \"" + name + "\", dilations = [2, 1]>", {2, 8, 10, 11}, {16, 8, 4, 3}) == "onednn");
  }
}

TEST_CASE("images one column wide") {
  CHECK(Conv("", {2, 8, 20, 1}, {16, 8, 5, 1}) == "onednn");
  CHECK(Conv("<pads = [2, 0, 1, 0], strides = [3, 2], dilations = [2, 3]>", {2, 8, 20, 1}, {16, 8, 3, 1}) == "onednn");
  CHECK(Conv("<group = 8>", {2, 8, 20, 1}, {8, 1, 3, 1}) == "onednn");
  CHECK(Conv("<pads = [0, 1, 0, 1]>", {2, 8, 20, 1}, {16, 8, 5, 1}) == "onednn");  // three columns wide after padding
  CHECK(Conv("<pads = [0, 1, 0, 1]>", {2, 8, 20, 1}, {16, 8, 5, 3}) == "onednn");
}

TEST_CASE("groups and depthwise") {
  CHECK(Conv("<group = 2>", {2, 8, 7, 7}, {6, 4, 3, 3}) == "onednn");
  CHECK(Conv("<group = 4, pads = [1, 1, 1, 1]>", {2, 64, 7, 7}, {64, 16, 3, 3}) == "onednn");
  CHECK(Conv("<group = 8, pads = [1, 1, 1, 1]>", {2, 8, 7, 7}, {8, 1, 3, 3}) == "onednn");
  CHECK(Conv("<group = 24, strides = [2, 2], pads = [1, 0, 1, 2]>", {2, 24, 9, 7}, {24, 1, 3, 3}) == "onednn");
  CHECK(Conv("<group = 8>", {2, 8, 7}, {16, 1, 3}) == "onednn");
  CHECK(Conv("<group = 3>", {1, 3, 5, 5, 5}, {3, 1, 2, 2, 2}) == "onednn");
}

TEST_CASE("Conv without elements, and what does not fit") {
  const auto family = [](const std::string& attributes, const std::vector<Dims>& inputs) {
    return Family({.node = "y = Conv" + attributes + (inputs.size() == 3 ? "(a, b, c)" : "(a, b)"), .inputs = inputs});
  };
  CHECK(family("", {{0, 3, 9, 9}, {5, 3, 3, 3}}) == "reference");
  CHECK(family("", {{2, 3, 9, 9}, {0, 3, 3, 3}}) == "reference");
  CHECK(family("<pads = [1, 1]>", {{2, 3, 0}, {5, 3, 1}}) == "reference");
  CHECK(family("", {{2, 3, 9, 9}, {5, 3, 3, 3}, {5}}) == "onednn");
  for (const Dims& bias : {Dims{4}, Dims{6}, Dims{1}, Dims{}, Dims{5, 1}, Dims{1, 5}, Dims{0}}) {
    INFO(DimsText(bias));
    CHECK(absl::StartsWith(family("", {{2, 3, 9, 9}, {5, 3, 3, 3}, bias}), "both: "));
  }
  CHECK(absl::StartsWith(family("", {{2, 3, 9, 9}, {5, 2, 3, 3}}), "both: "));
  CHECK(absl::StartsWith(family("<group = 2>", {{2, 4, 9, 9}, {5, 2, 3, 3}}), "both: "));
  CHECK(absl::StartsWith(family("", {{2, 3, 2, 9}, {5, 3, 3, 3}}), "both: "));
  CHECK(absl::StartsWith(family("<kernel_shape = [2, 2]>", {{2, 3, 9, 9}, {5, 3, 3, 3}}), "both: "));
}

TEST_CASE("FusedConv") {
  for (const std::string activation : {"activation = \"Relu\"", "activation = \"Tanh\"", "activation = \"Sigmoid\"",
                                       "activation = \"LeakyRelu\", activation_params = [0.25]",
                                       "activation = \"Clip\", activation_params = [-0.5, 1.5]",
                                       "activation = \"HardSigmoid\", activation_params = [0.3, 0.4]"}) {
    const std::string node = "y = com.microsoft.FusedConv<pads = [1, 1, 1, 1], " + activation + ">";
    const Dims x = {2, 8, 6, 6}, w = {16, 8, 3, 3}, y = {2, 16, 6, 6};
    INFO(activation);
    for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
      CHECK(Family({.node = node + "(a, b)", .inputs = {x, w}}, dtype) == "onednn");
      CHECK(Family({.node = node + "(a, b, c)", .inputs = {x, w, {16}}}, dtype) == "onednn");
      CHECK(Family({.node = node + "(a, b, c, d)", .inputs = {x, w, {16}, y}}, dtype) == "onednn");
      CHECK(Family({.node = node + "(a, b, , c)", .inputs = {x, w, y}}, dtype) == "onednn");
    }
  }
}

std::string Transposed(const std::string& attributes, const Dims& x, const Dims& w, int64_t channels) {
  return Convolutions("y = ConvTranspose" + attributes, x, w, channels);
}

TEST_CASE("ConvTranspose") {
  CHECK(Transposed("", {2, 3, 9}, {3, 5, 3}, 5) == "onednn");
  CHECK(Transposed("", {2, 3, 5, 6}, {3, 5, 3, 2}, 5) == "onednn");
  CHECK(Transposed("", {2, 8, 20, 1}, {8, 16, 5, 1}, 16) == "onednn");
  CHECK(Transposed("<strides = [2, 3], output_padding = [1, 0]>", {2, 8, 20, 1}, {8, 16, 3, 1}, 16) == "onednn");
  CHECK(Transposed("", {1, 3, 3, 4, 5}, {3, 5, 3, 2, 1}, 5) == "onednn");
  CHECK(Transposed("<strides = [2, 3]>", {2, 8, 5, 6}, {8, 16, 3, 3}, 16) == "onednn");
  CHECK(Transposed("<strides = [4, 5]>", {2, 8, 5, 6}, {8, 16, 2, 1}, 16) == "onednn");
  CHECK(Transposed("<dilations = [2, 3]>", {2, 8, 5, 6}, {8, 16, 3, 3}, 16) == "onednn");
  CHECK(Transposed("<pads = [0, 1, 2, 1]>", {2, 8, 5, 6}, {8, 16, 3, 3}, 16) == "onednn");
  CHECK(Transposed("<strides = [3, 3], output_padding = [1, 2]>", {2, 8, 5, 6}, {8, 16, 3, 3}, 16) == "onednn");
  CHECK(Transposed("<strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]>", {2, 8, 5, 6}, {8, 16, 3, 3},
                   16) == "onednn");
  CHECK(Transposed("<strides = [3, 2], output_shape = [16, 12]>", {2, 8, 5, 6}, {8, 16, 3, 3}, 16) == "onednn");
  CHECK(Transposed("<strides = [3, 2], output_shape = [12, 11]>", {2, 8, 5, 6}, {8, 16, 3, 3}, 16) == "onednn");
  CHECK(Transposed("<strides = [2], output_shape = [12]>", {2, 8, 5}, {8, 16, 3}, 16) == "onednn");
  CHECK(Family({.node = "y = ConvTranspose<strides = [2], output_shape = [14]>(a, b)",
                .inputs = {{2, 8, 5}, {8, 16, 3}}}) == "reference");
  for (const std::string name : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    CHECK(Transposed("<auto_pad = \"" + name + "\", strides = [2, 2]>", {2, 8, 5, 6}, {8, 16, 3, 4}, 16) == "onednn");
  }
  CHECK(Transposed("<group = 2>", {2, 8, 5, 6}, {8, 3, 3, 3}, 6) == "onednn");
  CHECK(Transposed("<group = 4, strides = [2, 2], pads = [1, 1, 1, 1]>", {2, 16, 5, 6}, {16, 4, 4, 4}, 16) == "onednn");
  CHECK(Transposed("<group = 8>", {2, 8, 5, 6}, {8, 1, 3, 3}, 8) == "onednn");
}

TEST_CASE("ConvTranspose of many channels or taps: the bias comes once, the activation last") {
  CHECK(Transposed("<strides = [2,2]>", {1, 512, 4, 4}, {512, 16, 4, 4}, 16) == "onednn");
  CHECK(Transposed("<strides = [8,8]>", {1, 64, 4, 4}, {64, 16, 16, 16}, 16) == "onednn");
  CHECK(Transposed("<strides = [8]>", {1, 1024, 5}, {1024, 16, 16}, 16) == "onednn");
  CHECK(Transposed("", {1, 512, 4, 4}, {512, 16, 4, 4}, 16) == "onednn");
  const std::vector<Dims> inputs = {{1, 512, 4, 4}, {512, 16, 4, 4}, {16}};
  for (const std::string strides : {"<strides = [2,2]>", ""}) {
    const std::string node = "h = ConvTranspose" + strides + "(a, b, c) y = Tanh(h)";
    CHECK(Families({.node = node, .inputs = inputs, .constants = "bc", .scale = 0.1}) == "onednn");
  }
}

TEST_CASE("ConvTranspose whose bias does not fit") {
  for (const Dims& bias : {Dims{8}, Dims{15}, Dims{1}, Dims{16, 1}}) {
    CHECK(absl::StartsWith(
        Family({.node = "y = ConvTranspose(a, b, c)", .inputs = {{2, 8, 5, 6}, {8, 16, 3, 3}, bias}}), "both: "));
  }
}

// ---- recurrent layers

TEST_CASE("recurrent layers of one sequence: hidden sizes beside those of registers, one step and several") {
  for (const auto& [op, gates] :
       {std::pair<std::string, int64_t>{"RNN", 1}, {"GRU", 3}, {"GRU<linear_before_reset = 1>", 3}, {"LSTM", 4}}) {
    for (const int64_t hidden : {1, 15, 16, 43, 140}) {
      for (const int64_t steps : {1, 4}) {
        INFO(op << " " << hidden << " " << steps);
        CHECK(Families({.node = absl::StrCat(op == "LSTM" ? "y, z, v = " : "y, z = ", op, "(a, b, c, d)"),
                        .inputs = {{steps, 1, 9},
                                   {1, gates * hidden, 9},
                                   {1, gates * hidden, hidden},
                                   {1, 2 * gates * hidden}},
                        .constants = "bcd",
                        .outputs = op == "LSTM" ? size_t{3} : size_t{2},
                        .scale = 0.3}) == "onednn");
      }
    }
  }
}

// Weights of 35 inputs are read as they are stored where rows are few.
void CheckLayers(int64_t input, int64_t hidden) {
  const int64_t steps = 5;
  for (const auto& [op, gates] : {std::pair<std::string, int64_t>{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}}) {
    for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
      const int64_t directions = direction == "bidirectional" ? 2 : 1;
      for (const int64_t batch : {1, 3}) {
        for (const int reset : {0, 1}) {
          if (reset == 1 && op != "GRU") continue;
          const std::string node =
              absl::StrCat(op, "<hidden_size = ", hidden, ", direction = \"", direction, "\"",
                           op == "GRU" ? absl::StrCat(", linear_before_reset = ", reset) : "", ">");
          const Dims x = {steps, batch, input}, w = {directions, gates * hidden, input},
                     r = {directions, gates * hidden, hidden}, b = {directions, 2 * gates * hidden},
                     h = {directions, batch, hidden};
          const bool is_lstm = op == "LSTM";
          const std::string outputs = is_lstm ? "y, z, v = " : "y, z = ";
          const size_t count = is_lstm ? 3 : 2;
          INFO(node << " " << batch);
          CHECK(Families({.node = outputs + node + "(a, b, c)",
                          .inputs = {x, w, r},
                          .constants = "bc",
                          .outputs = count,
                          .scale = 0.3}) == "onednn");
          CHECK(Families({.node = outputs + node + "(a, b, c, d)",
                          .inputs = {x, w, r, b},
                          .constants = "bcd",
                          .outputs = count,
                          .scale = 0.3}) == "onednn");
          CHECK(Families({.node = outputs + node + "(a, b, c, d, , e)",
                          .inputs = {x, w, r, b, h},
                          .constants = "bcd",
                          .outputs = count,
                          .scale = 0.3}) == "onednn");
          CHECK(Families({.node = ", y = " + node + "(a, b, c, , , d)",
                          .inputs = {x, w, r, h},
                          .constants = "bc",
                          .scale = 0.3}) == "onednn");
          if (is_lstm) {
            CHECK(Families({.node = outputs + node + "(a, b, c, d, , e, f)",
                            .inputs = {x, w, r, b, h, h},
                            .constants = "bcd",
                            .outputs = count,
                            .scale = 0.3}) == "onednn");
            CHECK(Families({.node = ", , y = " + node + "(a, b, c, , , , d)",
                            .inputs = {x, w, r, h},
                            .constants = "bc",
                            .scale = 0.3}) == "onednn");
          }
        }
      }
    }
  }
}

TEST_CASE("recurrent layers: directions, states, biases, the last outputs alone") {
  CheckLayers(7, 6);
  CheckLayers(35, 24);
}

TEST_CASE("recurrent layers with what the library's do not have are the reference's") {
  const Dims x = {5, 3, 7}, w = {1, 6, 7}, r = {1, 6, 6};
  const auto family = [&](const std::string& attributes, const std::string& constants) {
    return Family({.node = "y, z = RNN<hidden_size = 6" + attributes + ">(a, b, c)",
                   .inputs = {x, w, r},
                   .constants = constants,
                   .outputs = 2});
  };
  CHECK(family("", "bc") == "onednn");
  CHECK(family("", "b") == "reference");
  CHECK(family("", "") == "reference");
  CHECK(family(", clip = 0.5", "bc") == "reference");
  CHECK(family(", activations = [\"Relu\"]", "bc") == "reference");
  CHECK(family(", activations = [\"Tanh\"]", "bc") == "onednn");
  CHECK(
      absl::StartsWith(family(", activations = [\"Tanh\", \"Tanh\"], direction = \"bidirectional\"", "bc"), "both: "));
}

// ---- one session, many runs

TEST_CASE("one session on several shapes in turn") {
  const LibraryCase cases[] = {
      {.node = "y = MatMul(a, b)", .inputs = {{1, 7}, {7, 5}}, .constants = "b"},
      {.node = "y = Conv<pads = [1, 1, 1, 1]>(a, b)", .inputs = {{1, 8, 6, 6}, {16, 8, 3, 3}}, .constants = "b"},
      {.node = "y = ConvTranspose<strides = [2, 2]>(a, b)", .inputs = {{1, 8, 6, 6}, {8, 16, 3, 3}}, .constants = "b"},
      {.node = "y, z = GRU<hidden_size = 6>(a, b, c)",
       .inputs = {{4, 1, 7}, {1, 18, 7}, {1, 18, 6}},
       .constants = "bc",
       .outputs = 2}};
  for (const LibraryCase& each : cases) {
    for (const DType dtype : kFloats) {
      INFO(each.node);
      const TwoSessions sessions(each, dtype);
      for (const int64_t size : {1, 2, 33, 1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 1, 33}) {
        LibraryCase resized = each;
        resized.inputs[0][each.outputs == 2 ? 1 : 0] = size;
        CHECK(sessions.Run(RandomInputs(resized, dtype)) == "onednn");
        if (resized.inputs[0].size() != 4) continue;
        resized.inputs[0][2] = size;
        CHECK(sessions.Run(RandomInputs(resized, dtype)) == "onednn");
      }
    }
  }
}

TEST_CASE("weights that a caller may override, given and not given") {
  const LibraryCase cases[] = {
      {.node = "y = MatMul(a, b)", .inputs = {{4, 7}, {7, 5}}, .overridable = "b"},
      {.node = "y = Gemm(a, b, c)", .inputs = {{4, 7}, {7, 5}, {5}}, .overridable = "bc"},
      {.node = "y = Conv(a, b, c)", .inputs = {{2, 8, 6, 6}, {16, 8, 3, 3}, {16}}, .overridable = "bc"},
      {.node = "y = ConvTranspose(a, b, c)", .inputs = {{2, 8, 6, 6}, {8, 16, 3, 3}, {16}}, .overridable = "bc"},
      {.node = "y, z = GRU<hidden_size = 6>(a, b, c, d)",
       .inputs = {{4, 2, 7}, {1, 18, 7}, {1, 18, 6}, {1, 36}},
       .overridable = "bcd",
       .outputs = 2}};
  for (const LibraryCase& each : cases) {
    for (const DType dtype : kFloats) {
      INFO(each.node);
      const TwoSessions sessions(each, dtype);
      for (const bool overrides : {false, true, true, false, true, false}) {
        const std::string family = sessions.Run(RandomInputs(each, dtype, overrides));
        CHECK((family == "onednn" || (overrides && each.outputs == 2 && family == "reference")));
      }
    }
  }
}

TEST_CASE("operands that share elements") {
  CHECK(Families({.node = "y = MatMul(a, a)", .inputs = {{5, 5}}}) == "onednn");
  CHECK(Families({.node = "y = MatMul(a, a)", .inputs = {{5, 5}}, .overridable = "a"}) == "onednn");
  CHECK(Families({.node = "y = Gemm(a, a, a)", .inputs = {{5, 5}}}) == "onednn");
}

TEST_CASE("products of numbers that are not finite") {
  for (const DType dtype : kFloats) {
    const TwoSessions sessions({.node = "y = MatMul(a, b)", .inputs = {{1, 3}, {3, 2}}}, dtype);
    const auto tensor = [&](const Dims& dims, const std::vector<double>& elements) {
      Tensor result = *Tensor::Create(dtype, dims);
      REQUIRE(WriteDoubles(elements, result).ok());
      return result;
    };
    const NamedDatums inputs = {{"a", tensor({1, 3}, {1, INFINITY, -2})}, {"b", tensor({3, 2}, {1, 2, 0, 3, NAN, -4})}};
    CHECK(sessions.Run(inputs) == "onednn");
  }
}

}  // namespace
}  // namespace amp
