// The interface of kernels: functions that compute the outputs of one node.
//
//   absl::Status Neg(KernelContext& context) {
//     const Tensor& x = context.Input(0);
//     AMP_ASSIGN_OR_RETURN(Tensor* y, context.MakeOutput(0, x.dtype(), x.dims()));
//     ...
//   }
//   KernelRow{"Neg", Neg}
//
// Kernels judge the shapes, attributes and indices that they are given: a model's author may have got them wrong, and
// what is wrong is a Status that says what was expected and what was found; whoever runs the kernel adds which node it
// is. Inputs are never written to, but by way of MakeOutputLike, and may share their elements
// with other values.
//
// The rows of an operator are tried best first, the reference last, on the inputs at hand: a row that has a condition
// says why it does not take them.
#ifndef AMP_RUNTIME_KERNEL_KERNEL_H_
#define AMP_RUNTIME_KERNEL_KERNEL_H_

#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/droppable_constant.h"
#include "runtime/kernel/epilogue.h"
#include "runtime/kernel/refusal.h"
#include "runtime/kernel/shared_tensors.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// Runs the bodies of the node at hand, with values of the outer scopes as they are now.
class BodyRunner {
 public:
  virtual ~BodyRunner() = default;
  virtual size_t NumInputs(GraphId body) const = 0;
  // One datum per input of the body; gives one per output. Errors: those of the body's nodes.
  virtual absl::StatusOr<std::vector<Datum>> Run(GraphId body, std::vector<Datum> inputs) = 0;
};

class MeansOverRanks;
class Accelerator;

// The constants of a model where a device has them.
class ConstantMemory {
 public:
  virtual ~ConstantMemory() = default;
  // Whether one of them begins there.
  virtual bool Holds(const void* data) const = 0;
};

// Random numbers of a run, for nodes without a seed of their own. Seeding takes as long as a small run: so the first
// number that is drawn does it.
class RunRandom {
 public:
  explicit RunRandom(uint64_t seed = std::mt19937_64::default_seed) : seed_(seed) {}
  std::mt19937_64& engine() { return engine_.has_value() ? *engine_ : engine_.emplace(seed_); }

 private:
  uint64_t seed_;
  std::optional<std::mt19937_64> engine_;
};

// The resources that a run lends to all its kernels.
struct RunResources {
  RunRandom random;
  int64_t max_loop_iterations = 1'000'000;
  TensorMemory* memory = nullptr;  // of outputs and scratch; null: the heap; while a kernel for a device runs, its own
  Accelerator* device = nullptr;   // null: there is none, and no kernel for one runs
  const ConstantMemory* device_constants = nullptr;  // null: there is no device
  MeansOverRanks* means = nullptr;                   // of this run; null: there is one rank
  SharedTensors* shared = nullptr;                   // of the session; null: nothing is shared between nodes
  bool allows_bfloat16 = false;  // to compute float16 in bfloat16, where the processor has arithmetic for that alone
  bool allows_tf32 = false;      // to compute float32 in TF32, on a device
  bool is_strict = false;        // 16-bit values are not computed by kernels that widen them to float64
};

// State that a kernel keeps from one run of its node to the next: packed weights, primitives of a library. Several runs
// may use it at once, and guard their changes.
class KernelState {
 public:
  virtual ~KernelState() = default;
};

struct KernelRow;

// A node as its kernels know it from run to run.
struct KernelSite {
  std::vector<const void*>
      constants;  // by input: where the elements of the model's own constant are; null: it has none
  std::vector<std::shared_ptr<DroppableConstant>> droppable;  // by input; empty: none is
  std::vector<bool> last_uses;   // an input that nobody reads after this node, and that comes once
  std::vector<bool> last_reads;  // the same, but the elements may be kept: those of a constant, or a caller's
  Epilogue epilogue;             // only rows that ask for it see one

  absl::Mutex mutex;
  std::vector<std::unique_ptr<KernelState>> states ABSL_GUARDED_BY(mutex);  // one of a type
  // The row of the last run, for reports.
  const KernelRow* row ABSL_GUARDED_BY(mutex) = nullptr;
  std::string why_not_better ABSL_GUARDED_BY(mutex);  // why the rows before that did not take the inputs
  std::string implementation ABSL_GUARDED_BY(mutex);  // the library's name for what ran; may be empty
  DType computed_in ABSL_GUARDED_BY(mutex) = DType::kUndefined;
  int num_copies ABSL_GUARDED_BY(mutex) = 0;  // of its inputs, between the processor's memory and the device's
};

