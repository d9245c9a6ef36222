// Reductions of floats along any axes, and global pooling, which is one along all axes behind the channels.
//
// Axes next to each other that are reduced, or kept, count as one; what is left at the end is a run of elements:
//
//   [N, C, H, W] along 2, 3   N*C runs of H*W, each of which gives one element
//   [N, H, W, C] along 1, 2   N*H*W runs of C, which are added to those before, as columns are
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/forms/reduction.h"
#include "runtime/kernel/layout.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

// ---- which runs there are -------------------------------------------------------------------------------------------

struct Runs {
  size_t size = 1;         // elements of one
  bool is_reduced = true;  // whether a run gives one element; else it gives as many as it has
  Dims dims = {1};         // of the runs
  Dims strides = {0};      // from one run to the next in the result
  size_t results = 1;
};

// REQUIRES: dims in the order of memory, none of which is 0.
Runs RunsAlong(const Dims& dims, const std::vector<bool>& is_reduced) {
  Dims sizes;
  std::vector<bool> reduced;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == 1) continue;
    if (!sizes.empty() && reduced.back() == is_reduced[axis]) {
      sizes.back() *= dims[axis];
    } else {
      sizes.push_back(dims[axis]);
      reduced.push_back(is_reduced[axis]);
    }
  }
  Runs runs;
  if (sizes.empty()) return runs;
  runs.size = static_cast<size_t>(sizes.back());
  runs.is_reduced = reduced.back();
  runs.results = runs.is_reduced ? 1 : runs.size;
  runs.dims.assign(sizes.begin(), sizes.end() - 1);
  runs.strides.assign(runs.dims.size(), 0);
  for (size_t i = runs.dims.size(); i-- > 0;) {
    if (reduced[i]) continue;
    runs.strides[i] = static_cast<int64_t>(runs.results);
    runs.results *= static_cast<size_t>(sizes[i]);
  }
  return runs;
}

// ---- what is made of them -------------------------------------------------------------------------------------------

// Sums of elements, their squares or magnitudes, in float64.
class Sums {
 public:
  using Term = double (*)(const Loops& loops, const float* x, size_t count);

  Sums(const Loops& loops, size_t results, Term term, UnaryLoop of_each)
      : loops_(loops), term_(term), of_each_(of_each), sums_(results, 0) {}

  void AddRow(const float* x, size_t count, size_t to) { sums_[to] += term_(loops_, x, count); }
  void AddColumns(const float* x, size_t count, size_t to) {
    if (of_each_ == nullptr) return loops_.rows.add_to(x, sums_.data() + to, count);
    float buffer[kPartSize];
    of_each_(x, buffer, count, {});
    loops_.rows.add_to(buffer, sums_.data() + to, count);
  }
  std::vector<double>& values() { return sums_; }

 private:
  const Loops& loops_;
  Term term_;
  UnaryLoop of_each_;  // null: nothing
  std::vector<double> sums_;
};

// Products of elements, in float64.
class Products {
 public:
  Products(const Loops& loops, size_t results) : loops_(loops), products_(results, 1) {}

  void AddRow(const float* x, size_t count, size_t to) {
    double columns[kColumns];
    std::fill_n(columns, kColumns, 1.0);
    for (size_t first = 0; first < count; first += kColumns) {
      loops_.rows.multiply_to(x + first, columns, std::min(kColumns, count - first));
    }
    double product = 1;
    for (const double column : columns) product *= column;
    if (std::isnan(product)) {  // one column may be infinite and another 0, whereas in order they are not
      product = 1;
      for (size_t i = 0; i < count; ++i) product *= static_cast<double>(x[i]);
    }
    products_[to] *= product;
  }
  void AddColumns(const float* x, size_t count, size_t to) { loops_.rows.multiply_to(x, products_.data() + to, count); }
  const std::vector<double>& values() const { return products_; }

 private:
  static constexpr size_t kColumns = 64;

  const Loops& loops_;
  std::vector<double> products_;
};

class Extremes {
 public:
  Extremes(size_t results, RowLoops::Extreme of_row, const BinaryLoop& of_two, float start)
      : of_row_(of_row), of_two_(of_two), values_(results, start) {}

  void AddRow(const float* x, size_t count, size_t to) {
    const float extreme = of_row_(x, count);
    of_two_.of_both(&values_[to], &extreme, &values_[to], 1);
  }
  void AddColumns(const float* x, size_t count, size_t to) {
    of_two_.of_both(values_.data() + to, x, values_.data() + to, count);
  }
  std::vector<float>& values() { return values_; }

 private:
  RowLoops::Extreme of_row_;
  const BinaryLoop& of_two_;
  std::vector<float> values_;
};

// Elements [first, end) of the runs [first_run, end_run).
struct RunPart {
  size_t first_run, end_run, first, end;
};

// Runs that are reduced and so short that what is done for each counts more than its elements: those beside each other
// are columns of a matrix that is turned on the way.
constexpr size_t kShortRun = 16;

