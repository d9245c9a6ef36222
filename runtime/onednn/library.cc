// The shared object's code: implements runtime/onednn/interface.h with oneDNN.
#include <omp.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/onednn/dnnl.h"
#include "runtime/onednn/held_signals.h"
#include "runtime/onednn/interface.h"
#include "runtime/onednn/shared_work.h"
#include "runtime/onednn/team.h"

namespace amp::onednn {
namespace {

// A thread begins with the signals held back that its maker holds back. Whatever the library runs on a team may make
// threads of the team, on which products run later.
bool MayMakeThreads() { return TeamSize() > 1; }

using Descriptor = dnnl::memory::desc;
using Dims = std::vector<int64_t>;

const dnnl::engine& Engine() {
  static const auto& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& Stream() {
  thread_local dnnl::stream stream(Engine());
  return stream;
}

dnnl::memory::data_type TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return dnnl::memory::data_type::f32;
    case DType::kBfloat16:
      return dnnl::memory::data_type::bf16;
    case DType::kFloat16:
      return dnnl::memory::data_type::f16;
    case DType::kUint8:
      return dnnl::memory::data_type::u8;
    case DType::kInt8:
      return dnnl::memory::data_type::s8;
    case DType::kInt32:
      return dnnl::memory::data_type::s32;
    default:
      return dnnl::memory::data_type::undef;
  }
}

Descriptor AsIs(const Operand& operand) {
  if (operand.dtype == DType::kUndefined) return {};
  return Descriptor(operand.dims, TypeOf(operand.dtype), operand.strides);
}
Descriptor AsTheLibraryLikes(const Operand& operand) {
  return Descriptor(operand.dims, TypeOf(operand.dtype), dnnl::memory::format_tag::any);
}

void AppendPostOp(const PostOp& op, dnnl::post_ops& post_ops) {
  using dnnl::algorithm;
  using Kind = EpilogueKind;
  switch (op.kind) {
    case Kind::kRelu:
      return post_ops.append_eltwise(algorithm::eltwise_relu, op.alpha, 0);
    case Kind::kClip:
      return post_ops.append_eltwise(algorithm::eltwise_clip, op.alpha, op.beta);
    case Kind::kSigmoid:
      return post_ops.append_eltwise(algorithm::eltwise_logistic, 0, 0);
    case Kind::kTanh:
      return post_ops.append_eltwise(algorithm::eltwise_tanh, 0, 0);
    case Kind::kGeluErf:
      return post_ops.append_eltwise(algorithm::eltwise_gelu_erf, 0, 0);
    case Kind::kGeluTanh:
      return post_ops.append_eltwise(algorithm::eltwise_gelu_tanh, 0, 0);
    case Kind::kSwish:
      return post_ops.append_eltwise(algorithm::eltwise_swish, op.alpha, 0);
    case Kind::kHardSwish:
      return post_ops.append_eltwise(algorithm::eltwise_hardswish, 1.0f / 6.0f, 0.5f);
    case Kind::kHardSigmoid:
      return post_ops.append_eltwise(algorithm::eltwise_hardsigmoid, op.alpha, op.beta);
    case Kind::kElu:
      return post_ops.append_eltwise(algorithm::eltwise_elu, op.alpha, 0);
    case Kind::kLinear:
      return post_ops.append_eltwise(algorithm::eltwise_linear, op.alpha, op.beta);
    case Kind::kAdd:
      return post_ops.append_binary(algorithm::binary_add, AsIs(op.operand));
    case Kind::kMul:
      return post_ops.append_binary(algorithm::binary_mul, AsIs(op.operand));
  }
}

bool HasOperand(const PostOp& op) { return op.kind == EpilogueKind::kAdd || op.kind == EpilogueKind::kMul; }

dnnl::primitive_attr AttributesOf(const std::vector<PostOp>& ops, bool adds_to_y = false) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops post_ops;
  if (adds_to_y) post_ops.append_sum();
  for (const PostOp& op : ops) AppendPostOp(op, post_ops);
  attributes.set_post_ops(post_ops);
  return attributes;
}

