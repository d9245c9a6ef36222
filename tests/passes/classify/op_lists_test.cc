#include "passes/classify/op_lists.h"

#include <filesystem>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ir/base/status.h"
#include "ir/operators/attribute_choices.h"
#include "ir/operators/node_facts.h"
#include "tests/catch2.h"
#include "tests/scratch_folder.h"

namespace amp {
namespace {

// Without the folder's name.
std::string Local(const ScratchFolder& folder, absl::string_view message) {
  return absl::StrReplaceAll(message, {{folder.path() + "/", ""}});
}

OpLists MustLoad(const OpListOptions& options) {
  absl::StatusOr<OpLists> lists = OpLists::Load(options);
  INFO(lists.status());
  REQUIRE(lists.ok());
  return *std::move(lists);
}

using Facts = std::map<std::string, std::string>;

const OpRow* Find(const OpLists& lists, absl::string_view op, const Facts& facts = {}, absl::string_view domain = "") {
  return lists.Find(domain, op, [&](const OpCondition& condition) -> std::optional<std::string> {
    const auto it = facts.find(condition.key);
    return it == facts.end() ? std::nullopt : std::optional<std::string>(it->second);
  });
}

// "deny, x.list:3"
std::string Decision(const OpLists& lists, absl::string_view op, const Facts& facts = {},
                     absl::string_view domain = "") {
  const OpRow* row = Find(lists, op, facts, domain);
  return row == nullptr ? "none" : absl::StrCat(OpClassName(row->op_class), ", ", row->origin);
}

std::string ErrorOf(absl::string_view text) { return std::string(ParseOpListFile("x.list", text).status().message()); }

// Returns the row of a file that has only one.
OpRow OnlyRow(absl::string_view text) {
  const absl::StatusOr<OpListFile> file = ParseOpListFile("x.list", text);
  INFO(file.status());
  REQUIRE(file.ok());
  REQUIRE(file->rows.size() == 1);
  return file->rows[0];
}

TEST_CASE("a row has an operator, a class and a reason") {
  const OpRow row = OnlyRow("# head\n\n  Softmax \t deny   sums exponentials: # 1 reason\n");
  CHECK(row.Label() == "Softmax");
  CHECK(row.op_class == OpClass::kDeny);
  CHECK(row.why == "sums exponentials:");
  CHECK(row.origin == "x.list:3");
  CHECK(OnlyRow("Softmax deny").why == "");
  CHECK(OnlyRow("Softmax deny issue#3 says so").why == "issue#3 says so");
}

TEST_CASE("class names old and new, in any case") {
  CHECK(ParseOpClass("allow") == OpClass::kAllow);
  CHECK(ParseOpClass("White") == OpClass::kAllow);
  CHECK(ParseOpClass("INFER") == OpClass::kInfer);
  CHECK(ParseOpClass("gray") == OpClass::kInfer);
  CHECK(ParseOpClass("Black") == OpClass::kDeny);
  CHECK(ParseOpClass("CLEAR") == OpClass::kClear);
  CHECK(ParseOpClass("unlisted") == OpClass::kUnlisted);
  CHECK_FALSE(ParseOpClass("never").has_value());
  CHECK_FALSE(ParseOpClass("").has_value());
}

TEST_CASE("CRLF, a byte order mark and a missing last line end are tolerated") {
  const OpRow row = OnlyRow("\xef\xbb\xbf# x\r\nSoftmax deny why\r");
  CHECK(row.why == "why");
  CHECK(row.origin == "x.list:2");
}

TEST_CASE("conditions and domains are read into their parts") {
  const OpRow row = OnlyRow("Resize[mode=nearest, antialias=0]  clear  moves");
  CHECK(row.Label() == "Resize[antialias=0,mode=nearest]");
  CHECK(row.why == "moves");
  CHECK(OnlyRow("Conv[depthwise] infer").Label() == "Conv[depthwise]");
  CHECK(OnlyRow("ai.onnx::Softmax deny").Label() == "Softmax");
  CHECK(OnlyRow("ai.onnx.ml::Scaler deny").Label() == "ai.onnx.ml::Scaler");
}

TEST_CASE("an unknown operator names the place and the closest known one") {
  CHECK(ErrorOf("Conv allow\nSofmax deny why\n") == "x.list:2: unknown operator 'Sofmax'; did you mean 'Softmax'?");
  CHECK(ErrorOf("softmax deny") == "x.list:1: unknown operator 'softmax'; did you mean 'Softmax'?");
  CHECK(ErrorOf("ai.onnx.ml::Scalar deny") ==
        "x.list:1: unknown operator 'ai.onnx.ml::Scalar'; did you mean 'ai.onnx.ml::Scaler'?");
  CHECK(ErrorOf("Xyzzy deny") == "x.list:1: unknown operator 'Xyzzy'");
}

TEST_CASE("two names run together by a missing line end are not lost silently") {
  CHECK(ErrorOf("SumTanh infer") == "x.list:1: unknown operator 'SumTanh'");
  CHECK(ErrorOf("Sum Tanh infer") ==
        "x.list:1: expected a class (allow, infer, deny, clear, unlisted), found 'Tanh'; a row is: operator class why");
}

TEST_CASE("an unknown condition is an error with a suggestion") {
  CHECK(absl::StartsWith(ErrorOf("Resize[mod=nearest] clear"),
                         "x.list:1: 'Resize' has no attribute 'mod' that a condition can name; did you mean 'mode'?"));
  CHECK(absl::StrContains(ErrorOf("MatMul[depthwise] deny"), "no attribute 'depthwise'"));
  CHECK(ErrorOf("Resize[mode] clear") == "");
  CHECK(ErrorOf("Resize[mode=] clear") == "x.list:1: condition '[mode=]': expected key=value or a flag");
  CHECK(ErrorOf("Resize[] clear") == "x.list:1: condition '[]': expected key=value or a flag");
  CHECK(ErrorOf("Resize[mode=nearest clear") == "x.list:1: 'Resize[mode=nearest clear': expected ']' at the end");
  CHECK(ErrorOf("Resize[mode=a,mode=b] clear") == "x.list:1: condition '[mode=a,mode=b]' names a key twice");
}

TEST_CASE("a condition that no node can meet is an error") {
  CHECK(ErrorOf("Resize[mode=banana] clear") ==
        "x.list:1: 'Resize[mode=banana]': expected nearest, linear, cubic for 'mode', found 'banana'");
  CHECK(ErrorOf("Resize[mode=linaer] clear") ==
        "x.list:1: 'Resize[mode=linaer]': expected nearest, linear, cubic for 'mode', found 'linaer'; did you mean "
        "'linear'?");
  CHECK(ErrorOf("Pad[mode=nearest] clear") ==
        "x.list:1: 'Pad[mode=nearest]': expected constant, reflect, edge, wrap for 'mode', found 'nearest'");
  CHECK(ErrorOf("Resize[mode=cubic] clear") == "");
  CHECK(ErrorOf("Einsum[equation=banana] allow") == "");
}

TEST_CASE("choices of attributes are those of ONNX's operators") {
  for (const char* op :
       {"AveragePool", "BitShift", "Conv", "DeformConv", "DepthToSpace", "GRU", "Gelu", "GridSample", "ImageDecoder",
        "Pad", "Resize", "RoiAlign", "ScatterND", "StringNormalizer", "TfIdfVectorizer", "Upsample"}) {
    for (const std::string& attribute : ConditionFacts("", op)) {
      for (const std::string& value : AttributeChoices(op, attribute)) {
        INFO(op << " " << attribute << " " << value);
        CHECK(ErrorOf(absl::StrCat(op, "[", attribute, "=", value, "] deny")) == "");
      }
    }
  }
}

TEST_CASE("a duplicate names both lines") {
  CHECK(ErrorOf("Softmax deny\n\nSoftmax allow\n") == "x.list:3: 'Softmax' has a class already, from x.list:1");
  CHECK(ErrorOf("Softmax deny\nai.onnx::Softmax deny\n") == "x.list:2: 'Softmax' has a class already, from x.list:1");
  CHECK(ErrorOf("Resize[mode=cubic,antialias=1] deny\nResize[antialias=1,mode=cubic] infer\n") ==
        "x.list:2: 'Resize[antialias=1,mode=cubic]' has a class already, from x.list:1");
  CHECK(ErrorOf("node \"a*\" deny\nnode a* allow\n") == "x.list:2: 'a*' has a class already, from x.list:1");
  CHECK(ErrorOf("follow on\nfollow off\n") == "x.list:2: 'follow' again; it is set at x.list:1 already");
  CHECK(ErrorOf("Resize[mode=cubic] deny\nResize infer\nnode a deny\ntensor a deny\n") == "");
}

TEST_CASE("malformed lines are errors with their place") {
  CHECK(ErrorOf("placement cut\nplacement cut\n") == "x.list:2: 'placement' again; it is set at x.list:1 already");
  CHECK(ErrorOf("placement none") == "x.list:1: expected: placement paint|cut|fewest-casts; found 'none'");
  CHECK(ErrorOf("follow yes") == "x.list:1: expected: follow on|off; found 'yes'");
  CHECK(ErrorOf("include # nothing") == "x.list:1: expected: include NAME");
  CHECK(ErrorOf("node \"a deny") == "x.list:1: pattern without closing quote");
  CHECK(ErrorOf("node \"[\" deny") ==
        "x.list:1: pattern '[': '[' without ']'; one that is meant as it stands is written '[[]'");
  CHECK(ErrorOf("tensor \"a\" allow") == "x.list:1: a tensor can only be denied");
  CHECK(ErrorOf("Softmax deny a\x01z") == "x.list:1: expected UTF-8 text without control characters");
  CHECK(ErrorOf("Softmax deny \xff") == "x.list:1: expected UTF-8 text without control characters");
  CHECK(ErrorOf("::Softmax deny") == "x.list:1: '::Softmax': expected a domain before '::'");
  CHECK(ErrorOf("my.domain:: deny") == "x.list:1: 'my.domain::': expected the name of an operator");
}

TEST_CASE("operators without a signature are taken, and left to the model to know") {
  const absl::StatusOr<OpListFile> file = ParseOpListFile("x.list", "\nmy.domain::Fast[gain=2] allow\n");
  REQUIRE(file.ok());
  CHECK(file->rows[0].Label() == "my.domain::Fast[gain=2]");
  REQUIRE(file->foreign_operators.size() == 1);
  const ForeignOperator& foreign = file->foreign_operators[0];
  CHECK(foreign.domain == "my.domain");
  CHECK(foreign.op == "Fast");
  CHECK(foreign.op_class == OpClass::kAllow);
  CHECK(foreign.origin == "x.list:2");
}

TEST_CASE("a suggestion names the domain, where one is known under that name alone too") {
  CHECK(ErrorOf("SimplifiedLayerNormalisation deny") ==
        "x.list:1: unknown operator 'SimplifiedLayerNormalisation'; did you mean 'SimplifiedLayerNormalization'?");
  CHECK(ErrorOf("BiasGelu deny") == "x.list:1: unknown operator 'BiasGelu'; did you mean 'com.microsoft::BiasGelu'?");
}

TEST_CASE("operators of other domains are suggested by domain, then by name") {
  const OperatorNames known = KnownOperators(*OpSignatures::BuiltIn());
  const auto suggest = [&](absl::string_view domain, absl::string_view op) {
    return DidYouMeanOperator(domain, op, known);
  };
  CHECK(suggest("com.microsoft", "FusedMatmull") == "; did you mean 'com.microsoft::FusedMatMul'?");
  CHECK(suggest("com.microsft", "Gelu") == "; did you mean 'com.microsoft::Gelu'?");
  CHECK(suggest("com.microsft", "Gelo") == "; did you mean 'com.microsoft::Gelu'?");
  CHECK(suggest("ai.onnx.mll", "Scaler") == "; did you mean 'ai.onnx.ml::Scaler'?");
  CHECK(suggest("my.domain", "FastGelu") == "; did you mean 'com.microsoft::FastGelu'?");
  CHECK(suggest("my.domain", "Softmax") == "; did you mean 'Softmax'?");
  CHECK(suggest("com.microsoft", "Xyzzy") == "");
  CHECK(suggest("my.domain", "Fast") == "");
}

TEST_CASE("operators with a signature are known, whether it is built in or given") {
  CHECK(ParseOpListFile("x.list", "com.microsoft::BiasGelu deny\n")->foreign_operators.empty());
  CHECK(ParseOpListFile("x.list", "SimplifiedLayerNormalization deny\n")->foreign_operators.empty());
  const auto given = OpSignatures::WithBuiltIn({"my.domain::Fast(T) -> T"});
  REQUIRE(given.ok());
  CHECK(ParseOpListFile("x.list", "my.domain::Fast[gain=2] allow\n", **given)->foreign_operators.empty());
}

TEST_CASE("a list file may have 1 MiB and 100,000 lines and no more") {
  const std::string full = "#" + std::string(kMaxListBytes - 1, 'x');
  CHECK(ParseOpListFile("x.list", full).ok());
  CHECK(ExitCode(ParseOpListFile("x.list", full + "x").status()) == 5);
  CHECK(ParseOpListFile("x.list", "\xef\xbb\xbf" + full).ok());
  const std::string lines(kMaxListLines, '\n');
  CHECK(ParseOpListFile("x.list", lines).ok());
  const absl::Status too_many = ParseOpListFile("x.list", lines + "#").status();
  CHECK(too_many.message() == "x.list: more than 100000 lines, the limit for a list file");
  const ScratchFolder folder;
  CHECK(OpLists::Load({.files = {folder.Write("full.list", full)}}).ok());
  CHECK(ExitCode(OpLists::Load({.files = {folder.Write("more.list", full + "x")}}).status()) == 5);
}

TEST_CASE("flag beats later file beats earlier file beats profile") {
  const ScratchFolder folder;
  const std::string first = folder.Write("first.list", "Softmax infer\nGelu deny\nErf deny\n");
  const std::string second = folder.Write("second.list", "Gelu clear\nErf clear\n");
  const OpLists lists = MustLoad({.files = {first, second}, .edits = {{OpClass::kAllow, "Erf"}}});
  CHECK(absl::StartsWith(Decision(lists, "Exp"), "deny, tf-1.15-float16.list:"));
  CHECK(Local(folder, Decision(lists, "Softmax")) == "infer, first.list:1");
  CHECK(Local(folder, Decision(lists, "Gelu")) == "clear, second.list:1");
  CHECK(Decision(lists, "Erf") == "allow, --allow");
  CHECK(Decision(lists, "Sin") == "none");
  CHECK(Decision(lists, "NoSuchOperator") == "none");
}

TEST_CASE("the most specific row of a source wins") {
  const ScratchFolder folder;
  const std::string path = folder.Write(
      "x.list",
      "Resize infer\nResize[mode=nearest] clear\nResize[mode=nearest,antialias=1] deny\nResize[antialias=1] allow\n");
  const OpLists lists = MustLoad({.files = {path}});
  CHECK(Local(folder, Decision(lists, "Resize", {{"mode", "linear"}})) == "infer, x.list:1");
  CHECK(Local(folder, Decision(lists, "Resize", {{"mode", "nearest"}, {"antialias", "0"}})) == "clear, x.list:2");
  CHECK(Local(folder, Decision(lists, "Resize", {{"mode", "nearest"}, {"antialias", "1"}})) == "deny, x.list:3");
  CHECK(Local(folder, Decision(lists, "Resize", {{"antialias", "1"}})) == "allow, x.list:4");
}

TEST_CASE("a higher source without conditions overrides conditions below") {
  const OpLists lists = MustLoad({.edits = {{OpClass::kDeny, "Resize"}}});
  CHECK(Decision(lists, "Resize", {{"mode", "nearest"}}) == "deny, --deny");
}

TEST_CASE("a higher source with a condition leaves other nodes to the source below") {
  const OpLists lists =
      MustLoad({.edits = {{OpClass::kDeny, "Resize[mode=cubic,antialias=1],Gelu[approximate=none]"}}});
  CHECK(Decision(lists, "Resize", {{"mode", "cubic"}, {"antialias", "1"}}) == "deny, --deny");
  CHECK(absl::StartsWith(Decision(lists, "Resize", {{"mode", "nearest"}}), "clear, tf-1.15-float16"));
  CHECK(absl::StartsWith(Decision(lists, "Resize", {{"mode", "cubic"}}), "infer, tf-1.15-float16"));
  CHECK(Decision(lists, "Gelu", {{"approximate", "none"}}) == "deny, --deny");
}

TEST_CASE("numbers in conditions compare by value, flags by being set") {
  const OpLists lists = MustLoad({.edits = {{OpClass::kDeny, "LeakyRelu[alpha=0.20],Conv[depthwise]"}}});
  CHECK(Decision(lists, "LeakyRelu", {{"alpha", "0.2"}}) == "deny, --deny");
  CHECK(Decision(lists, "LeakyRelu", {{"alpha", "0.01"}}) != "deny, --deny");
  CHECK(Decision(lists, "Conv", {{"depthwise", "1"}}) == "deny, --deny");
  CHECK(Decision(lists, "Conv", {{"depthwise", "0"}}) != "deny, --deny");
  CHECK(Decision(lists, "Conv") != "deny, --deny");
}

TEST_CASE("flags move operators between classes in one edit") {
  const OpLists lists =
      MustLoad({.edits = {{OpClass::kAllow, "Softmax, my.domain::Fast"}, {OpClass::kDeny, "-Conv,Add"}}});
  CHECK(Decision(lists, "Softmax") == "allow, --allow");
  CHECK(Decision(lists, "Conv") == "unlisted, --deny");
  CHECK(Decision(lists, "Add") == "deny, --deny");
  CHECK(Decision(lists, "Fast", {}, "my.domain") == "allow, --allow");
  CHECK(Decision(lists, "Fast") == "none");
  CHECK(lists.foreign_operators().size() == 1);
}

TEST_CASE("flags that are wrong say which") {
  const auto error = [](std::vector<OpListOptions::Edit> edits) {
    return std::string(OpLists::Load({.edits = std::move(edits)}).status().message());
  };
  CHECK(error({{OpClass::kDeny, "Sofmax"}}) == "--deny: unknown operator 'Sofmax'; did you mean 'Softmax'?");
  CHECK(error({{OpClass::kInfer, "Add,,Sub"}}) == "--infer: empty item in 'Add,,Sub'");
  CHECK(error({{OpClass::kAllow, "Add"}, {OpClass::kDeny, "Add"}}) == "'Add' is given to both --allow and --deny");
  CHECK(error({{OpClass::kDeny, "Add,-Add"}}) == "--deny: 'Add' is given both as 'Add' and as '-Add'");
  CHECK(error({{OpClass::kAllow, "Add"}, {OpClass::kAllow, "Add"}}) == "");
  CHECK(OpLists::Load({.deny_nodes = {"a", "["}}).status().message() ==
        "--deny-node: pattern '[': '[' without ']'; one that is meant as it stands is written '[[]'");
  CHECK(OpLists::Load({.profile = "defalt-float16"}).status().message() ==
        "unknown list 'defalt-float16'; did you mean 'default-float16'?");
}

TEST_CASE("include looks beside the file, then among the built-in lists") {
  const ScratchFolder folder;
  folder.Write("base.list", "Softmax clear\nErf deny\n");
  const std::string path = folder.Write("top.list", "Erf allow\ninclude base\ninclude tf-latest-float16.list\n");
  const OpLists lists = MustLoad({.profile = "tf-1.15-float16", .files = {path}});
  CHECK(Local(folder, Decision(lists, "Erf")) == "allow, top.list:1");
  CHECK(absl::StartsWith(Decision(lists, "Softmax"), "infer, tf-latest-float16.list:"));
  CHECK(lists.follow());
}

TEST_CASE("a file called like a built-in list may build upon it") {
  const ScratchFolder folder;
  const std::string path = folder.Write("tf-latest-float16.list", "include tf-latest-float16\nErf deny\n");
  const OpLists lists = MustLoad({.files = {path}});
  CHECK(absl::StartsWith(Decision(lists, "Softmax"), "infer"));
  CHECK(absl::StartsWith(Decision(lists, "Erf"), "deny"));
}

TEST_CASE("include takes a profile's list for the low type") {
  const ScratchFolder folder;
  const std::string path = folder.Write("top.list", "include tf-latest\nErf deny\n");
  const OpLists half = MustLoad({.files = {path}});
  const OpLists brain = MustLoad({.profile = "tf-1.15-bfloat16", .files = {path}, .low = DType::kBfloat16});
  CHECK(absl::StartsWith(Decision(half, "Softmax"), "infer, tf-latest-float16.list:"));
  CHECK(absl::StartsWith(Decision(brain, "Softmax"), "infer, tf-latest-bfloat16.list:"));
  const OpLists old = MustLoad({.files = {folder.Write("old.list", "include seed\n")}});
  CHECK(absl::StartsWith(Decision(old, "Softmax"), "deny, tf-1.15-float16.list:"));
  const std::string same = folder.Write("default.list", "include default\nErf deny\n");
  CHECK(Local(folder, Decision(MustLoad({.files = {same}}), "Erf")) == "deny, default.list:2");
  const OpListOptions no_list = {.profile = "tf-1.15-bfloat16",
                                 .files = {folder.Write("c.list", "include tf-latest-cpu\n")},
                                 .low = DType::kBfloat16};
  CHECK(absl::StartsWith(Local(folder, OpLists::Load(no_list).status().message()),
                         "c.list:1: profile 'tf-latest-cpu' has no list for bfloat16; lists: "));
}

TEST_CASE("a list that names another type is refused") {
  const ScratchFolder folder;
  const auto error = [&](const std::string& path, DType low) {
    return Local(folder, OpLists::Load({.files = {path}, .low = low}).status().message());
  };
  const std::string half = folder.Write("half.list", "type float16 # mine\nErf deny\n");
  CHECK(error(half, DType::kFloat16) == "");
  CHECK(error(half, DType::kBfloat16) ==
        "half.list:1: the list is for float16, but the low type is bfloat16; expected --dtype float16, or a list "
        "without that line");
  CHECK(error(folder.Write("top.list", "\ninclude half\n"), DType::kBfloat16) ==
        "half.list:1: the list is for float16, but the low type is bfloat16; expected --dtype float16, or a list "
        "without that line");
  CHECK(ErrorOf("type fp8\n") == "x.list:1: expected: type float16|bfloat16; found 'fp8'");
  CHECK(ErrorOf("type float32\n") == "x.list:1: expected: type float16|bfloat16; found 'float32'");
  CHECK(ErrorOf("type float16\n\ntype float16\n") == "x.list:3: 'type' again; it is set at x.list:1 already");
}

TEST_CASE("includes that go wrong are errors with their place") {
  const ScratchFolder folder;
  const auto error = [&](const std::string& path) {
    return Local(folder, OpLists::Load({.files = {path}}).status().message());
  };
  CHECK(error(folder.Write("a.list", "\ninclude a\n")) == "a.list:2: 'a' includes itself");
  folder.Write("b.list", "include c.list\n");
  CHECK(error(folder.Write("c.list", "include b\n")) == "b.list:1: 'c.list' includes itself");
  CHECK(error(folder.Write("d.list", "include defalt-float16\n")) ==
        "d.list:1: no list 'defalt-float16' beside this file or built in; did you mean 'default-float16'?");
  CHECK(error(folder.Write("e.list", "include ../secret\n")) ==
        "e.list:1: include '../secret': expected the name of a file beside this one, no path");
  folder.Write("f.list", "Sofmax deny\n");
  CHECK(error(folder.Write("g.list", "include f\n")) == "f.list:1: unknown operator 'Sofmax'; did you mean 'Softmax'?");
}

TEST_CASE("includes that fan out are cut off") {
  const ScratchFolder folder;
  folder.Write("l0.list", "Softmax deny\n");
  for (int i = 1; i < 30; ++i) {
    folder.Write(absl::StrCat("l", i, ".list"), absl::StrCat("include l", i - 1, "\ninclude l", i - 1, "\n"));
  }
  const absl::Status status = OpLists::Load({.files = {folder.Write("top.list", "include l29\n")}}).status();
  CHECK(ExitCode(status) == 5);
}

TEST_CASE("files that cannot be read are I/O errors") {
  const ScratchFolder folder;
  CHECK(ExitCode(OpLists::Load({.files = {"/no/such/file.list"}}).status()) == 6);
  const auto error = [](const char* path) { return std::string(OpLists::Load({.files = {path}}).status().message()); };
  CHECK(error("/no/such/file.list") == "/no/such/file.list: cannot be opened");
  CHECK(error("tf-latest") == "tf-latest: no such file; a profile: --profile tf-latest");
  CHECK(error("tf-1.15-bfloat16.list") == "tf-1.15-bfloat16.list: no such file; a profile: --profile tf-1.15-bfloat16");
  CHECK(ExitCode(OpLists::Load({.files = {"tf-latest"}}).status()) == 6);
  CHECK(ExitCode(OpLists::Load({.files = {std::filesystem::temp_directory_path().string()}}).status()) == 6);
}

TEST_CASE("placement: flag, then files, then profile") {
  ScratchFolder folder;
  const std::string cut = folder.Write("cut.list", "placement cut\n");
  CHECK(MustLoad({}).placement() == PlacementMode::kCut);
  CHECK(MustLoad({.profile = "tf-1.15-float16"}).placement() == PlacementMode::kPaint);
  CHECK(MustLoad({.files = {cut}}).placement() == PlacementMode::kCut);
  CHECK(MustLoad({.files = {cut}, .placement = PlacementMode::kPaint}).placement() == PlacementMode::kPaint);
  const std::string fewest = folder.Write("fewest.list", "placement fewest-casts\n");
  CHECK(MustLoad({.files = {fewest}}).placement() == PlacementMode::kFewestCasts);
  // The follow pass is the painter's.
  const std::string follow = folder.Write("follow.list", "follow off\n");
  CHECK(MustLoad({.files = {follow}}).placement() == PlacementMode::kPaint);
  CHECK(MustLoad({.follow = true}).placement() == PlacementMode::kPaint);
  CHECK(MustLoad({.files = {folder.Write("both.list", "follow on\nplacement cut\n")}}).placement() ==
        PlacementMode::kCut);
  CHECK(absl::StrContains(MustLoad({.files = {cut}}).Print(), "placement cut  # "));
}

TEST_CASE("follow: flag, then files, then profile") {
  const ScratchFolder folder;
  const std::string on = folder.Write("on.list", "follow on\n");
  const std::string silent = folder.Write("silent.list", "Erf deny\n");
  CHECK_FALSE(MustLoad({.profile = "tf-1.15-float16"}).follow());
  CHECK(MustLoad({.files = {on, silent}}).follow());
  CHECK_FALSE(MustLoad({.files = {on}, .follow = false}).follow());
  CHECK(MustLoad({.profile = "tf-latest-float16"}).follow());
}

TEST_CASE("name rules come strongest first") {
  const ScratchFolder folder;
  const std::string path =
      folder.Write("x.list", "node a* infer\nnode \"a b#c\" allow # exact\ntensor t deny  logits\nnode b* deny\n");
  const OpLists lists = MustLoad({.files = {path}, .allow_nodes = {"n"}, .deny_nodes = {"n"}, .deny_tensors = {"t*"}});
  std::string order;
  for (const NameRule& rule : lists.name_rules()) {
    absl::StrAppend(&order, rule.glob.pattern(), " ", OpClassName(rule.op_class), " ", Local(folder, rule.origin),
                    "\n");
  }
  CHECK(order ==
        "n deny --deny-node\nn allow --allow-node\nt* deny --deny-tensor\n"
        "t deny x.list:3\na b#c allow x.list:2\nb* deny x.list:4\na* infer x.list:1\n");
}

TEST_CASE("the printed table reads back as the same table") {
  const ScratchFolder folder;
  const OpLists lists = MustLoad({.profile = "itex-bfloat16",
                                  .edits = {{OpClass::kDeny, "Resize,-Gelu,my.domain::Fast"}},
                                  .allow_nodes = {"/a b/*"},
                                  .deny_tensors = {"t"},
                                  .low = DType::kBfloat16});
  const std::string printed = lists.Print();
  CHECK(absl::StartsWith(printed, "# effective lists of profile itex for bfloat16\ntype bfloat16\nfollow on"));
  CHECK(absl::StrContains(printed, "follow on  # tf-1.15-bfloat16.list:"));
  CHECK(absl::StrContains(printed, "tensor \"t\"  deny  given on the command line  # --deny-tensor\n"));
  CHECK_FALSE(absl::StrContains(printed, "Resize[mode=nearest]"));
  const absl::StatusOr<OpListFile> file = ParseOpListFile("printed", printed);
  INFO(file.status());
  REQUIRE(file.ok());
  CHECK(file->rows.size() > 150);
  CHECK(file->name_rules.size() == 2);
  for (const OpRow& row : file->rows) {
    Facts facts;
    for (const OpCondition& condition : row.conditions) facts[condition.key] = condition.value;
    const OpRow* original = Find(lists, row.op, facts, row.domain);
    INFO(row.Label());
    REQUIRE(original != nullptr);
    CHECK(original->op_class == row.op_class);
    CHECK(original->why == row.why);
  }
}

TEST_CASE("profiles are found by name and type") {
  CHECK(*ProfileList("tf-1.15", DType::kFloat16) == "tf-1.15-float16");
  CHECK(*ProfileList("seed", DType::kBfloat16) == "tf-1.15-bfloat16");
  CHECK(*ProfileList("itex-bfloat16", DType::kBfloat16) == "itex-bfloat16");
  CHECK(ProfileNames() == std::vector<std::string>{"default", "itex", "tf-1.15", "tf-latest", "tf-latest-cpu"});
  CHECK(absl::StartsWith(ProfileList("tf-latest-cpu", DType::kBfloat16).status().message(),
                         "profile 'tf-latest-cpu' has no list for bfloat16; lists: "));
  CHECK(absl::StartsWith(ProfileList("itex-bfloat16", DType::kFloat16).status().message(),
                         "profile 'itex-bfloat16' has no list for float16"));
  CHECK(ProfileList("tf-lastest", DType::kFloat16).status().message() ==
        "unknown profile 'tf-lastest'; did you mean 'tf-latest'? (known: default, itex, tf-1.15, tf-latest, "
        "tf-latest-cpu)");
}

}  // namespace
}  // namespace amp
