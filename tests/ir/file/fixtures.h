// Models, files and folders made by code for the tests of loading and saving.
#ifndef AMP_TESTS_IR_FILE_FIXTURES_H_
#define AMP_TESTS_IR_FILE_FIXTURES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "onnx/onnx_pb.h"
#include "tests/scratch_folder.h"

namespace amp {

void WriteText(const std::string& path, absl::string_view bytes);
std::string ReadText(const std::string& path);
// Name -> contents of every entry of a folder, hidden ones too; what is no regular file has the contents "(special)".
std::map<std::string, std::string> Snapshot(const std::string& directory);

// y = Relu(Conv(x, w)) at opset 17: x [1, 3, 8, 8], w [4, 3, 3, 3] as raw_data, and an int64 initializer in int64_data.
onnx::ModelProto SmallModel();
onnx::TensorProto FloatTensor(const std::string& name, const std::vector<int64_t>& dims, float first = 0);
// The tensor's raw_data goes out to `location` at `offset`; the caller writes the file.
void MakeExternal(onnx::TensorProto* tensor, const std::string& location, int64_t offset = 0);
onnx::NodeProto* AddNode(onnx::GraphProto* graph, const std::string& op_type, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs);
onnx::AttributeProto* AddInts(onnx::NodeProto* node, const std::string& name, const std::vector<int64_t>& values);
onnx::AttributeProto* AddInt(onnx::NodeProto* node, const std::string& name, int64_t value);

// The outcome of a call that was made in a process of its own.
struct ChildResult {
  int signal = 0;  // that killed it
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string message;
  double seconds = 0;
  int64_t peak_bytes = 0;
};
ChildResult RunInChild(const std::function<absl::Status()>& call);

// The promises of every refusal: of that class, one line, no signal, under 2 s and 300 MB.
void CheckRefused(const ChildResult& result, absl::StatusCode code, absl::string_view part_of_message);

}  // namespace amp

#endif  // AMP_TESTS_IR_FILE_FIXTURES_H_
