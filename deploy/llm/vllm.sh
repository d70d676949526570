#!/bin/sh
# One vLLM server for telephone turns. README.md says why each flag is there.
#   MODEL=... TOOL_PARSER=... deploy/llm/vllm.sh [more flags]
set -eu
: "${MODEL:?the model to serve, as vllm serve takes it}"
: "${TOOL_PARSER:?the tool-call parser of the model, as vllm serve --help lists them}"

exec vllm serve "$MODEL" \
  --served-model-name "${NAME:-voice}" \
  --host "${HOST:-127.0.0.1}" --port "${PORT:-8000}" \
  --max-num-batched-tokens "${CHUNK:-2048}" \
  --long-prefill-token-threshold 1024 \
  --max-num-seqs "${SEQS:-64}" \
  --max-model-len "${CONTEXT:-16384}" \
  --enable-prefix-caching \
  --enable-prompt-tokens-details \
  --scheduling-policy priority \
  --max-num-queued-reqs "${QUEUE:-64}" \
  --gpu-memory-utilization 0.9 \
  --kv-cache-dtype "${KV:-fp8}" \
  --stream-interval 1 \
  --enable-auto-tool-choice --tool-call-parser "$TOOL_PARSER" \
  --enable-request-id-headers \
  "$@"
