#!/usr/bin/env bash
# Installs the Debian packages of one group of deploy/apt-packages.txt.
# Ends with 0 when all are there; without root, or where there is no Debian, it names the missing
# ones and ends with 1: the tests that need them skip themselves by name.
set -euo pipefail
cd "$(dirname "$0")/.."
group=$1

say() { echo "setup: $*" >&2; }

installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

mapfile -t wanted < <(awk -v group="$group" '!/^#/ && $2 == group { print $1 }' deploy/apt-packages.txt)
missing=()
for package in "${wanted[@]}"; do
  installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  say "tests that need these Debian packages will be skipped: ${missing[*]}"
  say "as root: apt-get install --no-install-recommends ${missing[*]}"
  exit 1
fi

# A SIP proxy or a TURN server that starts by itself would sit on the ports that tests use.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi

say "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
install() {
  apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null
}
install 2>/dev/null || { apt-get update -qq >/dev/null && install; } || {
  say "apt-get could not install all of: ${missing[*]}; the tests that need them will be skipped"
  exit 1
}
