#!/bin/sh
# Unpacks Debian's source packages, patches applied: debian_sources.sh FOLDER PACKAGE...
#
# The sources come from where apt has its binary packages from. Nothing of apt's own state changes, and no rights are
# needed. Each package becomes FOLDER/PACKAGE.
set -eu
folder=$1
shift
state=$folder/apt
rm -rf "$state"
mkdir -p "$state/parts" "$state/lists/partial" "$state/archives/partial" "$state/download"
for list in /etc/apt/sources.list.d/*.sources; do
  if grep -qs 'debian-archive-keyring' "$list"; then
    sed 's/^Types:.*/Types: deb-src/' "$list" > "$state/parts/$(basename "$list")"
  fi
done
sed -n 's/^deb \(.*\)/deb-src \1/p' /etc/apt/sources.list > "$state/parts/main.list" 2> /dev/null || true
get() {
  apt-get -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$state/parts" \
    -o Dir::State::Lists="$state/lists" -o Dir::Cache::archives="$state/archives" -o Dir::Cache::pkgcache= \
    -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root "$@"
}
get update
cd "$state/download"
for package in "$@"; do
  # The version that is installed; another one where it is not there any more.
  version=$(dpkg-query -W -f '${source:Package} ${source:Version}\n' | sed -n "s/^$package //p" | head -n 1)
  get source --download-only "$package${version:+=$version}" || get source --download-only "$package"
  rm -rf "${folder:?}/$package"
  dpkg-source -x "$state/download/$package"_*.dsc "$folder/$package"
done
rm -rf "$state"