class KernelContext {
 public:
  // `inputs`: null where absent. `outputs`: one per port of the node.
  // Behind the node's own inputs come those of the epilogue.
  KernelContext(const Model& model, NodeId node, absl::Span<const Datum* const> inputs, absl::Span<Datum> outputs,
                RunResources& resources, BodyRunner& bodies, KernelSite& site)
      : model_(model),
        node_(node),
        inputs_(inputs),
        outputs_(outputs),
        resources_(resources),
        bodies_(bodies),
        site_(site) {}

  const Node& node() const { return model_.node(node_); }
  // The version of the operator: the opset that it was last changed in, as far as the model's import goes.
  int version() const;

  size_t num_inputs() const { return inputs_.size(); }
  size_t num_outputs() const { return outputs_.size(); }
  bool HasInput(size_t port) const { return port < inputs_.size() && inputs_[port] != nullptr; }
  // Whether the node names that output: whether anybody may read it.
  bool HasOutput(size_t port) const { return node().Output(port) != kNone; }

  // An absent input, or one that is no tensor, is an empty tensor of type kUndefined, which fits nothing.
  const Tensor& Input(size_t port) const;
  // Nothing held: an absent input is an empty optional.
  const Datum& InputDatum(size_t port) const;
  // The elements of a small input that holds integers of any type, in order; `fallback` when it is absent.
  // Errors: it holds something else.
  absl::StatusOr<std::vector<int64_t>> InputInts(size_t port) const;
  // The only element of an input with one.
  absl::StatusOr<int64_t> InputInt(size_t port) const;
  absl::StatusOr<double> InputNumber(size_t port) const;

  // An attribute that a later version made an input: whichever the node has, nothing if neither.
  absl::StatusOr<std::optional<std::vector<int64_t>>> IntsOfInputOrAttribute(size_t port, absl::string_view name) const;

  // Makes the tensor that output `port` will be; where the node has no such output, one that nobody sees. Errors: those
  // of Tensor::Create. The pointer is good until the kernel ends.
  absl::StatusOr<Tensor*> MakeOutput(size_t port, DType dtype, Dims dims);
  // Makes an output of the type, dims and layout of an input, in that input's own memory if nobody else needs it: for
  // kernels that read every element before they write it, and none after.
  absl::StatusOr<Tensor*> MakeOutputLike(size_t port, size_t input);
  // Makes an output in the input's own memory if the caller that runs the node has offered that: for kernels that read
  // an element of all inputs before they write it, and none after. Only rows that write in place may call it.
  absl::StatusOr<Tensor*> MakeOutputInPlace(size_t port, size_t input);
  // By whoever runs the node: outputs that may be written over inputs, by port; null: not.
  void OfferPlaces(std::vector<const Tensor*> places) { places_ = std::move(places); }
  // Whether one of these offers was taken.
  bool WroteInPlace() const { return wrote_in_place_; }
  // Whether nobody else needs the elements of the input, and nobody reads it after this node.
  bool MayReuseInput(size_t port) const { return site_.last_uses[port] && Input(port).IsOnlyOwner(); }
  // Elements for the time that the kernel runs.
  absl::StatusOr<Tensor> MakeScratch(DType dtype, Dims dims) const;
  void SetOutput(size_t port, Datum datum);
  // States the bound of an output that was made (Tensor::magnitude_bound). One beyond its type's largest number or none
  // says nothing, as rounding may have made it infinite.
  void SetMagnitudeBound(size_t port, double bound);

  const Epilogue& epilogue() const { return site_.epilogue; }
  // Whether the input is a constant of the model, so that what is made of it may be kept: not where a caller gives
  // another one for this run.
  bool IsConstantInput(size_t port) const {
    if (!HasInput(port) || site_.constants[port] == nullptr) return false;
    const void* const data = Input(port).data();
    return data == site_.constants[port] ||
           (resources_.device_constants != nullptr && resources_.device_constants->Holds(data));
  }
  // The input, if it is a constant whose elements may go; else null.
  DroppableConstant* Droppable(size_t port) const {
    return port < site_.droppable.size() && IsConstantInput(port) ? site_.droppable[port].get() : nullptr;
  }
  // Holds the elements of such a constant; of any other input it holds nothing. For rows that pack weights: functions
  // of others find all their inputs there. Errors: those of bringing the elements back.
  absl::StatusOr<ConstantHold> HoldConstant(size_t port, ConstantUse use) const {
    DroppableConstant* const constant = Droppable(port);
    return constant == nullptr ? ConstantHold() : constant->Hold(use);
  }
  // Returns the state that a row keeps for this node; its default constructor makes it at first.
  template <typename T>
  T& State() {
    const absl::MutexLock lock(&site_.mutex);
    for (const std::unique_ptr<KernelState>& state : site_.states) {
      if (auto* found = dynamic_cast<T*>(state.get())) return *found;
    }
    return static_cast<T&>(*site_.states.emplace_back(std::make_unique<T>()));
  }
  // For reports: the library's name for what ran, which lives as long as the state, and the type that it computed in.
  void Report(absl::string_view implementation, DType computed_in);
  // Reports a name that was made for this run; other threads' runs may have got another.
  void ReportOwn(std::string implementation, DType computed_in);
  // By whoever chose the row, at the end.
  void Ran(const KernelRow& row, absl::string_view why_not_better, int num_copies = 0);