// Returns a name that is the same for equal pairs of layouts before and after packing. Only oneDNN can compare layouts:
// 8-bit ones may store sums of the weights behind them, which no member of a descriptor shows.
std::string PackingName(const Descriptor& plain, const Descriptor& packed) {
  static std::mutex mutex;
  static auto& known = *new std::vector<std::pair<Descriptor, Descriptor>>;
  const std::lock_guard lock(mutex);
  const auto is_same = [&](const auto& pair) { return pair.first == plain && pair.second == packed; };
  const auto it = std::find_if(known.begin(), known.end(), is_same);
  const auto place = it - known.begin();
  if (it == known.end()) known.emplace_back(plain, packed);
  return "packing " + std::to_string(place);
}

dnnl::memory MemoryAt(const Descriptor& descriptor, const void* data) {
  return {descriptor, Engine(),
          const_cast<void*>(data)};  // NOLINT(cppcoreguidelines-pro-type-const-cast): the library has one type
}

// During its lifetime, the library makes and runs primitives for this many threads.
class ThreadsScope {
 public:
  explicit ThreadsScope(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~ThreadsScope() { omp_set_num_threads(before_); }
  ThreadsScope(const ThreadsScope&) = delete;
  ThreadsScope& operator=(const ThreadsScope&) = delete;

 private:
  int before_;
};

// Running out of memory inside the library throws, as it does elsewhere.
bool Succeeded(dnnl_status_t status) {
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  return status == dnnl_success;
}

// During its lifetime, parallel regions of the calling thread use that thread alone, so that a primitive made for
// several threads runs on one.
class LoneScope {
 public:
  LoneScope() { omp_set_max_active_levels(0); }
  ~LoneScope() { omp_set_max_active_levels(before_); }
  LoneScope(const LoneScope&) = delete;
  LoneScope& operator=(const LoneScope&) = delete;

 private:
  int before_ = omp_get_max_active_levels();
};

// Whether an implementation made for several threads may run on one thread with the same bits. General matrix products
// do not: they split their sums by the number of threads at run time. Implementations not known to keep their bits stay
// shared.
bool KeepsBitsAlone(const std::string& implementation) { return implementation.rfind("jit", 0) == 0; }

class OneDnnUnpacker : public Unpacker {
 public:
  OneDnnUnpacker(const Descriptor& packed, const Descriptor& plain)
      : packed_(packed), plain_(plain), reorder_({Engine(), packed, Engine(), plain}) {}

  bool Unpack(const void* packed, void* plain) const override {
    try {
      dnnl::memory from = MemoryAt(packed_, packed), to = MemoryAt(plain_, plain);
      const HeldSignals held(MayMakeThreads());
      reorder_.execute(Stream(), from, to);
      Stream().wait();
      return true;
    } catch (const dnnl::error& error) {
      return Succeeded(error.status);
    }
  }

 private:
  Descriptor packed_, plain_;
  dnnl::reorder reorder_;
};

class OneDnnPrimitive : public Primitive {
 public:
  template <typename PrimitiveDescriptor>
  OneDnnPrimitive(const PrimitiveDescriptor& pd, const dnnl::primitive& primitive, const Descriptor& plain_b,
                  const std::vector<PostOp>& post_ops, size_t first_post_op = 0)
      : primitive_(primitive),
        a_(pd.src_desc()),
        plain_b_(plain_b),
        b_(pd.weights_desc()),
        y_(pd.dst_desc()),
        scratch_(pd.scratchpad_desc()),
        packs_(b_ != plain_b_),
        implementation_(pd.impl_info_str()),
        can_run_alone_(KeepsBitsAlone(implementation_)),
        keeps_values_below_stack_(KeepsValuesBelowStack(implementation_)) {
    if (packs_) packing_ = PackingName(plain_b_, b_);
    for (size_t i = 0; i < post_ops.size(); ++i) {
      if (HasOperand(post_ops[i])) {
        post_operands_.emplace_back(static_cast<int>(first_post_op + i), AsIs(post_ops[i].operand));
      }
    }
  }
  void SetBias(const Descriptor& bias) { bias_ = bias; }
  // Makes the primitive run on one thread: some of the library's products split their sums by the number of threads at
  // run time, which changes bits.
  void SetOneThread() { has_one_thread_ = true; }
  void SetZeroPointOfA() { a_zero_ = Descriptor({1}, dnnl::memory::data_type::s32, dnnl::memory::format_tag::x); }

  size_t scratch_bytes() const override { return scratch_.get_size(); }
  size_t packed_bytes() const override { return packs_ ? b_.get_size() : 0; }
  const std::string& packing() const override { return packing_; }
  const std::string& implementation() const override { return implementation_; }

