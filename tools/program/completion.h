// Shell completion, generated from the flags that the program itself declares, so that it never goes stale.
#ifndef AMP_TOOLS_PROGRAM_COMPLETION_H_
#define AMP_TOOLS_PROGRAM_COMPLETION_H_

#include <string>

namespace CLI {
class App;
}

namespace amp {

// A bash script that defines _amp_rewrite and binds it to the program. What a flag takes is read off its type name:
// "a|b" offers a and b, words in capitals are the user's to fill in, FILE and OUT offer files, OP[,OP...] the operators
// of ONNX and of the built-in signatures. Needs no bash-completion package.
std::string BashCompletion(const CLI::App& app);

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_COMPLETION_H_
