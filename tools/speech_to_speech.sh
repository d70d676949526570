#!/usr/bin/env bash
# Makes the environment of Hugging Face's `speech-to-speech`, which a test holds calls with.
# It is 1.5 GB large with a PyTorch for processors, so that it is made only when it is asked for.
# Where pip would take a PyTorch for GPUs (PyPI's on Linux), name PyTorch's own index:
#   PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu make speech-to-speech
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-.peers/speech-to-speech}
wanted=tests/peers/speech_to_speech.txt
stamp=$folder/.made

say() { echo "setup: $*" >&2; }

if [ "$stamp" -nt "$wanted" ] && [ "$stamp" -nt "$0" ]; then
  exit 0
fi
say "making $folder: a server of 1.5 GB, which takes some minutes"
tools/venv.sh "$folder"
# Without dependencies: it would bring its own speech models' (6 GB), none of which is run here.
"$folder/bin/pip" --disable-pip-version-check install --quiet --no-deps --requirement "$wanted"

# What the server would fetch when it starts: its voice activity detector, without the package's
# readers of sound files, which need torchaudio; and NLTK's data for cutting sentences, which is
# left empty: nothing is known of abbreviations then.
hub=$folder/share/torch/hub/snakers4_silero-vad_master
punkt=$folder/share/nltk/tokenizers/punkt_tab/english
mkdir -p "$hub" "$punkt" "$folder/share/nltk/taggers/averaged_perceptron_tagger_eng"
touch "$punkt"/{collocations.tab,sent_starters.txt,abbrev_types.txt,ortho_context.tab}
cat >"$hub/hubconf.py" <<'PYTHON'
from importlib.util import find_spec
from pathlib import Path

import torch


def silero_vad(**_):
    torch.set_num_threads(1)
    package = Path(find_spec("silero_vad").origin).parent
    return torch.jit.load(str(package / "data/silero_vad.jit"), map_location="cpu").eval(), None
PYTHON
"$folder/bin/python" -c 'import torch, transformers' || {
  say "PyTorch does not start; see the head of tools/speech_to_speech.sh"
  exit 1
}
touch "$stamp"
du -sm "$folder" | awk '{ print "setup: " $1 " MB" }' >&2
