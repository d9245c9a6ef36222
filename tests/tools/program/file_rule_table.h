// Every flag of the three programs that reads a file or writes one, with a command that uses it.
#ifndef AMP_TESTS_TOOLS_PROGRAM_FILE_RULE_TABLE_H_
#define AMP_TESTS_TOOLS_PROGRAM_FILE_RULE_TABLE_H_

#include <functional>
#include <string>
#include <vector>

#include "ir/base/file_kind.h"
#include "tests/scratch_folder.h"
#include "tools/program/tool_output.h"

namespace amp {

using Words = std::vector<std::string>;  // of a command line; "@" stands for the folder

struct ReadingFlag {
  std::string flag;  // as messages name it
  Words words;       // those that the command needs for it
  std::string file;  // that is read then, in the folder
};

struct WritingFlag {
  std::string flag;
  Words words;  // "%" stands for the path
  FileKind kind = FileKind::kOther;
  std::string fixed_name = {};  // what the file is called, where a folder is given instead of its path
};

struct Program {
  std::string name;
  std::function<ToolOutput(const Words&)> run;
  Words command;  // that does something, together with `needed`
  Words needed;   // flag and value; left out where a test gives the flag itself
  std::vector<ReadingFlag> reads;
  std::vector<WritingFlag> writes;
  // The names that --help has for values that are no files. A flag whose value has another name belongs in the table.
  std::vector<std::string> other_values;
  Words positionals;  // arguments without a flag
};

// "amp-rewrite", "amp-run", "amp-train", "amp-train new".
const std::vector<Program>& Programs();

// Puts all the files that the commands name into the folder.
void MakeFiles(const ScratchFolder& folder);

}  // namespace amp

#endif  // AMP_TESTS_TOOLS_PROGRAM_FILE_RULE_TABLE_H_