  bool Pack(const void* plain, void* packed) const override {
    try {
      dnnl::memory from = MemoryAt(plain_b_, plain), to = MemoryAt(b_, packed);
      const HeldSignals held(MayMakeThreads());
      dnnl::reorder(from, to).execute(Stream(), from, to);
      Stream().wait();
      return true;
    } catch (const dnnl::error& error) {
      return Succeeded(error.status);
    }
  }

  std::unique_ptr<Unpacker> MakeUnpacker() const override {
    if (!packs_) return nullptr;
    try {
      return std::make_unique<OneDnnUnpacker>(b_, plain_b_);
    } catch (const dnnl::error& error) {
      Succeeded(error.status);
      return nullptr;
    }
  }

  bool Run(const Arguments& arguments) const override {
    std::unique_ptr<Memories> memories = TakeMemories();
    const bool done = memories != nullptr && ExecuteOnThreads(arguments, *memories);
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(memories));
    return done;
  }

 private:
  // The library's handles for the buffers of a run. They are made once, and pointed to other buffers at every run.
  struct Memories {
    std::vector<dnnl::memory> handles;
    std::vector<dnnl_exec_arg_t> arguments;

    void Add(int index, const Descriptor& descriptor) {
      handles.push_back(MemoryAt(descriptor, nullptr));
      arguments.push_back({index, handles.back().get()});
    }
  };

  std::unique_ptr<Memories> TakeMemories() const {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Memories> memories = std::move(idle_.back());
        idle_.pop_back();
        if (memories != nullptr) return memories;
      }
    }
    try {
      auto memories = std::make_unique<Memories>();
      memories->Add(DNNL_ARG_SRC, a_);
      memories->Add(DNNL_ARG_WEIGHTS, b_);
      memories->Add(DNNL_ARG_DST, y_);
      memories->Add(DNNL_ARG_SCRATCHPAD, scratch_);
      for (const auto& [at, descriptor] : post_operands_) {
        memories->Add(DNNL_ARG_ATTR_MULTIPLE_POST_OP(at) | DNNL_ARG_SRC_1, descriptor);
      }
      if (!bias_.is_zero()) memories->Add(DNNL_ARG_BIAS, bias_);
      if (!a_zero_.is_zero()) memories->Add(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, a_zero_);
      return memories;
    } catch (const dnnl::error& error) {
      Succeeded(error.status);
      return nullptr;
    }
  }

  bool ExecuteOnThreads(const Arguments& arguments, Memories& memories) const {
    if (has_one_thread_) {
      const ThreadsScope threads(1);
      return Execute(arguments, memories);
    }
    if (!can_run_alone_ || TeamSize() == 1) return Execute(arguments, memories);
    const WorkScope work(times_);
    if (!work.is_alone()) return Execute(arguments, memories);
    const LoneScope alone;
    return Execute(arguments, memories);
  }

  bool Execute(const Arguments& arguments, Memories& memories) const {
    size_t next = 0;
    const auto point_to = [&](const void* data) {
      // The library has one pointer type for reading and writing.
      auto* target = const_cast<void*>(data);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
      return dnnl_memory_set_data_handle(memories.handles[next++].get(), target) == dnnl_success;
    };
    bool done = point_to(arguments.a) && point_to(arguments.b) && point_to(arguments.y) && point_to(arguments.scratch);
    for (const void* operand : arguments.post_operands) done = done && point_to(operand);
    if (!bias_.is_zero()) done = done && point_to(arguments.bias);
    if (!a_zero_.is_zero()) done = done && point_to(arguments.a_zero);
    const HeldSignals held(keeps_values_below_stack_ || MayMakeThreads());
    return done &&
           Succeeded(dnnl_primitive_execute(primitive_.get(), Stream().get(),
                                            static_cast<int>(memories.arguments.size()), memories.arguments.data()));
  }

  dnnl::primitive primitive_;
  Descriptor a_, plain_b_, b_, y_, scratch_, bias_, a_zero_;
  std::vector<std::pair<int, Descriptor>> post_operands_;  // by index among the post-ops
  bool packs_, has_one_thread_ = false;
  std::string packing_, implementation_;
  bool can_run_alone_, keeps_values_below_stack_;
  mutable WorkTimes times_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Memories>> idle_;  // not used by a run at present
};

template <typename Make>
std::unique_ptr<Primitive> Guarded(std::string* why_not, Make make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const dnnl::error& error) {
    Succeeded(error.status);
    *why_not = error.what();
    return nullptr;
  } catch (const std::exception& error) {
    *why_not = error.what();
    return nullptr;
  }
}