template <typename Collector>
void CollectShortRuns(const Runs& runs, const FloatSource& source, size_t first_run, size_t end_run,
                      Collector& collector) {
  float buffer[kPartSize], column[kPartSize];
  const auto line = static_cast<size_t>(runs.dims.back());  // of runs whose results lie beside each other
  StridedWalk walk(runs.dims, {runs.strides});
  walk.Skip(first_run);
  for (size_t run = first_run; run < end_run;) {
    const size_t left = line - static_cast<size_t>(walk.index().back());
    const size_t count = std::min({left, end_run - run, kPartSize / runs.size});
    const float* const x = source.Read(run * runs.size, count * runs.size, buffer);
    for (size_t i = 0; i < runs.size; ++i) {
      for (size_t k = 0; k < count; ++k) column[k] = x[k * runs.size + i];
      collector.AddColumns(column, count, walk[0]);
    }
    run += count;
    if (run < end_run) walk.Skip(count);
  }
}

// Each result is made of the same parts in the same order, whatever is collected at the same time.
template <typename Collector>
void CollectPart(const Runs& runs, const FloatSource& source, const RunPart& part, Collector& collector) {
  if (runs.is_reduced && runs.size <= kShortRun && !runs.dims.empty()) {
    return CollectShortRuns(runs, source, part.first_run, part.end_run, collector);
  }
  float buffer[kPartSize];
  StridedWalk walk(runs.dims, {runs.strides});
  walk.Skip(part.first_run);
  for (size_t run = part.first_run; run < part.end_run; ++run, walk.Next()) {
    ForEachPart(part.end - part.first, [&](size_t at, size_t count) {
      const size_t first = part.first + at;
      const float* const x = source.Read(run * runs.size + first, count, buffer);
      if (runs.is_reduced) {
        collector.AddRow(x, count, walk[0]);
      } else {
        collector.AddColumns(x, count, walk[0] + first);
      }
    });
  }
}

// Shares the reduction among the threads of the run: each gets indices of the first axis that runs lie along, if it is
// kept, or elements of runs that are added to those before. Else one thread does all.
template <typename Collector>
void Collect(const Runs& runs, const FloatSource& source, Collector& collector) {
  const auto num_runs = static_cast<size_t>(ElementsBetween(runs.dims, 0, runs.dims.size()));
  const bool keeps_first = !runs.dims.empty() && runs.strides[0] != 0;
  const size_t first_dim = keeps_first ? static_cast<size_t>(runs.dims[0]) : 1;
  if (first_dim > 1) {
    const size_t of_each = num_runs / first_dim;
    ParallelFor(first_dim, of_each * runs.size, [&](const Share& share) {
      CollectPart(runs, source, {share.first * of_each, share.end * of_each, 0, runs.size}, collector);
    });
  } else if (!runs.is_reduced) {
    ParallelFor(runs.size, num_runs, [&](const Share& share) {
      CollectPart(runs, source, {0, num_runs, share.first, share.end}, collector);
    });
  } else {
    CollectPart(runs, source, {0, num_runs, 0, runs.size}, collector);
  }
}

// Another than the input's where a cast ahead of the node is done on the way.
DType TypeOfResult(const KernelContext& context) {
  const DType stated = context.model().value(context.node().Output(0)).dtype;
  return IsLoopFloat(stated) ? stated : context.Input(0).dtype();
}

// Output 0; where it has the input's axes, it is in the input's layout, too.
absl::Status WriteResults(KernelContext& context, Dims dims, std::vector<float>& values) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, TypeOfResult(context), std::move(dims)));
  if (y->rank() == x.rank()) y->set_layout(x.layout());
  const FloatSink sink(BestLoops(), *y);
  float* const to = sink.Begin(0, values.data());
  if (to != values.data()) std::copy(values.begin(), values.end(), to);
  sink.End(0, values.size(), values.data());
  return absl::OkStatus();
}

// ---- operators ------------------------------------------------------------------------------------------------------

absl::StatusOr<ReductionForm> GlobalReduction(const KernelContext& context) { return ReadGlobalReduction(context); }

using ReadFunction = absl::StatusOr<ReductionForm> (*)(const KernelContext&);

// Runs of x as it lies in memory.
Runs RunsOf(const Tensor& x, const ReductionForm& reduction) {
  std::vector<bool> is_reduced(x.rank(), false);
  for (const size_t axis : reduction.axes) is_reduced[AxisInMemory(axis, x.rank(), x.layout())] = true;
  return RunsAlong(DimsInMemory(x.dims(), x.layout()), is_reduced);
}

// Whether the kept axes of a channels-last input lie in their order.
bool LeavesOneOrder(const Dims& dims, absl::Span<const size_t> axes) {
  const auto is_kept = [&](size_t axis) {
    return dims[axis] != 1 && std::find(axes.begin(), axes.end(), axis) == axes.end();
  };
  if (!is_kept(1)) return true;
  for (size_t axis = 2; axis < dims.size(); ++axis) {
    if (is_kept(axis)) return false;
  }
  return true;
}

