// Every element type that ONNX's schemas allow, for every reference kernel. Either the kernel runs, or its row says
// that it does not take the type. Then no other kernel takes it either, and a session says so before anything runs.
//
//   (float[2] a) => (float[] y) { y = Abs(a) }     a: uint8, int8, ... bfloat16, each once
//
// The nodes are those of element_types.txt, and of the fuzzer's kernels.txt.
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ir/base/status.h"
#include "ir/file/model_file.h"
#include "ir/file/text.h"
#include "ir/operators/operator_facts.h"
#include "ir/schema/operator_table.h"
#include "ir/schema/schema.h"
#include "onnx/onnx_pb.h"
#include "runtime/kernel/element.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/make_datum.h"
#include "runtime/plan/all_kernels.h"
#include "runtime/reference/elementwise.h"
#include "runtime/reference/reference_kernels.h"
#include "runtime/session.h"
#include "tests/catch2.h"

namespace amp {
namespace {

// Returns the operators that run bodies, or that have no element types of their own.
const std::set<std::string>& WithoutTypes() {
  static const auto* const names = new std::set<std::string>{"If",
                                                             "Loop",
                                                             "Scan",
                                                             "SequenceMap",
                                                             "SequenceAt",
                                                             "SequenceEmpty",
                                                             "SequenceErase",
                                                             "SequenceInsert",
                                                             "SequenceLength",
                                                             "ConcatFromSequence",
                                                             "ZipMap"};
  return *names;
}

struct NodeCase {
  std::string line;
  int opset = NewestOpset();
  onnx::ModelProto model;

