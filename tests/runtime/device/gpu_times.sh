#!/usr/bin/env bash
# Prints a table of how long models take in float32 and in 16 bits, and how many operations a second that is.
#
#   gpu_times.sh DEVICE [full] [FOLDER]     products 8192^3, ResNet-50 b128, BERT-large b32 s512, MLP b8192, and steps
#                                           of its training; with the MNIST of FOLDER/data/mnist also the accuracy that
#                                           it reaches on the device and on the processor
#   gpu_times.sh DEVICE small [FOLDER]      small ones of three of these, to try this script
#
# float32 is strict: no TF32. Times are median milliseconds of a run of amp-run, whose input and output are small, on an
# idle machine.
set -uo pipefail
here="$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)"
device="${1:?a device}"
size="${2:-full}"
folder="${3:-}"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
failed=0
# shellcheck source=tests/runtime/device/gpu_figures.sh
source "$here/gpu_figures.sh"

# median MODEL FLAG...: milliseconds, or "-" with the reason below the table.
median() {
  local found
  found="$(limited 60 amp-run "$1" --random-inputs --bench --device "$device" --warmup 5 --json "${@:2}" \
    2>> "$scratch/why" | sed -n 's/.*"median_ms": *\([0-9.e+-]*\).*/\1/p')"
  echo "${found:--}"
}

# Whether there is time for a row; the row says so where there is none.
has_time() {
  (($(left) > 0)) && return
  printf '%-18s NO TIME\n' "$1"
  failed=1
  return 1
}

# row NAME OPERATIONS ITERATIONS [DTYPE...]: of a model that make_gpu_models knows; OPERATIONS: billions of a run.
row() {
  local name="$1" operations="$2" times=() plain=- dtype model="$scratch/$1.onnx"
  has_time "$name" || return
  if ! limited 60 make_gpu_models "$name" "$model" > /dev/null 2>> "$scratch/why"; then
    printf '%-18s FAILED: no model\n' "$name"
    failed=1
    return
  fi
  times+=("$(median "$model" --iterations "$3")")
  for dtype in float16 bfloat16; do
    limited 60 amp-rewrite "$model" -o "$scratch/low.onnx" --dtype "$dtype" > /dev/null 2>> "$scratch/why" || failed=1
    times+=("$(median "$scratch/low.onnx" --iterations "$3")")
    [[ $dtype == float16 ]] && plain="$(median "$scratch/low.onnx" --iterations "$3" --no-replay)"
    rm -f "$scratch/low.onnx"
  done
  rm -f "$model"
  [[ ${times[*]} == *-* && ${times[*]} != *[0-9]* ]] && failed=1
  awk -v name="$name" -v giga="$operations" -v all="${times[*]}" -v plain="$plain" 'BEGIN {
    split(all, ms, " ")
    line = sprintf("%-18s", name)
    for (i = 1; i <= 3; ++i) {
      rate = "-"
      if (ms[i] + 0 > 0) rate = sprintf("%.1f", giga / ms[i])
      line = line sprintf(" %11s ms %7s", ms[i], rate)
    }
    gain = "-"
    if (ms[1] + 0 > 0 && ms[2] + 0 > 0) gain = sprintf("%.2f x", ms[1] / ms[2])
    print line sprintf("   %6s  %11s ms", gain, plain)
  }'
}

# Random pictures and labels in the form of MNIST's, as many as stated.
make_pictures() {
  local count="$1" bytes
  bytes="$(printf '\\x%02x' $((count >> 24 & 255)) $((count >> 16 & 255)) $((count >> 8 & 255)) $((count & 255)))"
  {
    printf '\x00\x00\x08\x03%b\x00\x00\x00\x1c\x00\x00\x00\x1c' "$bytes" &&
      head -c $((count * 784)) /dev/urandom
  } > "$scratch/pictures"
  { printf '\x00\x00\x08\x01%b' "$bytes" && tr -dc '\000-\011' < /dev/urandom | head -c "$count"; } > "$scratch/labels"
}