  // "no kernel for float8e5m2": for element types that a kernel does not cover.
  absl::Status TypeError(DType dtype) const;

  // The body in the attribute of this name; kNone if there is none.
  GraphId Body(absl::string_view attribute) const { return GetBody(model_, node(), attribute); }
  BodyRunner& bodies() { return bodies_; }
  RunResources& resources() { return resources_; }
  const RunResources& resources() const { return resources_; }
  TensorMemory* memory() const { return resources_.memory; }
  const Model& model() const { return model_; }

 private:
  const Model& model_;
  NodeId node_;
  absl::Span<const Datum* const> inputs_;
  absl::Span<Datum> outputs_;
  RunResources& resources_;
  BodyRunner& bodies_;
  KernelSite& site_;
  std::string own_implementation_;
  absl::string_view implementation_;
  DType computed_in_ = DType::kUndefined;
  Tensor unseen_;  // an output that the node does not have
  std::vector<const Tensor*> places_;
  bool wrote_in_place_ = false;
};

using KernelFunction = absl::Status (*)(KernelContext&);

inline constexpr absl::string_view kReferenceFamily = "reference";

// Inputs by port, a bit for each; the last bit is for all ports from there on.
class PortSet {
 public:
  constexpr PortSet() = default;
  constexpr PortSet(std::initializer_list<size_t> ports) {
    for (const size_t port : ports) bits_ |= BitOf(port);
  }
  static constexpr PortSet All() {
    PortSet all;
    all.bits_ = ~uint32_t{0};
    return all;
  }
  constexpr bool Has(size_t port) const { return (bits_ & BitOf(port)) != 0; }

 private:
  static constexpr uint32_t BitOf(size_t port) { return uint32_t{1} << (port < 31 ? port : 31); }
  uint32_t bits_ = 0;
};

// Element types, a bit for each.
class TypeSet {
 public:
  constexpr TypeSet() = default;
  constexpr TypeSet(std::initializer_list<DType> types) {
    for (const DType type : types) bits_ |= BitOf(type);
  }
  constexpr bool Has(DType type) const { return (bits_ & BitOf(type)) != 0; }
  friend constexpr TypeSet operator|(TypeSet a, TypeSet b) {
    a.bits_ |= b.bits_;
    return a;
  }

 private:
  static constexpr uint32_t BitOf(DType type) { return uint32_t{1} << static_cast<unsigned>(type); }
  uint32_t bits_ = 0;
};

// Element types that no kernel of this operator supports although ONNX allows them, by input port, or by output port if
// an attribute sets the output's type. Not applied to nodes that only copy elements: copying supports every type.
struct RefusedTypes {
  TypeSet types = {};
  PortSet inputs = {}, outputs = {};
};

// Whether a kernel takes the inputs at hand.
using RefusalFunction = Refusal (*)(const KernelContext&);

// A kernel for an operator, from one version of it to another. A function that returns a refusal before it has done
// anything leaves the node to the next row: a library may refuse what its caller cannot foresee.
struct KernelRow {
  absl::string_view op_type;
  KernelFunction function;
  absl::string_view domain = "";
  int first_version = 1, last_version = std::numeric_limits<int>::max();
  // Null: the kernel takes all that the schema allows.
  RefusalFunction refusal = nullptr;
  absl::string_view family = kReferenceFamily;
  bool takes_channels_last = false;  // inputs of any layout; else they are row-major
  bool takes_epilogue = false;
  // Keeps input 1 packed, where it is a constant. The function holds it before it looks at its elements.
  bool packs_weights = false;
  // Inputs whose elements the processor looks at. The others may be in any memory, but for a kernel of a device, which
  // has them there.
  PortSet host_inputs = PortSet::All();
  bool runs_on_device = false;
  bool writes_in_place = false;  // see MakeOutputInPlace
  bool joins_ranks = false;      // speaks to the other ranks of a data-parallel run
  RefusedTypes refuses = {};
};

// The row, with what it does not take.
constexpr KernelRow Refusing(TypeSet types, PortSet inputs, KernelRow row, PortSet outputs = {}) {
  row.refuses = {types, inputs, outputs};
  return row;
}

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_KERNEL_H_
