#include "tools/program/man_page.h"

#include <algorithm>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace amp {
namespace {

// Text for roff: no character of it is a command.
std::string Roff(absl::string_view text) {
  std::string escaped;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!escaped.empty()) escaped += '\n';
    if (absl::StartsWith(line, ".") || absl::StartsWith(line, "'")) escaped += "\\&";
    absl::StrAppend(&escaped, absl::StrReplaceAll(line, {{"\\", "\\e"}, {"-", "\\-"}}));
  }
  return escaped;
}

// An empty line begins a paragraph.
std::string Paragraphs(absl::string_view text) {
  return absl::StrReplaceAll(Roff(absl::StripAsciiWhitespace(text)), {{"\n\n", "\n.PP\n"}});
}

std::string Verbatim(absl::string_view text) { return absl::StrCat(".nf\n", Roff(text), "\n.fi\n"); }

std::string Names(const CLI::Option& option) {
  std::string names;
  const auto append = [&](const std::string& name) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", "\\fB", Roff(name), "\\fR");
  };
  for (const std::string& name : option.get_snames()) append("-" + name);
  for (const std::string& name : option.get_lnames()) append("--" + name);
  if (names.empty()) return absl::StrCat("\\fI", Roff(option.get_name(/*positional=*/true)), "\\fR");
  const std::string type = option.get_type_name();
  return type.empty() ? names : absl::StrCat(names, " \\fI", Roff(type), "\\fR");
}

std::string Entry(const CLI::Option& option) {
  return absl::StrCat(".TP\n", Names(option), "\n", Roff(option.get_description()), "\n");
}

std::string Entries(const std::vector<const CLI::Option*>& options) {
  std::string entries;
  std::vector<std::string> groups;  // in the order of --help
  for (const CLI::Option* option : options) {
    const std::string& group = option->get_group();
    if (!option->get_positional() && std::find(groups.begin(), groups.end(), group) == groups.end()) {
      groups.push_back(group);
    }
  }
  for (const CLI::Option* option : options) {
    if (option->get_positional()) entries += Entry(*option);
  }
  for (const std::string& group : groups) {
    absl::StrAppend(&entries, ".SS ", Roff(group), "\n");
    for (const CLI::Option* option : options) {
      if (!option->get_positional() && option->get_group() == group) entries += Entry(*option);
    }
  }
  return entries;
}

}  // namespace

std::string ManPage(const CLI::App& app) {
  const std::string& program = app.get_name();
  const std::string page = absl::StrReplaceAll(program, {{" ", "-"}});
  const std::string description = app.get_description();
  const std::string purpose = description.substr(0, description.find_first_of(":."));
  const std::vector<const CLI::Option*> options = app.get_options();
  std::string synopsis = absl::StrCat("\\fB", Roff(program), "\\fR [\\fIOPTIONS\\fR]");
  for (const CLI::Option* option : options) {
    if (option->get_positional()) absl::StrAppend(&synopsis, " ", Names(*option));
  }
  return absl::StrCat(".TH \"", absl::AsciiStrToUpper(page), "\" 1 \"\" \"amp\\-rewrite\"\n", ".SH NAME\n", Roff(page),
                      " \\- ", absl::StrReplaceAll(Roff(purpose), {{"\n", " "}}), "\n", ".SH SYNOPSIS\n", synopsis,
                      "\n", ".SH DESCRIPTION\n", Paragraphs(description), "\n", ".SH OPTIONS\n", Entries(options),
                      ".SH NOTES\n", Verbatim(app.get_footer()));
}

}  // namespace amp
