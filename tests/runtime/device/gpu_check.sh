#!/usr/bin/env bash
# What only an NVIDIA GPU shows, as one table: kernels, sessions and products against the reference there, real models there
# against the processor, in three types, and how long some of them take. The programs are those on the PATH; see tools/dev
# gpu-check, which builds them, and tools/dev gpu-bundle, which packs them with this script.
#
#   gpu_check.sh FOLDER     where models/*.onnx and models/refs/*.npz are; exit code 8 without a GPU, 1 where a check fails
set -uo pipefail
here="$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)"
folder="${1:?a folder with models}"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
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

amp-run --version
echo "date: $(date -u +%F)"
amp-run --devices | grep -E '^(cpu|gpu):'
amp-run none.onnx --device cuda > "$log" 2>&1
if grep -q -- '--device cuda' "$log"; then
  cat "$log"
  exit 8
fi
step "opening" open_device_test
step "kernels, products" device_kernels_test
step "sessions" device_session_test
command -v cublaslt_test > /dev/null && step "cuBLASLt" cublaslt_test
step "real models, 3 types" env AMP_SHARED="$folder" python3 "$here/device_models.py" --device cuda \
  --program "$(command -v compare_devices)" --tool "$(command -v amp-rewrite)"
for model in mnist_mlp_original cct_2_opset20 stories260k_llama squeezenet_fp16; do
  for device in cuda cpu; do
    [[ -e $folder/models/$model.onnx ]] || continue
    step "$model" amp-run "$folder/models/$model.onnx" --random-inputs --bench --iterations 50 --device "$device"
  done
done
exit "$failed"
