// Runs a model: what amp-run and amp::Session are made of.
//
//   AMP_ASSIGN_OR_RETURN(auto session, Session::Create("model.onnx", {}));
//   AMP_ASSIGN_OR_RETURN(std::vector<Datum> outputs, session->Run({{"x", x}}));
//
// Calls of model-local functions are inlined first, and operators without a kernel run through the function body that
// ONNX gives them, where it does. A session may run in several threads at once: a run writes only to
// what it made itself.
#ifndef AMP_RUNTIME_SESSION_H_
#define AMP_RUNTIME_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "ir/base/limits.h"
#include "ir/file/model_file.h"
#include "ir/graph/graph.h"
#include "runtime/execution.h"
#include "runtime/program.h"
#include "runtime/reference/reference_kernels.h"

namespace amp {

struct SessionOptions {
  Limits limits;
  int64_t max_loop_iterations = 1'000'000;
  uint64_t seed = 0;  // of nodes that draw random numbers and state no seed
  FindKernel find_kernel = FindReferenceKernel;
};

using NamedDatums = absl::flat_hash_map<std::string, Datum>;

class Session {
 public:
  // Errors: those of LoadModel; kDataLoss for an operator without a kernel.
  static absl::StatusOr<std::unique_ptr<Session>> Create(const std::string& path, const SessionOptions& options);
  static absl::StatusOr<std::unique_ptr<Session>> Create(LoadedFile file, const SessionOptions& options);

  const Model& model() const { return *model_; }
  // Those that Run needs; initializers that a caller may override are not among them.
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return model_->graph(kMainGraph).outputs; }

  // Outputs in the model's order. Errors: kInvalidArgument (a name that is no input, an input that is missing, of
  // another type or of another shape than the model states), those of kernels, with the node.
  // `observer`, if any, is called with every value that is computed or given, as soon as it is.
  absl::StatusOr<std::vector<Datum>> Run(const NamedDatums& inputs, const ValueObserver* observer = nullptr) const;

 private:
  Session(std::unique_ptr<Model> model, Program program, const SessionOptions& options);
  absl::Status CheckInputs(const NamedDatums& inputs) const;

  std::unique_ptr<Model> model_;
  Program program_;
  SessionOptions options_;
  std::vector<ValueId> inputs_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_SESSION_H_
