// One random structural edit of a model, anywhere in its message: nodes, ports, attributes, tensors, types, dimensions,
// bodies, functions, imports, records.
//
//   input: "x"        ->  input: ""          or "w", another name of the model; dropped, doubled, swapped
//   dim_value: 3      ->  dim_value: 2^62    or 0, -1, 1, 2^31, the data type or axis of something else
//   attribute { .. }  ->  dropped, doubled, or one of another node
//
// The fields that can be edited are taken from protobuf's descriptors, so that none is forgotten. A kind of message is
// chosen before one of its instances, so that a model's only If is edited as often as its hundred nodes.
#ifndef AMP_TESTS_MUTATE_MESSAGE_H_
#define AMP_TESTS_MUTATE_MESSAGE_H_

#include <random>
#include <string>

#include "onnx/onnx_pb.h"

namespace amp {

// Returns what was edited, for a person: "NodeProto.input: retarget". Deterministic by the state of `random`. Payloads
// of more than a few kilobytes are left alone.
std::string MutateOnce(onnx::ModelProto& model, std::mt19937_64& random);

}  // namespace amp

#endif  // AMP_TESTS_MUTATE_MESSAGE_H_
