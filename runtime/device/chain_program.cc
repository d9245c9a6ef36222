#include "runtime/device/chain_program.h"

#include <algorithm>
#include <utility>

#include "ir/base/status.h"
#include "runtime/device/raw/elementwise.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

using device::ChainCodeKind;
using device::ChainOperandWay;

ChainOperandWay WayOf(const Dims& dims, const Dims& strides) {
  int64_t next = 1;
  bool is_flat = true, is_one = true;
  for (size_t axis = dims.size(); axis-- > 0; next *= dims[axis]) {
    if (dims[axis] == 1) continue;
    is_flat = is_flat && strides[axis] == next;
    is_one = is_one && strides[axis] == 0;
  }
  return is_one ? ChainOperandWay::kOne : is_flat ? ChainOperandWay::kFlat : ChainOperandWay::kStrided;
}

}  // namespace

size_t ChainProgram::AddOperand(const void* data, DType dtype, Dims dims) {
  operands_.push_back({data, dtype, std::move(dims)});
  return Add({.kind = ChainCodeKind::kLoad,
              .function = static_cast<int>(operands_.size() - 1),
              .reads = {},
              .dtype = DType::kFloat32});
}

size_t ChainProgram::AddMap(const DeviceFunction& function, size_t x, DType dtype) {
  return Add({.kind = ChainCodeKind::kMap,
              .function = static_cast<int>(function.function),
              .reads = {x},
              .dtype = dtype,
              .a = function.a,
              .b = function.b});
}

size_t ChainProgram::AddZip(device::BinaryFunction function, size_t a, size_t b, DType dtype) {
  return Add({.kind = ChainCodeKind::kZip, .function = static_cast<int>(function), .reads = {a, b}, .dtype = dtype});
}

size_t ChainProgram::AddCompare(device::Comparison comparison, size_t a, size_t b) {
  return Add({.kind = ChainCodeKind::kCompare,
              .function = static_cast<int>(comparison),
              .reads = {a, b},
              .dtype = DType::kBool});
}

size_t ChainProgram::AddChoice(size_t condition, size_t a, size_t b, DType dtype) {
  return Add({.kind = ChainCodeKind::kChoose, .function = 0, .reads = {condition, a, b}, .dtype = dtype});
}

size_t ChainProgram::AddRounding(size_t x, DType dtype) {
  return Add({.kind = ChainCodeKind::kRound, .function = 0, .reads = {x}, .dtype = dtype});
}

absl::StatusOr<Dims> ChainProgram::ResultDims() const {
  Dims dims;
  for (const Operand& operand : operands_) {
    absl::StatusOr<Dims> joined = BroadcastDims(dims, operand.dims);
    if (!joined.ok()) return Refusal("shapes that do not fit");
    dims = *std::move(joined);
  }
  return dims;
}

absl::Status ChainProgram::PlaceOperands(const Dims& dims, device::ChainArguments& chain) const {
  Broadcast broadcast = {.dims = dims, .strides = {}};
  for (const Operand& operand : operands_) {
    const absl::StatusOr<Dims> joined = BroadcastDims(operand.dims, dims);
    if (!joined.ok() || *joined != dims) return Refusal("shapes that do not fit");
    broadcast.strides.push_back(BroadcastStrides(operand.dims, dims));
  }
  const Broadcast merged = MergeAxes(broadcast);
  if (merged.dims.size() > device::kMaxAxes) return Refusal(kTooManyAxes);
  chain.shape.rank = static_cast<int32_t>(merged.dims.size());
  for (size_t axis = 0; axis < merged.dims.size(); ++axis) {
    chain.shape.dims[axis] = static_cast<uint32_t>(merged.dims[axis]);
    for (size_t i = 0; i < operands_.size(); ++i) chain.shape.strides[i][axis] = merged.strides[i][axis];
  }
  for (size_t i = 0; i < operands_.size(); ++i) {
    chain.operands[i] = {.data = operands_[i].data,
                         .storage = StorageOf(operands_[i].dtype),
                         .way = WayOf(merged.dims, merged.strides[i])};
  }
  return absl::OkStatus();
}

// Gives each value a slot until the last step that reads it; that step may write its result there. The final result
// takes no slot.
absl::Status ChainProgram::AssignSlots(device::ChainArguments& chain) const {
  std::vector<size_t> first_reader(steps_.size(), steps_.size()), last_reader(steps_.size(), steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    for (const size_t read : steps_[i].reads) {
      first_reader[read] = std::min(first_reader[read], i);
      last_reader[read] = i;
    }
  }
  std::vector<uint8_t> slot_of(steps_.size());
  std::vector<bool> is_taken(device::kMostChainSlots, false);
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    device::ChainCode& code = chain.codes[i];
    for (size_t read = 0; read < std::size(code.reads); ++read) {
      code.reads[read] = read < step.reads.size() ? slot_of[step.reads[read]] : uint8_t{0};
    }
    for (const size_t read : step.reads) {
      if (last_reader[read] == i && slot_of[read] != device::kFromLastStep) is_taken[slot_of[read]] = false;
    }
    if (i + 1 == steps_.size() || (first_reader[i] == i + 1 && last_reader[i] == i + 1)) {
      code.writes = slot_of[i] = device::kFromLastStep;
      continue;
    }
    const auto free = std::find(is_taken.begin(), is_taken.end(), false);
    if (free == is_taken.end()) return Refusal("too many values at a time");
    *free = true;
    code.writes = slot_of[i] = static_cast<uint8_t>(free - is_taken.begin());
    chain.num_slots = std::max(chain.num_slots, code.writes + 1);
  }
  return absl::OkStatus();
}

