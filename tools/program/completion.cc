#include "tools/program/completion.h"

#include <algorithm>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ir/schema/operator_label.h"
#include "passes/classify/op_list_file.h"

namespace amp {
namespace {

// Bash splits words at = and : and replaces only what is behind the last of them, so the word is cut out of the line
// here, and what bash keeps of it is taken off the answers.
constexpr char kFunction[] = R"(_amp_rewrite_operators="@OPERATORS@"
_amp_rewrite()
{
    local line=${COMP_LINE:0:COMP_POINT} current flag="" values="" before="" kept answer breaks="="
    local -a words answers
    current=${line##*[[:space:]]}
    read -r -a words <<< "${line%"$current"}"
    [[ $COMP_WORDBREAKS == *:* ]] && breaks+=":"
    kept=${current%"${current##*[$breaks]}"}
    if [[ $current == --*=* ]]; then
        flag=${current%%=*}
        current=${current#*=}
    elif ((${#words[@]} > 1)); then
        flag=${words[${#words[@]}-1]}
    fi
    COMPREPLY=()
    case $flag in
@CASES@    *)
        if [[ $kept == --*= ]]; then
            return
        elif [[ $current == -* ]]; then
            values="@FLAGS@"
        else
            mapfile -t answers < <(compgen -f -X '!*.onnx' -- "$current"; compgen -d -- "$current")
            compopt -o filenames 2> /dev/null
        fi
        ;;
    esac
    if [[ -n $values ]]; then
        mapfile -t answers < <(compgen -W "$values" -P "$before" -- "${current#"$before"}")
    fi
    [[ $kept == --*=* ]] && kept=${kept#*=}
    for answer in "${answers[@]}"; do
        COMPREPLY+=("${answer#"$kept"}")
    done
}
complete -F _amp_rewrite amp-rewrite
)";

// "all|none|NAME[,NAME...]" -> all none; "cuda:CC" -> cuda:
std::vector<std::string> ValuesOf(const std::string& type_name) {
  std::vector<std::string> values;
  for (absl::string_view value : absl::StrSplit(type_name.substr(0, type_name.find('=')), '|')) {
    const auto is_free = [](unsigned char c) { return absl::ascii_isupper(c) || c == '['; };
    const auto free = static_cast<size_t>(std::find_if(value.begin(), value.end(), is_free) - value.begin());
    const size_t fixed = std::min(free, value.find("..."));
    if (fixed > 0) values.emplace_back(value.substr(0, fixed));
  }
  return values;
}

std::vector<std::string> Spellings(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

// The operators of ONNX, and those with a built-in signature.
std::vector<std::string> OperatorLabels() {
  std::vector<std::string> labels;
  for (const auto& [domain, operators] : KnownOperators(*OpSignatures::BuiltIn())) {
    for (const std::string& op : operators) labels.push_back(OperatorLabel(domain, op));
  }
  return labels;
}

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  std::vector<std::string> flags;
  std::string cases;
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string> names = Spellings(*option);
    flags.insert(flags.end(), names.begin(), names.end());
    if (names.empty() || option->get_expected_max() == 0) continue;  // MODEL; flags without a value
    absl::StrAppend(&cases, "    ", absl::StrJoin(names, "|"), ")\n");
    const std::string type = option->get_type_name();
    const std::vector<std::string> values = ValuesOf(type);
    if (absl::StartsWith(type, "OP[")) {  // "Softmax,-Gel": the last item is completed
      absl::StrAppend(&cases, "        values=$_amp_rewrite_operators\n",
                      "        before=${current%\"${current##*,}\"}\n",
                      "        [[ ${current#\"$before\"} == -* ]] && before+=-\n");
    } else if (!values.empty()) {
      absl::StrAppend(&cases, "        values=\"", absl::StrJoin(values, " "), "\"\n");
    } else if (absl::StrContains(type, "FILE") || absl::StrContains(type, "OUT")) {
      absl::StrAppend(&cases, "        mapfile -t answers < <(compgen -f -- \"$current\")\n",
                      "        compopt -o filenames 2> /dev/null\n");
    }
    absl::StrAppend(&cases, "        ;;\n");
  }
  std::sort(flags.begin(), flags.end());
  std::string script = kFunction;
  const auto replace = [&](absl::string_view mark, const std::string& text) {
    script.replace(script.find(std::string(mark)), mark.size(), text);
  };
  replace("@CASES@", cases);
  replace("@OPERATORS@", absl::StrJoin(OperatorLabels(), " "));
  replace("@FLAGS@", absl::StrJoin(flags, " "));
  return "# Completion for amp-rewrite; printed by amp-rewrite --completion bash.\n" + script;
}

}  // namespace amp
