// Lets nodes that draw random numbers do so from the generator of the run that they are in.
#ifndef AMP_IR_FILE_FORGET_SEEDS_H_
#define AMP_IR_FILE_FORGET_SEEDS_H_

namespace onnx {
class ModelProto;
}

namespace amp {

// Takes the attribute "seed" off all nodes of ONNX's own operators, those in bodies and functions included.
void ForgetSeeds(onnx::ModelProto& model);

}  // namespace amp

#endif  // AMP_IR_FILE_FORGET_SEEDS_H_
