#!/usr/bin/env bash
# Runs all checks that need an NVIDIA GPU, and prints one table: kernels, sessions and products against the reference on
# the GPU, real models in three types against the processor, ONNX's own cases, how long models take, how long they take
# in other runtimes, and each goal with its verdict. The programs are those on the PATH; see tools/dev gpu-check, which
# builds them, and tools/dev gpu-bundle, which packs them with this script.
#
#   gpu_check.sh FOLDER [checks|times|peers|all]     FOLDER may have models/*.onnx and models/refs/*.npz,
#                                                    conformance/node.tar.xz, data/mnist/*.gz
#
# It ends within nine minutes. A check for which there was no time is in the table, and is a failure. Exit code 8
# without a GPU, 1 where a check fails; a goal that is missed is no failure.
# shellcheck disable=SC2317 # some functions are called by `step`
set -uo pipefail
here="$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)"
folder="${1:?a folder with models}"
part="${2:-all}"
if [[ ! $part =~ ^(checks|times|peers|all)$ ]]; then
  echo "gpu_check.sh: error: expected checks, times, peers or all, found '$part'" >&2
  exit 2
fi
scratch="$(mktemp -d)"
log="$scratch/log"
trap 'rm -rf "$scratch"' EXIT
failed=0
export figures="$scratch/figures"
: > "$figures"
# shellcheck source=tests/runtime/device/gpu_figures.sh
source "$here/gpu_figures.sh"
export deadline

# step SECONDS NAME COMMAND...: prints one line of the table, and the command's output only where it failed. `run`
# limits the time of a command.
step() {
  limit="$1"
  local name="$2" start=$SECONDS
  code=0  # for `show`
  shift 2
  if (($(left) <= 0)); then
    printf '%-22s NO TIME\n' "$name"
    : > "$log"
    failed=1
    return
  fi
  "$@" > "$log" 2>&1 || code=$?
  if ((code == 0)); then
    printf '%-22s ok      %4d s  %s\n' "$name" $((SECONDS - start)) \
      "$(grep -vE '^(=*|figure .*)$' "$log" | tail -n 1 | cut -c1-90)"
  else
    printf '%-22s FAILED  %4d s  exit code %d%s\n' "$name" $((SECONDS - start)) "$code" \
      "$( ((code == 124 || code == 137)) && echo ", out of time")"
    tail -n 30 "$log" | sed 's/^/    /'
    failed=1
  fi
}

# show SECONDS NAME COMMAND...: the same, with all that it printed but for figures, which are noted.
show() {
  step "$@"
  sed -n 's/^figure //p' "$log" >> "$figures"
  ((code == 0)) && grep -v '^figure ' "$log" | sed 's/^/    /'
}

# run PROGRAM ARGUMENTS...: within what the step is given.
run() { limited "$limit" "$@"; }

# Folders of NVIDIA's libraries among the packages of a Python, for machines that have them nowhere else.
libraries_of_python() {
  command -v python3 > /dev/null || return 0
  python3 - 2> /dev/null << 'PYTHON'
import importlib.util
import pathlib
spec = importlib.util.find_spec("nvidia")
places = spec.submodule_search_locations if spec else []
print(":".join(str(folder) for place in places for folder in sorted(pathlib.Path(place).glob("*/lib"))))
PYTHON
}

# compare_types DTYPE: the real models, rewritten to that type, there and on the processor.
compare_types() {
  local models=("$folder"/models/*.onnx)
  if [[ $1 != float32 ]]; then
    mkdir -p "$scratch/$1"
    ln -sfn "$folder/models/refs" "$scratch/$1/refs"
    for model in "${models[@]}"; do
      # Models that the tool refuses are left out; which, its own tests say.
      run amp-rewrite "$model" -o "$scratch/$1/$(basename "$model")" --dtype "$1" > /dev/null 2>&1 || true
    done
    models=("$scratch/$1"/*.onnx)
  fi
  run compare_devices --device cuda --fused --type "$1" "${models[@]}"
}

# ONNX's own cases.
conform() {
  local archive="$folder/conformance/node.tar.xz" cases="$folder/conformance/node"
  if [[ ! -d $cases ]]; then
    [[ -e $archive ]] || { echo "not done: no $archive"; return 0; }
    cases="$scratch/node"
    tar -C "$scratch" -xf "$archive" || return 1
  fi
  run run_cases "$cases" --exceptions "$here/../conformance_exceptions.txt" --device cuda
}

# sanitize PROGRAM ARGUMENTS...: finds accesses out of bounds, where the tool knows the machine. Calls that fail are
# left out: NVIDIA's libraries try functions that may not be there.
sanitize() {
  run compute-sanitizer --report-api-errors no --error-exitcode 9 "$(command -v "$1")" "${@:2}" \
    > "$scratch/sanitized" 2>&1
  local code=$?
  if ((code != 0)) && grep -qE '^=+ (Error: )?.*[Dd]evice not supported' "$scratch/sanitized"; then
    echo "not done: the tool does not support this machine"
    return 0
  fi
  tail -n 20 "$scratch/sanitized"
  return "$code"
}

check_all() {
  step 20 "opening" run open_device_test
  show 60 "units of products" run gpu_products kinds
  step 90 "kernels, products" run device_kernels_test
  step 60 "sessions, replay" run device_session_test
  step 60 "training steps" run device_steps_test
  step 20 "cuBLASLt" run cublaslt_test
  step 60 "training" run device_training_test
  step 60 "real models, float32" compare_types float32
  step 60 "real models, float16" compare_types float16
  step 60 "real models, bfloat16" compare_types bfloat16
}

take_times() {
  show 60 "products 8192^3" run gpu_products best 8192
  "$here/gpu_times.sh" cuda full "$folder" || failed=1
}

compare_with_peers() {
  if command -v python3 > /dev/null; then
    show 400 "peers" run python3 "$here/gpu_peers.py"
  else
    printf '%-22s not there: no python3 to import PyTorch or ONNX Runtime\n' "peers"
  fi
}

# Last, as it may take all the time that there is.
sanitize_all() {
  command -v compute-sanitizer > /dev/null || return 0
  step 120 "sanitizer, models" sanitize compare_devices --device cuda --fused \
    "$folder"/models/{mnist_mlp_original,cct_2_opset20}.onnx
  step 500 "sanitizer, kernels" sanitize device_kernels_test
}

amp-run --version
echo "date: $(date -u +%F), part: $part"
amp-run --devices | grep -E '^(cpu|gpu|cuda|driver)' || true
if command -v nvidia-smi > /dev/null; then
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit --format=csv,noheader 2> /dev/null |
    sed 's/^/nvidia-smi: /' || true
fi
amp-run none.onnx --device cuda > "$log" 2>&1
if grep -q -- '--device cuda' "$log"; then
  cat "$log"
  exit 8
fi
of_python="$(libraries_of_python)"
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}${of_python:+:$of_python}"

[[ $part == checks || $part == all ]] && check_all
[[ $part == times || $part == all ]] && take_times
[[ $part == checks || $part == all ]] && step 120 "ONNX's cases" conform
[[ $part == peers || $part == all ]] && compare_with_peers
[[ $part == checks || $part == all ]] && sanitize_all
[[ $part != checks ]] && judge
exit "$failed"