template <ReadFunction kRead>
Refusal WhyNot(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (!IsLoopFloat(x.dtype())) return kNoLoopFloat;
  if (x.num_elements() == 0) return "nothing to reduce";
  if (kRead == GlobalReduction && x.rank() < 2) return "no channels";
  const absl::StatusOr<ReductionForm> reduction = kRead(context);
  if (!reduction.ok()) return "axes that do not fit";
  if (x.layout() == Layout::kRowMajor || LeavesOneOrder(x.dims(), reduction->axes)) return {};
  return "channels-last with other axes than the channels kept";
}

struct SumRule {
  Sums::Term term;
  UnaryLoop UnaryLoops::*of_each;  // null: nothing
  double (*finish)(double sum, double count);
};

double Plain(const Loops& loops, const float* x, size_t count) { return loops.rows.sum(x, count); }
double Squares(const Loops& loops, const float* x, size_t count) { return loops.rows.sum_of_squares(x, count); }
double Magnitudes(const Loops& loops, const float* x, size_t count) { return loops.rows.sum_of_magnitudes(x, count); }
double Itself(double sum, double) { return sum; }
double Divided(double sum, double count) { return sum / count; }
double Root(double sum, double) { return std::sqrt(sum); }

constexpr SumRule kSum = {Plain, nullptr, Itself};
constexpr SumRule kMean = {Plain, nullptr, Divided};
constexpr SumRule kSumOfSquares = {Squares, &UnaryLoops::square, Itself};
constexpr SumRule kNorm = {Squares, &UnaryLoops::square, Root};
constexpr SumRule kSumOfMagnitudes = {Magnitudes, &UnaryLoops::abs, Itself};

// Collects the runs of x in what `begin` makes for so many results, and writes what `finish` makes of that and of the
// number of elements behind each result.
template <ReadFunction kRead, typename Begin, typename Finish>
absl::Status Reduce(KernelContext& context, Begin begin, Finish finish) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const ReductionForm reduction, kRead(context));
  const Runs runs = RunsOf(x, reduction);
  auto collected = begin(loops, runs.results);
  Collect(runs, FloatSource(loops, x), collected);
  const double count = static_cast<double>(x.num_elements()) / static_cast<double>(runs.results);
  std::vector<float> values = finish(collected, count);
  return WriteResults(context, reduction.dims, values);
}

template <const SumRule& kRule, ReadFunction kRead = ReadReduction>
absl::Status ReduceToSums(KernelContext& context) {
  const auto begin = [](const Loops& loops, size_t results) {
    return Sums(loops, results, kRule.term, kRule.of_each == nullptr ? nullptr : loops.unary.*kRule.of_each);
  };
  return Reduce<kRead>(context, begin, [](Sums& sums, double count) {
    std::vector<float> values;
    for (const double sum : sums.values()) values.push_back(static_cast<float>(kRule.finish(sum, count)));
    return values;
  });
}

absl::Status ReduceToProducts(KernelContext& context) {
  const auto begin = [](const Loops& loops, size_t results) { return Products(loops, results); };
  return Reduce<ReadReduction>(context, begin, [](const Products& products, double /*count*/) {
    std::vector<float> values(products.values().size());
    BestLoops().rows.to_float(products.values().data(), values.data(), values.size());
    return values;
  });
}

enum class Extreme { kMax, kMin };

template <Extreme kExtreme, ReadFunction kRead = ReadReduction>
absl::Status ReduceToExtremes(KernelContext& context) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto begin = [](const Loops& loops, size_t results) {
    return kExtreme == Extreme::kMax ? Extremes(results, loops.rows.max, loops.binary.max, -kInfinity)
                                     : Extremes(results, loops.rows.min, loops.binary.min, kInfinity);
  };
  return Reduce<kRead>(context, begin,
                       [](Extremes& extremes, double /*count*/) { return std::move(extremes.values()); });
}

template <ReadFunction kRead = ReadReduction>
constexpr KernelRow Row(absl::string_view op_type, KernelFunction function) {
  return {.op_type = op_type,
          .function = function,
          .refusal = WhyNot<kRead>,
          .family = "loops",
          .takes_channels_last = true};
}

constexpr KernelRow kRows[] = {
    Row("ReduceL1", ReduceToSums<kSumOfMagnitudes>),
    Row("ReduceL2", ReduceToSums<kNorm>),
    Row("ReduceMax", ReduceToExtremes<Extreme::kMax>),
    Row("ReduceMean", ReduceToSums<kMean>),
    Row("ReduceMin", ReduceToExtremes<Extreme::kMin>),
    Row("ReduceProd", ReduceToProducts),
    Row("ReduceSum", ReduceToSums<kSum>),
    Row("ReduceSumSquare", ReduceToSums<kSumOfSquares>),
    Row<GlobalReduction>("GlobalAveragePool", ReduceToSums<kMean, GlobalReduction>),
    Row<GlobalReduction>("GlobalMaxPool", ReduceToExtremes<Extreme::kMax, GlobalReduction>),
};

}  // namespace

absl::Span<const KernelRow> ReductionLoopKernels() { return kRows; }

const KernelRow* FindReductionRow(absl::string_view domain, absl::string_view op_type) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const KernelRow& candidate) {
    return candidate.domain == domain && candidate.op_type == op_type;
  });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace amp
