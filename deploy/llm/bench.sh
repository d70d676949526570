#!/bin/sh
# Goodput at the shape of telephone turns, with vLLM's own benchmark (it works on any such server).
#   MODEL=... URL=http://127.0.0.1:8000 deploy/llm/bench.sh
# Targets are in milliseconds; raise RATES until goodput stays behind the rate.
set -eu
: "${MODEL:?the model, for its tokeniser}"

for rate in ${RATES:-1 2 4 8 16 32}; do
  echo "== $rate requests a second"
  vllm bench serve \
    --backend openai-chat --endpoint /v1/chat/completions \
    --base-url "${URL:-http://127.0.0.1:8000}" \
    --model "$MODEL" --served-model-name "${NAME:-voice}" \
    --dataset-name random \
    --random-prefix-len 1500 --random-input-len 400 --random-output-len 40 \
    --num-prompts "$((rate * 60))" --request-rate "$rate" \
    --percentile-metrics ttft,tpot,itl --metric-percentiles 50,95,99 \
    --goodput "ttft:${TTFT:-300}" "tpot:${TPOT:-30}"
done
