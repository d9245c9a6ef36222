// Manual pages, generated from the flags that a program declares, so that they never go stale.
#ifndef AMP_TOOLS_PROGRAM_MAN_PAGE_H_
#define AMP_TOOLS_PROGRAM_MAN_PAGE_H_

#include <string>

namespace CLI {
class App;
}

namespace amp {

// The page of section 1 for a program, as roff with the macros of man(7).
std::string ManPage(const CLI::App& app);

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_MAN_PAGE_H_
