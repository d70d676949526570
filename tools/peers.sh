#!/usr/bin/env bash
# Makes the environments of Pipecat and LiveKit Agents, beside which `make bench-peers` measures us:
# 650 MB, under .peers, which git ignores. Nothing of Parley imports them.
set -euo pipefail
cd "$(dirname "$0")/.."
for name in pipecat livekit; do
  folder=.peers/$name
  wanted=bench/peers/$name.txt
  [ "$folder/.made" -nt "$wanted" ] && continue
  echo "setup: making $folder" >&2
  tools/venv.sh "$folder"
  "$folder/bin/pip" --disable-pip-version-check install --quiet --requirement "$wanted"
  touch "$folder/.made"
done
