// Runs many rewrites in one process, for judges that need thousands.
//
// Reads one JSON array of arguments per line of standard input, runs amp-rewrite on them in-process, and answers one
// line each: {"exit":0,"stdout":"...","stderr":"..."}. Judges run the models themselves, so without --verify none runs.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tools/rewrite/amp_rewrite.h"

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<std::string> arguments = nlohmann::json::parse(line).get<std::vector<std::string>>();
    const auto is_verify = [](const std::string& argument) { return argument.starts_with("--verify"); };
    if (std::none_of(arguments.begin(), arguments.end(), is_verify)) arguments.emplace_back("--verify=off");
    const amp::ToolOutput output = amp::RunAmpRewrite(arguments);
    const nlohmann::json answer = {{"exit", output.exit_code}, {"stdout", output.out}, {"stderr", output.err}};
    std::cout << answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
  }
}