# train_row NAME OPERATIONS LAYERS BATCH SAMPLES: milliseconds of a step, the median over epochs but for the first two.
train_row() {
  local name="$1" operations="$2" times=() policy
  has_time "$name" || return
  make_pictures "$5"
  amp-train new mlp "$3" -o "$scratch/mlp.onnx" --seed 1 > /dev/null 2>> "$scratch/why" || failed=1
  for policy in float32 mixed_float16 mixed_bfloat16; do
    amp-rewrite "$scratch/mlp.onnx" -o "$scratch/step.onnx" --train --loss softmax-cross-entropy --optimizer momentum \
      --policy "$policy" > /dev/null 2>> "$scratch/why" || failed=1
    times+=("$(limited 60 amp-train "$scratch/step.onnx" --data x="$scratch/pictures" \
      --data labels="$scratch/labels" --batch "$4" --epochs 9 --device "$device" 2>> "$scratch/why" |
      sed -n 's/.*  \([0-9.]*\) ms\/step.*/\1/p' | tail -n +3 | sort -g | sed -n 4p)")
  done
  [[ ${#times[@]} == 3 && ${times[*]} =~ [0-9] ]] || failed=1
  if [[ ${times[0]} =~ [0-9] && ${times[1]} =~ [0-9] ]]; then
    note_figure step_ms "${times[1]}"
    note_figure step_gain "$(awk -v wide="${times[0]}" -v low="${times[1]}" 'BEGIN { printf "%.2f", wide / low }')"
  fi
  awk -v name="$name" -v giga="$operations" -v all="${times[*]}" 'BEGIN {
    count = split(all, ms, " ")
    line = sprintf("%-18s", name)
    for (i = 1; i <= count; ++i) line = line sprintf(" %11s ms %7.1f", ms[i], giga / ms[i])
    if (count == 3) line = line sprintf("   %.2f x", ms[1] / ms[2])
    print line
  }'
}

# accuracy DEVICE EPOCHS BATCH: of MNIST's tests, after so many epochs of the step in mixed float16.
accuracy() {
  local mnist="$folder/data/mnist"
  limited 200 amp-train "$scratch/step.onnx" --device "$1" --epochs "$2" --batch "$3" --shuffle 1 \
    --data x="$mnist/train-images-idx3-ubyte.gz" --data labels="$mnist/train-labels-idx1-ubyte.gz" \
    --eval-data x="$mnist/t10k-images-idx3-ubyte.gz" --eval-data labels="$mnist/t10k-labels-idx1-ubyte.gz" \
    2>> "$scratch/why" | tail -n 1 | sed -n 's/.*test accuracy \([0-9.]*\).*/\1/p'
}

# mnist_row LAYERS EPOCHS BATCH: what is learnt there and on the processor.
mnist_row() {
  if [[ ! -e $folder/data/mnist/train-images-idx3-ubyte.gz ]]; then
    echo "MNIST: not there: no data/mnist in '$folder'"
    return
  fi
  has_time MNIST || return
  local there here
  amp-train new mlp "$1" -o "$scratch/mlp.onnx" --seed 1 > /dev/null 2>> "$scratch/why"
  amp-rewrite "$scratch/mlp.onnx" -o "$scratch/step.onnx" --train --loss softmax-cross-entropy --optimizer adam \
    --policy mixed_float16 > /dev/null 2>> "$scratch/why"
  there="$(accuracy "$device" "$2" "$3")"
  here="$(accuracy cpu "$2" "$3")"
  printf 'MNIST, %s, %s epochs of batches of %s: test accuracy %s on %s, %s on the processor\n' "$1" "$2" "$3" \
    "${there:--}" "$device" "${here:--}"
  if [[ -z $there || -z $here ]]; then
    failed=1
    return
  fi
  note_figure accuracy_off "$(awk -v there="$there" -v here="$here" \
    'BEGIN { off = there - here; printf "%.4f", off < 0 ? -off : off }')"
}

printf '%-18s %22s %22s %22s   %s\n' "times on $device" "float32, TFLOP/s" "float16, TFLOP/s" "bfloat16, TFLOP/s" \
  "32 / 16  float16, nothing replayed"
if [[ $size == small ]]; then
  row products_64 0.010 3
  row mlp_b4 0.16 3
  train_row train_mlp_b32 0.01 784-64-10 32 64
  mnist_row 784-64-10 1 1024
else
  row products_8192 21990 10
  row resnet50_b128 1050 20
  row bert_large_b32 10720 10
  row mlp_b8192 328 20
  row mlp_b1 0.04 200
  train_row train_mlp_b8192 984 784-4096-4096-10 8192 32768
  mnist_row 784-4096-4096-10 3 1024  # enough steps that a rounding no longer moves the accuracy by a hundredth
fi
if [[ -s $scratch/why ]]; then
  echo "what was said meanwhile:"
  sort "$scratch/why" | uniq -c | head -n 20
fi
exit "$failed"