  const onnx::NodeProto& node() const { return model.graph().node(0); }
  onnx::NodeProto& mutable_node() { return *model.mutable_graph()->mutable_node(0); }
  const OpSchema* schema() const {
    int version = opset;
    for (const auto& import : model.opset_import()) {
      if (import.domain() == node().domain()) version = static_cast<int>(import.version());
    }
    return FindOpSchema(node().domain(), node().op_type(), version);
  }
};

constexpr char kImports[] =
    ", \"com.microsoft\" : 1, \"ai.amp\" : 1, \"ai.onnx.ml\" : 5, \"ai.onnx.preview\" : 1, "
    "\"ai.onnx.preview.training\" : 1]> g ";

NodeCase ParseCase(const std::string& line) {
  NodeCase result{.line = line, .model = {}};
  absl::string_view graph = line;
  if (absl::ConsumePrefix(&graph, "opset ")) {
    const size_t end = graph.find(' ');
    REQUIRE(absl::SimpleAtoi(graph.substr(0, end), &result.opset));
    graph.remove_prefix(end);
  }
  const absl::StatusOr<std::string> bytes =
      ParseOnnxText(absl::StrCat("<ir_version: 13, opset_import: [\"\" : ", result.opset, kImports, graph));
  INFO(line << bytes.status().message());
  REQUIRE(bytes.ok());
  REQUIRE(result.model.ParseFromString(*bytes));
  return result;
}

bool IsOfSchema(const NodeCase& each) {
  if (each.model.graph().node_size() != 1 || WithoutTypes().contains(each.node().op_type())) return false;
  return each.schema() != nullptr && !each.schema()->is_signature();
}

// Returns the cases of one node whose operator has a schema of ONNX's. The fuzzer's file adds only cases of operators
// that the first file does not have.
const std::vector<NodeCase>& Cases() {
  static const auto* const cases = [] {
    auto* made = new std::vector<NodeCase>;
    std::set<std::string> before;
    for (const char* path : {AMP_ELEMENT_TYPES_TXT, AMP_FUZZ_KERNELS_TXT}) {
      std::ifstream file(path);
      std::set<std::string> found;
      for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        NodeCase each = ParseCase(line);
        if (!IsOfSchema(each) || before.contains(each.node().op_type())) continue;
        found.insert(each.node().op_type());
        made->push_back(std::move(each));
      }
      before.merge(found);
    }
    return made;
  }();
  return *cases;
}

// ---- types

// A one of the type, as often as the dims say; strings are "1".
Tensor Ones(DType dtype, const Dims& dims) {
  Tensor tensor = *Tensor::Create(dtype, dims);
  if (dtype == DType::kString) {
    for (std::string& element : tensor.mutable_elements<std::string>()) element.assign(1, '1');
  } else if (dtype == DType::kComplex64) {
    for (auto& element : tensor.mutable_elements<std::complex<float>>()) element = 1;
  } else if (dtype == DType::kComplex128) {
    for (auto& element : tensor.mutable_elements<std::complex<double>>()) element = 1;
  } else {
    REQUIRE(StoreDoubles(std::vector<double>(static_cast<size_t>(tensor.num_elements()), 1), tensor, 0));
  }
  return tensor;
}

// Gives an initializer of small numbers, whatever they are, another type.
Tensor Constant(const onnx::TensorProto& proto, DType dtype) {
  Tensor from = *MakeTensor(*ReadTensor(proto, Weights(nullptr)));
  if (from.dtype() == dtype) return from;
  Tensor to = Ones(dtype, from.dims());
  std::vector<double> values(static_cast<size_t>(from.num_elements()));
  if (LoadDoubles(from, 0, absl::MakeSpan(values))) StoreDoubles(values, to, 0);
  return to;
}

// The elements of an input or a constant of the case.
Tensor ValueOf(const NodeCase& each, const std::string& name, DType dtype) {
  for (const auto& constant : each.model.graph().initializer()) {
    if (constant.name() == name) return Constant(constant, dtype);
  }
  for (const auto& input : each.model.graph().input()) {
    if (input.name() != name) continue;
    Dims dims;
    for (const auto& dim : input.type().tensor_type().shape().dim()) dims.push_back(dim.dim_value());
    return Ones(dtype, dims);
  }
  return Tensor();
}

DType StatedType(const NodeCase& each, const std::string& name) {
  for (const auto& constant : each.model.graph().initializer()) {
    if (constant.name() == name) return static_cast<DType>(constant.data_type());
  }
  for (const auto& input : each.model.graph().input()) {
    if (input.name() == name) return static_cast<DType>(input.type().tensor_type().elem_type());
  }
  return DType::kUndefined;
}

// One type of one variable of the case's operator: the ports that have it, and a model with values for all inputs.
struct TypedCase {
  onnx::ModelProto model;
  NamedDatums values;
  std::vector<size_t> inputs, outputs;  // ports
};

void SetTypeAttribute(const TypeAttribute& attribute, DType dtype, onnx::NodeProto& node) {
  onnx::AttributeProto* found = nullptr;
  for (onnx::AttributeProto& each : *node.mutable_attribute()) found = each.name() == attribute.name ? &each : found;
  if (found == nullptr) found = node.add_attribute();
  found->Clear();
  found->set_name(std::string(attribute.name));
  if (attribute.form == TypeAttribute::Form::kNumber) {
    found->set_type(onnx::AttributeProto::INT);
    found->set_i(static_cast<int64_t>(dtype));
    return;
  }
  found->set_type(onnx::AttributeProto::TENSOR);
  found->mutable_t()->add_dims(1);
  found->mutable_t()->set_data_type(static_cast<int32_t>(dtype));
  const Tensor one = Ones(dtype, {1});
  found->mutable_t()->set_raw_data(one.data(), one.size_bytes());
}

TypedCase WithType(const NodeCase& each, int variable, DType dtype) {
  TypedCase typed;
  typed.model = each.model;
  const OpSchema& schema = *each.schema();
  onnx::GraphProto& graph = *typed.model.mutable_graph();
  onnx::NodeProto& node = *graph.mutable_node(0);
  graph.clear_input();
  graph.clear_initializer();
  for (size_t port = 0; port < static_cast<size_t>(node.input_size()); ++port) {
    const std::string& name = node.input(static_cast<int>(port));
    if (name.empty()) continue;
    const bool has_it = schema.InputVariable(port) == variable;
    if (has_it) typed.inputs.push_back(port);
    const Tensor value = ValueOf(each, name, has_it ? dtype : StatedType(each, name));
    onnx::ValueInfoProto& input = *graph.add_input();
    input.set_name(name);
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(static_cast<int32_t>(value.dtype()));
    for (const int64_t dim : value.dims()) type.mutable_shape()->add_dim()->set_dim_value(dim);
    typed.values.emplace(name, Datum(value));
  }
  for (size_t port = 0; port < static_cast<size_t>(node.output_size()); ++port) {
    if (schema.OutputVariable(port) == variable) typed.outputs.push_back(port);
  }
  for (onnx::ValueInfoProto& output : *graph.mutable_output()) output.clear_type();
  const TypeAttribute& attribute = FindOperator(node.domain(), node.op_type()).type_attribute;
  const bool by_attribute =
      attribute.form == TypeAttribute::Form::kNumber || attribute.form == TypeAttribute::Form::kFill;
  if (typed.inputs.empty() && by_attribute) SetTypeAttribute(attribute, dtype, node);
  if (node.op_type() == "BitCast") node.mutable_attribute(0)->set_i(static_cast<int64_t>(dtype));  // of as many bits
  return typed;
}

// Whether the type reaches a kernel: of inputs, or by an attribute.
bool HasEffect(const NodeCase& each, int variable) {
  const TypedCase typed = WithType(each, variable, DType::kFloat32);
  const TypeAttribute& attribute = FindOperator(each.node().domain(), each.node().op_type()).type_attribute;
  return !typed.inputs.empty() || (!typed.outputs.empty() && attribute.form != TypeAttribute::Form::kNone);
}

// ---- runs

// Rows that refuse nothing ahead of a run.
std::vector<const KernelRow*> Unguarded(const std::vector<const KernelRow*>& rows) {
  static auto* const copies = new std::map<const KernelRow*, KernelRow>;
  std::vector<const KernelRow*> unguarded;
  for (const KernelRow* row : rows) {
    const auto [it, is_new] = copies->emplace(row, *row);
    it->second.refuses = {};
    unguarded.push_back(&it->second);
  }
  return unguarded;
}
std::vector<const KernelRow*> FindUnguardedReference(absl::string_view domain, absl::string_view op, int version) {
  return Unguarded(FindReferenceKernels(domain, op, version));
}
std::vector<const KernelRow*> FindAllUnguarded(absl::string_view domain, absl::string_view op, int version) {
  return Unguarded(FindAllKernels(domain, op, version));
}

absl::StatusOr<std::unique_ptr<Session>> Create(const TypedCase& typed, FindKernels find) {
  AMP_ASSIGN_OR_RETURN(LoadedFile file, ParseModel(typed.model.SerializeAsString()));
  return Session::Create(std::move(file), OneByOne({.limits = {}, .find_kernels = find}));
}

absl::Status Run(const TypedCase& typed, FindKernels find) {
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Create(typed, find));
  return session->Run(typed.values).status();
}

