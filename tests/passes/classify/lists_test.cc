// The shipped lists against ONNX's registry, the built-in signatures and against the table of classes that they carry
// over.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/schema/op_signatures.h"
#include "ir/schema/schema.h"
#include "lists/embedded_lists.h"
#include "onnx/defs/schema.h"
#include "passes/classify/op_lists.h"
#include "tests/catch2.h"

namespace amp {
namespace {

// Operators with a float port that no list has: they stay float32 and stop every propagation.
const std::set<std::string>& Barriers() {
  static const auto* const kBarriers = new std::set<std::string>{
      // positions and angles, sampling grids
      "Sin", "Cos", "AffineGrid", "RoiAlign", "Range",
      // the type is decided with the readers
      "Cast", "CastLike", "Constant", "BitCast",
      // exact in any type, but ONNX Runtime has no 16-bit kernel and would not load the model
      "EyeLike",
      // random numbers
      "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
      // tables
      "BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix",
      // quantization has types of its own
      "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul",
      // no 16-bit form
      "NonMaxSuppression", "TfIdfVectorizer"};
  return *kBarriers;
}

// Some version of the operator reads or writes float32: as a tensor, or inside a sequence or an optional.
bool HasFloatPort(const std::string& op) {
  static const auto* const kOperators = [] {
    auto* operators = new std::set<std::string>;
    const auto has_float = [](const onnx::OpSchema::FormalParameter& port) {
      return std::any_of(port.GetTypes().begin(), port.GetTypes().end(),
                         [](const auto& type) { return absl::StrContains(std::string(*type), "tensor(float)"); });
    };
    for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
      if (schema.domain().empty() && (std::any_of(schema.inputs().begin(), schema.inputs().end(), has_float) ||
                                      std::any_of(schema.outputs().begin(), schema.outputs().end(), has_float))) {
        operators->insert(schema.Name());
      }
    }
    return operators;
  }();
  return kOperators->count(op) != 0;
}

bool HasFloatPort(const OpSchema& signature) {
  const auto has_float = [&](const OpSchema::Port& port) { return signature.Allows(port.variable, DType::kFloat32); };
  return std::any_of(signature.inputs().begin(), signature.inputs().end(), has_float) ||
         std::any_of(signature.outputs().begin(), signature.outputs().end(), has_float);
}

std::string NameOf(const OpRow& row) { return row.domain.empty() ? row.op : row.domain + "::" + row.op; }

OpLists MustLoad(const std::string& profile) {
  absl::StatusOr<OpLists> lists = OpLists::Load({.profile = profile});
  INFO(profile << ": " << lists.status());
  REQUIRE(lists.ok());
  return *std::move(lists);
}

using Facts = std::map<std::string, std::string>;

// `op` is "Softmax" or "com.microsoft::BiasSoftmax".
std::string ClassOf(const OpLists& lists, const std::string& op, const Facts& facts = {}) {
  const size_t colons = op.find("::");
  const std::string domain = colons == std::string::npos ? "" : op.substr(0, colons);
  const std::string name = colons == std::string::npos ? op : op.substr(colons + 2);
  const OpRow* row = lists.Find(domain, name, [&](const OpCondition& condition) -> std::optional<std::string> {
    const auto it = facts.find(condition.key);
    return it == facts.end() ? std::nullopt : std::optional<std::string>(it->second);
  });
  return row == nullptr ? "none" : std::string(OpClassName(row->op_class));
}

TEST_CASE("every list loads without a warning") {
  CHECK(EmbeddedLists().size() == 9);
  for (const EmbeddedList& list : EmbeddedLists()) {
    const OpLists lists = MustLoad(std::string(list.name));
    INFO(list.name);
    CHECK(absl::StartsWith(list.text, absl::StrCat("# ", list.name, ": ")));
    CHECK(lists.foreign_operators().empty());
    CHECK(lists.name_rules().empty());
  }
}

TEST_CASE("every row names an operator with a float port and gives a reason") {
  for (const EmbeddedList& list : EmbeddedLists()) {
    const absl::StatusOr<OpListFile> file = ParseOpListFile(std::string(list.name), list.text);
    INFO(file.status());
    REQUIRE(file.ok());
    for (const OpRow& row : file->rows) {
      INFO(row.origin << ": " << row.Label());
      const auto signatures = OpSignatures::BuiltIn()->Find(row.domain, row.op);
      if (signatures.empty()) {
        CHECK(row.domain.empty());
        CHECK(HasFloatPort(row.op));
      } else {
        CHECK(HasFloatPort(*signatures.front()));
      }
      CHECK(absl::StrContains(row.why, ' '));
    }
  }
}

TEST_CASE("every operator with a float port has a class or is a known barrier") {
  const OpLists seed = MustLoad("tf-1.15-float16");
  for (const std::string& op : RegisteredOperators("")) {
    INFO(op);
    const bool listed = ClassOf(seed, op) != "none";
    CHECK((listed || Barriers().count(op) != 0) == HasFloatPort(op));
    CHECK_FALSE((listed && Barriers().count(op) != 0));
  }
}

TEST_CASE("every operator with a built-in signature has a class") {
  const OpLists seed = MustLoad("tf-1.15-float16");
  int count = 0;
  for (const std::string& op : OpSignatures::BuiltIn()->Operators("com.microsoft")) {
    INFO(op);
    CHECK(ClassOf(seed, "com.microsoft::" + op) != "none");
    ++count;
  }
  CHECK(count == 62);
  CHECK(OpSignatures::BuiltIn()->Operators("") == std::vector<std::string>{"SimplifiedLayerNormalization"});
}

TEST_CASE("a conditional row never stands without one for the rest") {
  for (const EmbeddedList& list : EmbeddedLists()) {
    const absl::StatusOr<OpListFile> file = ParseOpListFile(std::string(list.name), list.text);
    const OpLists lists = MustLoad(std::string(list.name));
    for (const OpRow& row : file->rows) {
      INFO(row.origin << ": " << row.Label());
      CHECK(ClassOf(lists, NameOf(row)) != "none");
    }
  }
}

// Classes that differ between profiles, in the order of kProfiles; w allow, g infer, b deny, c clear, - barrier.
constexpr const char* kProfiles[] = {"tf-1.15-float16",    "tf-1.15-bfloat16",      "tf-latest-float16",
                                     "tf-latest-bfloat16", "tf-latest-cpu-float16", "itex-float16",
                                     "itex-bfloat16",      "default-float16",       "default-bfloat16"};

struct Difference {
  const char* op;
  Facts facts;
  const char* classes;
};

TEST_CASE("profiles differ where they should") {
  const Difference differences[] = {
      {"Softmax", {}, "bbggggggg"},
      {"LogSoftmax", {}, "bgggggggg"},
      {"Log", {}, "bggggggbg"},
      {"ReduceMean", {}, "bgbgbbbbg"},
      {"ReduceMean", {{"accumulate", "float32"}}, "bgbgbbbgg"},
      {"ReduceSum", {}, "bgbgbbgbg"},
      {"ReduceSum", {{"device", "cpu"}}, "bgbgbggbg"},
      {"ReduceLogSum", {}, "bgbgbbgbg"},
      {"ReduceSumSquare", {}, "bgbgbbgbg"},
      {"ReduceL2", {}, "bbbbbbbbb"},
      {"ReduceLogSumExp", {}, "bbbbbbbbb"},
      {"Resize", {{"mode", "nearest"}}, "ccccccccc"},
      {"Resize", {{"mode", "linear"}}, "gcgcggcgc"},
      {"Upsample", {{"mode", "linear"}}, "ggggggggg"},
      {"InstanceNormalization", {}, "bbbbbgggg"},
      {"InstanceNormalization", {{"stats", "float32"}}, "ggggggggg"},
      {"LayerNormalization", {{"stash_type", "1"}}, "ggggggggg"},
      {"LayerNormalization", {{"stash_type", "10"}}, "bbbbbbbbb"},
      {"LSTM", {}, "w-w--w-w-"},
      {"GRU", {{"rnn", "bfloat16"}}, "wwww-wwww"},
      {"Einsum", {}, "wwwwwwwww"},
      {"Conv", {{"depthwise", "1"}}, "wwwwwwwww"},
      {"MatMul", {}, "wwwwwwwww"},
      {"Gelu", {}, "ggggggggg"},
      {"GlobalAveragePool", {}, "ggggggggg"},
      {"Exp", {}, "bbbbbbbbb"},
      {"Pow", {}, "bbbbbbbbb"},
      {"CumSum", {}, "bbbbbbbbb"},
      {"SoftmaxCrossEntropyLoss", {}, "bbbbbbbbb"},
      {"ScatterND", {{"reduction", "none"}}, "ccccccccc"},
      {"ScatterElements", {{"reduction", "add"}}, "ggggggggg"},
      {"OptionalHasElement", {}, "ccccccccc"},
      {"Sin", {}, "---------"},
      {"Cast", {}, "---------"},
      {"com.microsoft::FusedMatMul", {}, "wwwwwwwww"},
      {"com.microsoft::MatMulNBits", {}, "wwwwwwwww"},
      {"com.microsoft::Attention", {}, "bbwwwwwww"},
      {"com.microsoft::GroupQueryAttention", {{"softmax", "float32"}}, "wwwwwwwww"},
      {"com.microsoft::BiasSoftmax", {}, "bbggggggg"},
      {"com.microsoft::SkipLayerNormalization", {}, "ggggggggg"},
      {"SimplifiedLayerNormalization", {}, "ggggggggg"},
      {"com.microsoft::Rfft", {}, "bbbbbbbbb"},
      {"com.microsoft::Trilu", {}, "ccccccccc"},
      {"com.microsoft::QGemm", {}, "---------"},
  };
  const std::map<std::string, char> letters = {{"allow", 'w'}, {"infer", 'g'},    {"deny", 'b'},
                                               {"clear", 'c'}, {"unlisted", '-'}, {"none", '-'}};
  for (const Difference& difference : differences) {
    std::string classes;
    for (const char* profile : kProfiles) {
      classes += letters.at(ClassOf(MustLoad(profile), difference.op, difference.facts));
    }
    INFO(difference.op);
    CHECK(classes == difference.classes);
  }
}

TEST_CASE("the painter decides as TensorFlow does, with the follow pass but in tf-1.15-float16; the default cuts") {
  for (const char* profile : kProfiles) {
    INFO(profile);
    CHECK(MustLoad(profile).follow() == (std::string(profile) != "tf-1.15-float16"));
    const bool is_default = absl::StartsWith(profile, "default-");
    CHECK((MustLoad(profile).placement() == PlacementMode::kCut) == is_default);
  }
}

}  // namespace
}  // namespace amp
