#!/usr/bin/env bash
# What only an NVIDIA GPU shows, as one table: kernels, sessions and products against the reference there, real models there
# against the processor, in three types, and how long models take. The programs are those on the PATH; see tools/dev
# gpu-check, which builds them, and tools/dev gpu-bundle, which packs them with this script.
#
#   gpu_check.sh FOLDER     where models/*.onnx and models/refs/*.npz are; exit code 8 without a GPU, 1 where a check fails
# shellcheck disable=SC2317 # some functions are called by `step`
set -uo pipefail
here="$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)"
folder="${1:?a folder with models}"
scratch="$(mktemp -d)"
log="$scratch/log"
trap 'rm -rf "$scratch"' EXIT
failed=0

# step NAME COMMAND...: one line of the table; what the command printed only where it failed.
step() {
  local name="$1" start=$SECONDS code=0
  shift
  "$@" > "$log" 2>&1 || code=$?
  if ((code == 0)); then
    printf '%-22s ok      %4d s  %s\n' "$name" $((SECONDS - start)) "$(grep -vE '^(=*|)$' "$log" | tail -n 1 | cut -c1-90)"
  else
    printf '%-22s FAILED  %4d s  exit code %d\n' "$name" $((SECONDS - start)) "$code"
    tail -n 30 "$log" | sed 's/^/    /'
    failed=1
  fi
}

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

# compare_types DTYPE TOLERANCE: the real models, rewritten to that type, there and on the processor.
compare_types() {
  local models=("$folder"/models/*.onnx)
  if [[ $1 != float32 ]]; then
    mkdir -p "$scratch/$1"
    ln -sfn "$folder/models/refs" "$scratch/$1/refs"
    for model in "${models[@]}"; do
      # Models that the tool refuses are left out; which, its own tests say.
      amp-rewrite "$model" -o "$scratch/$1/$(basename "$model")" --dtype "$1" > /dev/null 2>&1 || true
    done
    models=("$scratch/$1"/*.onnx)
  fi
  compare_devices --device cuda --fused --tolerance "$2" "${models[@]}"
}

# sanitize PROGRAM ARGUMENTS...: places out of bounds and errors that nobody asked for, where the tool knows the machine.
sanitize() {
  timeout 500 compute-sanitizer --error-exitcode 9 "$(command -v "$1")" "${@:2}" > "$scratch/sanitized" 2>&1
  local code=$?
  if grep -q 'not supported' "$scratch/sanitized"; then
    echo "not done: the tool does not support this machine"
    return 0
  fi
  tail -n 20 "$scratch/sanitized"
  return "$code"
}

amp-run --version
echo "date: $(date -u +%F)"
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

step "opening" open_device_test
step "kernels, products" device_kernels_test
step "sessions, replay" device_session_test
step "training steps" device_steps_test
command -v cublaslt_test > /dev/null && step "cuBLASLt" cublaslt_test
step "training" device_training_test
step "real models, float32" compare_types float32 1e-4
step "real models, float16" compare_types float16 0.01
step "real models, bfloat16" compare_types bfloat16 0.05
if command -v compute-sanitizer > /dev/null; then
  step "sanitizer, kernels" sanitize device_kernels_test
  step "sanitizer, models" sanitize compare_devices --device cuda --fused "$folder"/models/{mnist_mlp_original,cct_2_opset20}.onnx
fi
"$here/gpu_times.sh" cuda || failed=1
exit "$failed"