bool Declares(const NodeCase& each, const TypedCase& typed, DType dtype) {
  const OpSchema& schema = *each.schema();
  const auto session = Create(typed, FindUnguardedReference);
  if (session.ok() && CopiesElements((*session)->model(), NodeId(0))) return false;
  for (const KernelRow* row : FindReferenceKernels(schema.domain(), schema.name(), schema.since_version())) {
    if (!row->refuses.types.Has(dtype)) continue;
    for (const size_t port : typed.inputs) {
      if (row->refuses.inputs.Has(port)) return true;
    }
    for (const size_t port : typed.outputs) {
      if (row->refuses.outputs.Has(port)) return true;
    }
  }
  return false;
}

constexpr char kNoGood[] = "the case is no good: ";

// Returns what is wrong with the kernels for one type in the place of a type variable, or "" where nothing is.
std::string Complaint(const NodeCase& each, int variable, DType dtype) {
  const TypedCase typed = WithType(each, variable, dtype);
  const absl::Status status = Run(typed, FindUnguardedReference);
  const bool is_of_types = absl::StrContains(status.message(), "no kernel for ");
  if (!Declares(each, typed, dtype)) {
    if (status.ok()) return "";
    return absl::StrCat(is_of_types ? "undeclared: " : kNoGood, status.message());
  }
  if (status.ok()) return "declared as refused, but it runs";
  if (!is_of_types) return absl::StrCat("declared as refused, but fails otherwise: ", status.message());
  if (Run(typed, FindAllUnguarded).ok()) return "declared as refused, but a faster kernel runs it";
  const absl::Status ahead = Create(typed, FindAllKernels).status();
  const std::string expected = absl::StrCat(
      ": no kernel for ", each.node().domain().empty() ? "" : each.node().domain() + "::", each.node().op_type(), "-");
  const bool is_said =
      absl::StrContains(ahead.message(), expected) && absl::StrContains(ahead.message(), DTypeName(dtype));
  return is_said ? "" : absl::StrCat("expected a session to say it ahead of a run, found ", ahead.ToString());
}

TEST_CASE("every element type that a schema allows is run, or refused ahead of a run") {
  std::map<std::string, std::string> no_good;  // by operator, variable and type
  std::set<std::string> ran;
  for (const NodeCase& each : Cases()) {
    const OpSchema& schema = *each.schema();
    for (int variable = 0; variable < static_cast<int>(schema.variables().size()); ++variable) {
      if (!HasEffect(each, variable)) continue;
      for (int type = 1; type < kNumDTypes; ++type) {
        const auto dtype = static_cast<DType>(type);
        if (!schema.Allows(variable, dtype)) continue;
        const std::string name = schema.variables()[static_cast<size_t>(variable)].name;
        const std::string what =
            absl::StrCat(schema.name(), "-", schema.since_version(), ", ", name, " ", DTypeName(dtype));
        const std::string complaint = Complaint(each, variable, dtype);
        if (absl::StartsWith(complaint, kNoGood)) {
          no_good[what] = complaint;
          continue;
        }
        ran.insert(what);
        INFO(what << ": " << each.line);
        CHECK(complaint == "");
      }
    }
  }
  for (const auto& [what, complaint] : no_good) {
    INFO(what << ": " << complaint);
    CHECK(ran.contains(what));
  }
  CHECK(ran.size() > 1000);
}

TEST_CASE("every reference kernel of an operator with a schema of ONNX has a case of its types") {
  std::set<std::string> covered;
  for (const NodeCase& each : Cases()) covered.insert(absl::StrCat(each.node().domain(), "::", each.node().op_type()));
  for (const std::string& domain : RegisteredDomains()) {
    for (const std::string& name : RegisteredOperators(domain)) {
      const OpSchema* const schema = FindOpSchema(domain, name, NewestOpset());
      const bool has_kernel = schema != nullptr && !FindReferenceKernels(domain, name, schema->since_version()).empty();
      if (!has_kernel || WithoutTypes().contains(name)) continue;
      INFO(domain << "::" << name);
      CHECK(covered.contains(absl::StrCat(domain, "::", name)));
    }
  }
}

}  // namespace
}  // namespace amp
