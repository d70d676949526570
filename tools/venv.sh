#!/usr/bin/env bash
# Makes the virtual environment, or says exactly what is missing for it.
# On Debian the module `venv` is importable but useless until python3-venv brings `ensurepip`.
set -euo pipefail
venv=$1

say() { echo "setup: $*" >&2; }

good() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
  local name
  for name in "${PYTHON:-}" python3.11 python3 python3.12 python3.13; do
    if [ -n "$name" ] && command -v "$name" >/dev/null && good "$name"; then
      command -v "$name"
      return
    fi
  done
  say "Python 3.11 or newer is needed and was not found (Debian 12: apt-get install python3)."
  say "If it has another name here: make PYTHON=/path/to/python ..."
  return 1
}

if [ -x "$venv/bin/pip" ] && good "$venv/bin/python"; then
  exit 0
fi
python=$(find_python)
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    say "installing python${version}-venv, which Debian keeps apart from Python"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null
    apt-get install -y -qq --no-install-recommends "python${version}-venv" >/dev/null
  else
    say "$python lacks the module ensurepip. As root: apt-get install python3-venv"
    exit 1
  fi
fi
say "making $venv with $("$python" --version)"
"$python" -m venv --clear "$venv"
