#!/usr/bin/env bash
# The check of GPUs without one: it says so in one line, exit code 8; and its table of times, small ones on the processor:
# gpu_check_test.sh FOLDER_OF_PROGRAMS...
set -uo pipefail
here="$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)"
for folder in "$@"; do PATH="$folder:$PATH"; done

fail() {
  echo "FAILED: $*"
  exit 1
}

found="$("$here/gpu_check.sh" "$here" 2>&1)"
code=$?
echo "$found"
if ((code != 8)); then
  ((code == 0)) && echo "SKIPPED: there is a GPU, on which the check ends well" && exit 77
  fail "expected exit code 8, found $code"
fi
[[ $(tail -n 1 <<< "$found") == "amp-run: error: --device cuda:0: "* ]] || fail "expected the reason in the last line"

times="$("$here/gpu_times.sh" cpu small 2>&1)" || fail "$times"
echo "$times"
(($(grep -cE '^(products_64|mlp_b4|train_mlp_b32) +[0-9.e-]+ ms' <<< "$times") == 3)) || fail "expected three rows of times"
