#!/usr/bin/env bash
# Tests gpu_check.sh without a GPU: it says so in one line, exit code 8. Also tested are its table of times, with small
# models on the processor, the verdicts, and the whole script with programs that only print what the real ones would:
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

figures="$(mktemp)"
export figures
shared="${AMP_SHARED:-$here/../../../../shared}"
times="$("$here/gpu_times.sh" cpu small "$shared" 2>&1)" || fail "$times"
echo "$times"
(($(grep -cE '^(products_64|mlp_b4|train_mlp_b32) +[0-9.e-]+ ms' <<< "$times") == 3)) ||
  fail "expected three rows of times"
if [[ -e $shared/data/mnist ]]; then
  grep -qE '^MNIST, .*: test accuracy 0\.[0-9]+ on cpu, 0\.[0-9]+ on the processor$' <<< "$times" ||
    fail "expected accuracies"
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

# All of it, with programs of our own ahead of the real ones: what they print is in the table, and what fails is, too.
stage="$(mktemp -d)"
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage"/{bin,models,conformance/node,data/mnist}
: > "$stage/models/a.onnx"
: > "$stage/data/mnist/train-images-idx3-ubyte.gz"
say() { printf '#!/bin/sh\n%s\n' "$2" > "$stage/bin/$1" && chmod +x "$stage/bin/$1"; }
for program in open_device_test device_session_test device_steps_test device_training_test cublaslt_test \
  compare_devices compute-sanitizer make_gpu_models; do
  say "$program" 'echo all is well'
done
say device_kernels_test 'echo planted; exit 3'
say run_cases 'exec sleep 60'
# shellcheck disable=SC2016 # the programs expand these
say amp-rewrite 'while [ $# -gt 0 ]; do [ "$1" = -o ] && : > "$2"; shift; done'
# shellcheck disable=SC2016
say amp-run 'case "$*" in *--bench*) echo "{\"median_ms\": 4}" ;; esac'
# shellcheck disable=SC2016
say amp-train 'case "$*" in *cuda*) a=0.97 ;; *) a=0.90 ;; esac
for i in 1 2 3 4 5 6 7 8 9; do echo "epoch $i/9  loss 1  2.0 ms/step  test accuracy $a"; done'
# shellcheck disable=SC2016
say gpu_products 'echo "$1: an algorithm"; [ "$1" = best ] && echo "figure products_best 0.99"; exit 0'
# check PART SECONDS: its table in `table`.
check() {
  table="$(PATH="$stage/bin:$PATH" deadline=$(($(date +%s) + $2)) "$here/gpu_check.sh" "$stage" "$1" 2>&1)"
  code=$?
  echo "$table"
}
expect() { grep -qE "$1" <<< "$table" || fail "expected a line with '$1'"; }
check checks 12
((code == 1)) || fail "expected exit code 1 where something fails, found $code"
expect '^opening +ok +[0-9]+ s  all is well$'
expect '^kernels, products +FAILED +[0-9]+ s  exit code 3$'
expect '^    kinds: an algorithm$'
expect "^ONNX's cases +FAILED +[0-9]+ s  exit code 124, out of time\$"
expect '^sanitizer, kernels +NO TIME$'
check all 0
expect '^products 8192\^3 +NO TIME$'
expect '^resnet50_b128 +NO TIME$'
expect '^peers +NO TIME$'
expect 'fastest algorithm +>= +0.98 +-  not measured$'
check times 60
expect '^resnet50_b128 .* 4 ms'
expect '^MNIST, .* test accuracy 0.97 on cuda, 0.90 on the processor$'
expect 'fastest algorithm +>= +0.98 +0.99  met$'
expect 'mixed float16: ms +<= +2.5 +2.0  met$'
expect 'strict float32 +>= +5 +1.00  MISSED$'
expect "distance from the processor's +<= +0.01 +0.0700  MISSED$"
check nothing 60
((code == 2)) || fail "expected exit code 2 for a part that is none, found $code"
