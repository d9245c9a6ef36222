#!/usr/bin/env bash
# Packs the bundle for machines with a GPU, unpacks it elsewhere and starts it without a GPU. It has to have everything
# that the check runs, libraries included, and to end in one line, exit code 8: gpu_bundle_test.sh ROOT BUILD
set -uo pipefail
root="$1" build="$2"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "FAILED: $*"
  exit 1
}

(cd "$root" && tools/dev gpu-pack "$build" "$scratch/packed/gpu-bundle") || fail "it is not packed"
mkdir "$scratch/elsewhere"
tar -C "$scratch/packed" -c gpu-bundle | tar -C "$scratch/elsewhere" -x || fail "it is not unpacked"
rm -rf "$scratch/packed"
bundle="$scratch/elsewhere/gpu-bundle"

# Libraries that every machine has, whatever is installed.
of_system='^(ld-linux-x86-64|libc|libdl|libm|libpthread|libresolv|librt|libutil)[-.]'
for file in "$bundle"/bin/* "$bundle"/lib/libamp_*.so; do
  for library in $(env -i ldd "$file" | awk '$2 == "=>" { print $1 }' | grep -vE "$of_system"); do
    [[ -e $bundle/lib/$library ]] || fail "$(basename "$file") needs $library, which does not lie in it"
  done
done
outside="$(env -i ldd "$bundle"/bin/* | awk '$2 == "=>" { print $1, $3 }' | grep -vE "$of_system" |
  grep -vF "$bundle/bin/../lib/")"
[[ -z $outside ]] || fail "libraries that are looked for elsewhere: $outside"
# Programs that the scripts start have to lie in it, but for those of the machine.
grep -hv '^#' "$bundle"/tests/runtime/device/gpu_{check,times}.sh |
  grep -oE '(^|[ "(])(run|limited [0-9]+) [a-z][a-z0-9_-]+' |
  awk '{ print $NF }' | sort -u | grep -vxE 'python3|compute-sanitizer' | while read -r program; do
  [[ -x $bundle/bin/$program ]] || fail "no $program in it"
done || exit 1

found="$(env -i PATH=/usr/bin:/bin HOME="$scratch" "$bundle/tools/dev" gpu-check all 2>&1)"
code=$?
echo "$found"
((code == 0 || code == 1)) && echo "SKIPPED: there is a GPU" && exit 77
((code == 8)) || fail "expected exit code 8, found $code"
[[ $(tail -n 1 <<< "$found") == "amp-run: error: --device cuda:0: "* ]] || fail "expected the reason in the last line"