// Refuses oneDNN's reference implementations if there are post-ops. They accept operands of post-ops that no other
// implementation accepts, but take hundreds of times as long as applying the post-ops in a pass after the product.
// Without post-ops they are used, as there is no other way.
std::unique_ptr<Primitive> UnlessReference(std::unique_ptr<OneDnnPrimitive> made, const std::vector<PostOp>& post_ops) {
  if (post_ops.empty() || made->implementation().rfind("ref", 0) != 0) return made;
  throw std::runtime_error("operands that only the library's reference takes");
}

double NumElements(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), 1.0,
                         [](double product, int64_t dim) { return product * static_cast<double>(dim); });
}

// Whether two threads take at least as long as one, measured with both threads awake. This holds for few
// multiplications; reading one element of the weights counts as much as kOfWeight of them.
bool IsSmall(double multiplications, const Dims& weights) {
  constexpr double kLeastMultiplications = 1 << 20, kOfWeight = 4;
  return multiplications + kOfWeight * NumElements(weights) < kLeastMultiplications;
}
bool IsSmall(const MatMulSpec& spec) {
  return IsSmall(NumElements(spec.y.dims) * static_cast<double>(spec.a.dims.back()), spec.b.dims);
}
// A transposed convolution applies its weights at the elements of x, others at the elements of y.
bool IsSmall(const ConvolutionSpec& spec) {
  const Operand& at = spec.is_transposed ? spec.x : spec.y;
  const double of_place =
      NumElements(spec.w.dims) / static_cast<double>(spec.is_transposed ? spec.x.dims[1] : spec.y.dims[1]);
  return IsSmall(NumElements(at.dims) * of_place, spec.w.dims);
}

dnnl::matmul::primitive_desc DescribeMatMul(const MatMulSpec& spec, const Descriptor& b) {
  return {Engine(), AsIs(spec.a), b, AsIs(spec.bias), AsIs(spec.y), AttributesOf(spec.post_ops, spec.adds_to_y)};
}

// Whether b is better read column by column. With AVX2 alone the library reads it as it is, and rows whose starts share
// the few places of a cache halve its speed: 40 against 78 GFLOP/s at 512, 3072 and 4096 columns on AMD EPYC.
bool IsFasterByColumns(const MatMulSpec& spec, const std::string& implementation) {
  constexpr int64_t kColumnsOfPlaces = 512;
  return spec.b.dtype == DType::kFloat32 && spec.b.dims.back() % kColumnsOfPlaces == 0 &&
         implementation.starts_with("gemm:");
}

Descriptor ByColumns(const Operand& operand) {
  Operand by_columns = operand;
  const size_t rank = operand.dims.size();
  int64_t stride = operand.dims[rank - 2] * operand.dims[rank - 1];
  by_columns.strides[rank - 2] = 1;
  by_columns.strides[rank - 1] = operand.dims[rank - 2];
  for (size_t axis = rank - 2; axis-- > 0; stride *= operand.dims[axis]) by_columns.strides[axis] = stride;
  return AsIs(by_columns);
}

std::unique_ptr<Primitive> MatMul(const MatMulSpec& spec) {
  const bool has_one_thread = spec.has_one_thread || IsSmall(spec);
  const ThreadsScope threads(has_one_thread ? 1 : omp_get_max_threads());
  const Descriptor b = AsIs(spec.b);
  auto pd = DescribeMatMul(spec, spec.packs_b ? AsTheLibraryLikes(spec.b) : b);
  if (spec.packs_b && IsFasterByColumns(spec, pd.impl_info_str())) pd = DescribeMatMul(spec, ByColumns(spec.b));
  const size_t first_post_op = spec.adds_to_y ? 1 : 0;  // behind the sum
  auto result = std::make_unique<OneDnnPrimitive>(pd, dnnl::matmul(pd), b, spec.post_ops, first_post_op);
  result->SetBias(AsIs(spec.bias));
  if (has_one_thread) result->SetOneThread();
  return UnlessReference(std::move(result), spec.post_ops);
}

Dims LessOne(Dims dims) {
  for (int64_t& dim : dims) --dim;
  return dims;
}

// Returns the weights as the library takes them: without the axis of groups if there is one group.
Operand Weights(const ConvolutionSpec& spec) {
  Operand w = spec.w;
  if (w.dims[0] != 1) return w;
  w.dims.erase(w.dims.begin());
  w.strides.erase(w.strides.begin());
  return w;
}