absl::StatusOr<device::ChainArguments> ChainProgram::Arguments(const Dims& dims) const {
  if (operands_.size() > device::kMostChainOperands) return Refusal("too many operands");
  if (steps_.size() > device::kMostChainCodes) return Refusal("too many steps");
  device::ChainArguments chain = {};
  AMP_RETURN_IF_ERROR(PlaceOperands(dims, chain));
  for (size_t i = 0; i < steps_.size(); ++i) {
    device::ChainCode& code = chain.codes[i];
    code.kind = steps_[i].kind;
    code.function = static_cast<uint8_t>(steps_[i].function);
    code.rounds_to = StorageOf(steps_[i].dtype);
    code.a = steps_[i].a;
    code.b = steps_[i].b;
  }
  AMP_RETURN_IF_ERROR(AssignSlots(chain));
  chain.num_codes = static_cast<int32_t>(steps_.size());
  return chain;
}

// ---- chains with kernels of their own -------------------------------------------------------------------------------
//
// The chain kernel finds out at run time what each step does, which takes several times as long as reading and writing
// the elements. The most common chains have kernels that are compiled for them.

bool ChainProgram::IsLoadOf(size_t step, DType dtype) const {
  return steps_[step].kind == ChainCodeKind::kLoad &&
         operands_[static_cast<size_t>(steps_[step].function)].dtype == dtype;
}

// Starts y = function(x) as a map. A rounding step to the output's type may follow, as it does behind a product.
bool ChainProgram::StartAsMap(Accelerator& device, const device::ChainArguments& chain, DType dtype) const {
  const bool is_rounded = steps_.size() == 3 && steps_[2].kind == ChainCodeKind::kRound && steps_[2].dtype == dtype;
  if (!is_rounded && steps_.size() != 2) return false;
  const bool is_map = steps_[1].kind == ChainCodeKind::kMap &&
                      (steps_[1].dtype == dtype || steps_[1].dtype == DType::kFloat32) && IsLoadOf(0, dtype) &&
                      chain.operands[0].way == ChainOperandWay::kFlat;
  if (!is_map) return false;
  device.Start(device::MapArguments{.x = chain.operands[0].data,
                                    .y = chain.y,
                                    .count = chain.count,
                                    .storage = chain.storage,
                                    .function = static_cast<device::UnaryFunction>(steps_[1].function),
                                    .a = steps_[1].a,
                                    .b = steps_[1].b});
  return true;
}

// Starts y = a < b ? c : d with its own kernel: the gradient of Relu is such a chain.
bool ChainProgram::StartAsChoice(Accelerator& device, const device::ChainArguments& chain, DType dtype) const {
  if (steps_.size() != operands_.size() + 2 || steps_.back().kind != ChainCodeKind::kChoose) return false;
  const Step& choice = steps_.back();
  const Step& comparison = steps_[choice.reads[0]];
  if (comparison.kind != ChainCodeKind::kCompare || choice.dtype != dtype) return false;
  device::CompareAndChooseArguments choose = {
      .a = {},
      .b = {},
      .c = {},
      .d = {},
      .y = chain.y,
      .count = chain.count,
      .storage = chain.storage,
      .comparison = static_cast<device::Comparison>(comparison.function),
  };
  const std::pair<size_t, device::CompareAndChooseArguments::Operand*> operands[] = {{comparison.reads[0], &choose.a},
                                                                                     {comparison.reads[1], &choose.b},
                                                                                     {choice.reads[1], &choose.c},
                                                                                     {choice.reads[2], &choose.d}};
  for (const auto& [step, operand] : operands) {
    if (!IsLoadOf(step, dtype)) return false;
    const device::ChainOperandPlace& place = chain.operands[steps_[step].function];
    if (place.way == ChainOperandWay::kStrided) return false;
    *operand = {.data = place.data, .is_one = place.way == ChainOperandWay::kOne};
  }
  device.Start(choose);
  return true;
}

absl::Status ChainProgram::Start(Accelerator& device, Tensor& y) const {
  AMP_ASSIGN_OR_RETURN(device::ChainArguments chain, Arguments(y.dims()));
  chain.y = y.mutable_data();
  chain.storage = StorageOf(y.dtype());
  chain.count = CountOf(y);
  if (IsDeviceFloat(y.dtype()) && (StartAsMap(device, chain, y.dtype()) || StartAsChoice(device, chain, y.dtype()))) {
    return absl::OkStatus();
  }
  device.Start(chain);
  return absl::OkStatus();
}

}  // namespace amp
