#!/usr/bin/env bash
# Small models of the kinds that gpu_check.sh takes the time of are valid, can be rewritten, and compute the same on the
# device's test double as on the processor: gpu_models_test.sh MAKE_GPU_MODELS AMP_REWRITE COMPARE_DEVICES
set -euo pipefail
make="$1" rewrite="$2" compare="$3"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
for name in products_24 mlp_b2; do
  "$make" "$name" "$folder/$name.onnx"
  "$rewrite" "$folder/$name.onnx" -o "$folder/low_$name.onnx" > /dev/null
done
"$compare" --fused "$folder"/products_24.onnx "$folder"/mlp_b2.onnx
"$compare" --fused --tolerance 0.02 "$folder"/low_*.onnx
for name in products_ bert_large_b0 nothing_b3; do
  if "$make" "$name" "$folder/none.onnx" 2> /dev/null; then
    echo "$name: expected an error"
    exit 1
  fi
done