bool IsDepthwise(const ConvolutionSpec& spec) {
  return !spec.is_transposed && spec.x.dtype == DType::kFloat32 && spec.w.dims[0] == spec.x.dims[1] &&
         spec.w.dims[1] == 1 && spec.w.dims[2] == 1;
}

// Prefers the older of the library's depthwise convolutions in float32: it took 0.6 to 0.95 of the time of the
// library's first choice where this was measured (18 shapes, AVX-512 on Zen 4).
template <typename PrimitiveDescriptor>
void ChooseForDepthwise(PrimitiveDescriptor& pd) {
  const auto is = [](const PrimitiveDescriptor& candidate, const char* name) {
    return std::string(candidate.impl_info_str()).rfind(name, 0) == 0;
  };
  if (!is(pd, "brdgmm_dw")) return;
  PrimitiveDescriptor next = pd;
  if (next.next_impl() && is(next, "jit_dw")) pd = std::move(next);
}

template <typename Operation>
std::unique_ptr<Primitive> Convolution(const ConvolutionSpec& spec, dnnl::algorithm algorithm) {
  const bool has_one_thread = IsSmall(spec);
  const ThreadsScope threads(has_one_thread ? 1 : omp_get_max_threads());
  const Operand w = Weights(spec);
  const Descriptor bias = AsIs(spec.bias);
  dnnl::primitive_attr attributes = AttributesOf(spec.post_ops);
  if (spec.has_x_zero) attributes.set_zero_points_mask(DNNL_ARG_SRC, 0);
  typename Operation::primitive_desc pd(Engine(), dnnl::prop_kind::forward_inference, algorithm, AsIs(spec.x),
                                        AsTheLibraryLikes(w), bias, AsIs(spec.y), spec.strides, LessOne(spec.dilations),
                                        spec.pads_begin, spec.pads_end, attributes);
  if (IsDepthwise(spec)) ChooseForDepthwise(pd);
  auto result = std::make_unique<OneDnnPrimitive>(pd, Operation(pd), AsIs(w), spec.post_ops);
  result->SetBias(bias);
  if (spec.has_x_zero) result->SetZeroPointOfA();
  if (has_one_thread) result->SetOneThread();
  return UnlessReference(std::move(result), spec.post_ops);
}

// Computes the gradient with the convolution's backward primitive, and reorders the result into the plain layout.
class WeightsGradient : public Primitive {
 public:
  using Operation = dnnl::convolution_backward_weights;

  WeightsGradient(const Operation::primitive_desc& pd, const Descriptor& plain_w)
      : primitive_(pd),
        x_(pd.src_desc()),
        y_(pd.diff_dst_desc()),
        w_(pd.diff_weights_desc()),
        plain_w_(plain_w),
        scratch_(pd.scratchpad_desc()),
        implementation_(pd.impl_info_str()) {
    if (w_ != plain_w_) to_plain_ = dnnl::reorder({Engine(), w_, Engine(), plain_w_});
  }

  size_t scratch_bytes() const override { return OffsetOfPacked() + (to_plain_ ? w_.get_size() : 0); }
  size_t packed_bytes() const override { return 0; }
  const std::string& packing() const override { return packing_; }
  bool Pack(const void*, void*) const override { return false; }
  std::unique_ptr<Unpacker> MakeUnpacker() const override { return nullptr; }
  const std::string& implementation() const override { return implementation_; }

  bool Run(const Arguments& arguments) const override {
    try {
      void* const packed = static_cast<char*>(arguments.scratch) + OffsetOfPacked();
      const HeldSignals held(KeepsValuesBelowStack(implementation_) || MayMakeThreads());
      dnnl::memory w = MemoryAt(w_, to_plain_ ? packed : arguments.y);
      primitive_.execute(Stream(), {{DNNL_ARG_SRC, MemoryAt(x_, arguments.a)},
                                    {DNNL_ARG_DIFF_DST, MemoryAt(y_, arguments.b)},
                                    {DNNL_ARG_DIFF_WEIGHTS, w},
                                    {DNNL_ARG_SCRATCHPAD, MemoryAt(scratch_, arguments.scratch)}});
      if (to_plain_) {
        to_plain_.execute(Stream(), {{DNNL_ARG_FROM, w}, {DNNL_ARG_TO, MemoryAt(plain_w_, arguments.y)}});
      }
      Stream().wait();
      return true;
    } catch (const dnnl::error& error) {
      return Succeeded(error.status);
    }
  }

