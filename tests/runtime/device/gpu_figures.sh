# Functions that the parts of gpu_check.sh share, to be sourced: the time that is left, and figures with the goals that
# they are held against.
#
#   limited SECONDS COMMAND...    no longer than that, nor than until $deadline, in seconds since 1970
#   note_figure NAME VALUE        into $figures, a file
#   judge                         a line for each goal: what was measured, and whether that is as it should be
# shellcheck shell=bash
# shellcheck disable=SC2034 # who sources this uses it
: "${deadline:=$(($(date +%s) + 540))}" "${figures:=/dev/null}"

left() { echo $((deadline - $(date +%s))); }

limited() {
  local most="$1" left
  shift
  left="$(left)"
  ((left < most)) && most="$left"
  ((most > 0)) || return 124
  timeout -k 5 "$most" "$@"
}

note_figure() { [[ $2 =~ [0-9] ]] && echo "$1 $2" >> "$figures"; }

goals() {
  cat << 'GOALS'
products_best|float16 8192^3: speed over cuBLASLt's fastest algorithm|>=|0.98
products_tuned|the same, with --autotune|>=|0.98
products_gain|float16 8192^3: speed over strict float32|>=|9
products_rate|float16: operations a second over the ceiling of float32|>|1
resnet50_eager|ResNet-50 b128 float16: speed over PyTorch's autocast|>=|1.2
resnet50_compiled|the same over torch.compile|>=|0.95
resnet50_onnxruntime|the same over ONNX Runtime|>=|
bert_large_eager|BERT-large b32 s512 float16: speed over PyTorch's autocast|>=|1.2
bert_large_compiled|the same over torch.compile|>=|0.95
bert_large_onnxruntime|the same over ONNX Runtime|>=|
step_ms|training step 784-4096-4096-10, b8192, mixed float16: ms|<=|2.5
step_gain|the same: speed over strict float32|>=|5
accuracy_off|MNIST: test accuracy, distance from the processor's|<=|0.01
GOALS
}

judge() {
  printf '%-66s %9s %9s  %s\n' "goal" "should be" "is" "verdict"
  goals | awk -F '|' -v figures="$figures" 'BEGIN {
    while ((getline line < figures) > 0) { split(line, part, " "); found[part[1]] = part[2] }
  } {
    is = $1 in found ? found[$1] : "-"
    met = $3 == "<=" ? is + 0 <= $4 + 0 : $3 == ">" ? is + 0 > $4 + 0 : is + 0 >= $4 + 0
    verdict = is == "-" ? "not measured" : $4 == "" ? "no goal" : met ? "met" : "MISSED"
    printf "%-66s %2s %6s %9s  %s\n", $2, $4 == "" ? "" : $3, $4, is, verdict
  }'
}
