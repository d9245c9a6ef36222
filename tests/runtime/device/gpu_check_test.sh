#!/usr/bin/env bash
# The check of GPUs without one: it says so in one line, exit code 8; its table of times, small ones on the processor; and
# the verdicts: gpu_check_test.sh FOLDER_OF_PROGRAMS...
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

figures="$(mktemp)"
export figures
shared="${AMP_SHARED:-$here/../../../../shared}"
times="$("$here/gpu_times.sh" cpu small "$shared" 2>&1)" || fail "$times"
echo "$times"
(($(grep -cE '^(products_64|mlp_b4|train_mlp_b32) +[0-9.e-]+ ms' <<< "$times") == 3)) || fail "expected three rows of times"
if [[ -e $shared/data/mnist ]]; then
  grep -qE '^MNIST, .*: test accuracy 0\.[0-9]+ on cpu, 0\.[0-9]+ on the processor$' <<< "$times" || fail "expected accuracies"
  [[ $(sed -n 's/^accuracy_off //p' "$figures") == 0.0000 ]] || fail "expected the same accuracy twice"
else
  echo "no $shared/data/mnist: nothing was trained on it"
fi

printf 'products_best 0.991\nproducts_gain 8.9\nstep_ms 2.5\nbert_large_onnxruntime 3\n' > "$figures"
# shellcheck source=tests/runtime/device/gpu_figures.sh
verdicts="$(source "$here/gpu_figures.sh" && judge)"
echo "$verdicts"
for expected in "fastest algorithm +>= +0.98 +0.991  met" "strict float32 +>= +9 +8.9  MISSED" "ms +<= +2.5 +2.5  met" \
  "over ONNX Runtime +3  no goal" "autocast +>= +1.2 +-  not measured"; do
  grep -qE "$expected\$" <<< "$verdicts" || fail "expected a line with '$expected'"
done
late="$(deadline=1 && source "$here/gpu_figures.sh" && limited 5 echo late)" && fail "expected no time"
[[ -z $late ]] || fail "ran when there was no time left"
rm -f "$figures"