 private:
  // Offset of the unreordered result in the scratch memory, behind the primitive's own scratch memory.
  size_t OffsetOfPacked() const {
    constexpr size_t kAlignment = 64;
    return (scratch_.get_size() + kAlignment - 1) / kAlignment * kAlignment;
  }

  Operation primitive_;
  dnnl::reorder to_plain_;  // empty if the primitive's own layout is plain
  Descriptor x_, y_, w_, plain_w_, scratch_;
  std::string implementation_, packing_;
};

std::unique_ptr<Primitive> ConvolutionWeights(const ConvolutionSpec& spec) {
  const Operand w = Weights(spec);
  Operand w_of_forward = w;
  w_of_forward.dtype = spec.x.dtype;
  const Dims dilations = LessOne(spec.dilations);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const Descriptor x = AsIs(spec.x), y = AsIs(spec.y);
  const dnnl::convolution_forward::primitive_desc forward(Engine(), dnnl::prop_kind::forward_training, algorithm, x,
                                                          AsTheLibraryLikes(w_of_forward), y, spec.strides, dilations,
                                                          spec.pads_begin, spec.pads_end);
  const WeightsGradient::Operation::primitive_desc pd(Engine(), algorithm, x, AsTheLibraryLikes(w), y, spec.strides,
                                                      dilations, spec.pads_begin, spec.pads_end, forward,
                                                      AttributesOf({}));
  return std::make_unique<WeightsGradient>(pd, AsIs(w));
}

class OneDnnLibrary : public Library {
 public:
  bool ComputesIn(DType dtype) const override {
    const auto isa = dnnl::get_effective_cpu_isa();
    const auto has = [&](dnnl::cpu_isa wanted) {
      const auto bits = static_cast<unsigned>(wanted);
      return (static_cast<unsigned>(isa) & bits) == bits;
    };
    // AVX512_FP16 is never faster than float32 (executor benchmarks); bfloat16 is, by dot products and tiles. Without
    // VNNI, sums of two products of 8 bits saturate at 16 bits.
    const bool has_vnni = has(dnnl::cpu_isa::avx512_core_vnni) || has(dnnl::cpu_isa::avx2_vnni);
    return dtype == DType::kFloat32 || (dtype == DType::kInt8 && has_vnni) ||
           (dtype == DType::kBfloat16 && has(dnnl::cpu_isa::avx512_core_bf16));
  }
  void BeginRun() const override { SignalsOfRun::Begin(); }
  void BetweenNodes() const override { SignalsOfRun::BetweenNodes(); }
  void EndRun() const override { SignalsOfRun::End(); }
  void SetThreads(int count) const override { SetTeamSize(count); }
  void SetSharing(Sharing sharing) const override { onednn::SetSharing(sharing); }
  void ShareFloatMode() const override { ShareFloatModeWithTeam(); }
  size_t size() const override { return TeamSize(); }
  void Run(size_t count, size_t elements, absl::FunctionRef<void(size_t)> work) const override {
    RunOnTeam(count, elements, work);
  }
  std::unique_ptr<Primitive> MakeMatMul(const MatMulSpec& spec, std::string* why_not) const override {
    return Guarded(why_not, [&] { return MatMul(spec); });
  }
  std::unique_ptr<Primitive> MakeConvolution(const ConvolutionSpec& spec, std::string* why_not) const override {
    return Guarded(why_not, [&] {
      return spec.is_transposed ? Convolution<dnnl::deconvolution_forward>(spec, dnnl::algorithm::deconvolution_direct)
                                : Convolution<dnnl::convolution_forward>(spec, dnnl::algorithm::convolution_direct);
    });
  }
  std::unique_ptr<Primitive> MakeConvolutionWeights(const ConvolutionSpec& spec, std::string* why_not) const override {
    return Guarded(why_not, [&] { return ConvolutionWeights(spec); });
  }
  std::string Version() const override {
    const dnnl_version_t* version = dnnl_version();
    return std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch);
  }
};

}  // namespace
}  // namespace amp::onednn

extern "C" __attribute__((visibility("default"))) const amp::onednn::Library* AmpOneDnnLibrary() {
  static const auto& library = *new amp::onednn::OneDnnLibrary;
  return &library;
}
