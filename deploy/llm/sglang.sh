#!/bin/sh
# One SGLang server for telephone turns. README.md says why each flag is there.
#   MODEL=... TOOL_PARSER=... deploy/llm/sglang.sh [more flags]
set -eu
: "${MODEL:?the model to serve, as --model-path takes it}"
: "${TOOL_PARSER:?the tool-call parser of the model, as --help lists them}"

exec python -m sglang.launch_server --model-path "$MODEL" \
  --served-model-name "${NAME:-voice}" \
  --host "${HOST:-127.0.0.1}" --port "${PORT:-30000}" \
  --chunked-prefill-size "${CHUNK:-2048}" \
  --max-running-requests "${SEQS:-64}" \
  --context-length "${CONTEXT:-16384}" \
  --enable-cache-report \
  --enable-priority-scheduling \
  --max-queued-requests "${QUEUE:-64}" \
  --mem-fraction-static 0.85 \
  --kv-cache-dtype "${KV:-fp8_e4m3}" \
  --stream-interval 1 \
  --tool-call-parser "$TOOL_PARSER" \
  --enable-metrics \
  "$@"
