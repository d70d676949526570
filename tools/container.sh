#!/usr/bin/env bash
# Builds the container without a daemon and tries it: nobody, a read-only root, a whole call, health,
# and a drain on stop. As root on Debian, with buildah, podman, runc and mmdebstrap.
# BASE_TAR: an image of Debian 12 that is there already, as mmdebstrap writes it.
set -euo pipefail
cd "$(dirname "$0")/.."
work=${WORK:-build/container}
mkdir -p "$work"
work=$(cd "$work" && pwd)
store=(--root "$work/store" --runroot "$work/run" --storage-driver vfs)
podman=(podman "${store[@]}" --cgroup-manager cgroupfs --runtime runc)
port=${PORT:-18080}
name=parley-tried

say() { echo "container: $*" >&2; }
for program in buildah podman runc; do
  command -v "$program" >/dev/null || { say "$program is missing: apt-get install $program"; exit 1; }
done

base=docker.io/library/debian:bookworm-slim
if ! buildah "${store[@]}" images "$base" >/dev/null 2>&1; then
  tar=${BASE_TAR:-$work/base.tar}
  [ -e "$tar" ] || mmdebstrap --quiet --variant=minbase --include=ca-certificates,python3 bookworm "$tar"
  from=$(buildah "${store[@]}" from scratch)
  buildah "${store[@]}" add --quiet "$from" "$tar" / >/dev/null
  buildah "${store[@]}" commit --quiet "$from" "$base" >/dev/null
  buildah "${store[@]}" rm "$from" >/dev/null
fi

say "building"
build=(bud --quiet --format docker --pull-never --isolation chroot -v /etc/ssl/certs:/ca:ro)
buildah "${store[@]}" "${build[@]}" --ignorefile .containerignore \
  --build-arg PIP_CERT=/ca/ca-certificates.crt --build-arg SSL_CERT_FILE=/ca/ca-certificates.crt \
  -t parley:tried -f deploy/container/Containerfile . >"$work/build.log" 2>&1 \
  || { tail -20 "$work/build.log" >&2; exit 1; }

"${podman[@]}" rm -f "$name" >/dev/null 2>&1 || true
trap '"${podman[@]}" rm -f "$name" >/dev/null 2>&1 || true' EXIT
export PARLEY_OWNER_TOKEN=${PARLEY_OWNER_TOKEN:-$(head -c 24 /dev/urandom | base64 | tr -d /+=)x}
say "running as nobody, on a read-only root, without a capability"
"${podman[@]}" run -d --name "$name" --network host --read-only --cap-drop all \
  --security-opt no-new-privileges --tmpfs /tmp --ulimit nofile=4096:4096 --ulimit nproc=1000:1000 \
  --volume "$name-data:/data" -e PARLEY_OWNER_TOKEN parley:tried serve \
  -c /etc/parley/parley.toml --port "$port" --processes "${PROCESSES:-2}" >/dev/null

ready() { curl -fsS "http://127.0.0.1:$port/readyz" >/dev/null 2>&1; }
for _ in $(seq 300); do ready && break; sleep 0.2; done
ready || { "${podman[@]}" logs "$name" | tail -20 >&2; say "it never became ready"; exit 1; }

users=$("${podman[@]}" exec "$name" sh -c 'cat /proc/[0-9]*/status 2>/dev/null' \
  | awk '/^Uid:/ { print $2, $3 }' | sort -u)
[ "$users" = "65534 65534" ] || { say "not everybody is nobody: $users"; exit 1; }
"${podman[@]}" exec "$name" sh -c 'touch /opt/parley/x 2>/dev/null' && { say "the root can be written"; exit 1; }

say "holding a call, and asking it to stop meanwhile"
.venv/bin/python -m gateway call "twilio:ws://127.0.0.1:$port/twilio/stream" \
  --say tests/data/speech/demo/tel_ar40_caller_light.flac --json >"$work/call.json" &
call=$!
for _ in $(seq 100); do
  [ "$(curl -fsS -H "Authorization: Bearer $PARLEY_OWNER_TOKEN" "http://127.0.0.1:$port/healthz" \
    | .venv/bin/python -c 'import json,sys; print(json.load(sys.stdin).get("calls", 0))')" = 1 ] && break
  sleep 0.1
done
began=$(date +%s.%N)
"${podman[@]}" stop -t 120 "$name" >/dev/null
ended=$(date +%s.%N)
wait "$call" || { say "the call did not go well:"; cat "$work/call.json" >&2; exit 1; }
status=$("${podman[@]}" inspect --format '{{.State.ExitCode}}' "$name")
[ "$status" = 0 ] || { say "it ended with $status"; exit 1; }
size=$("${podman[@]}" image inspect --format '{{.Size}}' parley:tried)
.venv/bin/python - "$work/call.json" "$began" "$ended" "$size" <<'P'
import json, sys
call = json.loads(open(sys.argv[1]).read().splitlines()[-1])
print(f"image {int(sys.argv[4]) / 1e6:.0f} MB; drained in {float(sys.argv[3]) - float(sys.argv[2]):.1f} s while a call went on; the call:")
print(json.dumps(call)[:400])
P
