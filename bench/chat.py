"""Talks with an agent's scripted model in the terminal: `python -m bench.chat [AGENT]`.

Everything but the sound is as in a call; what the tools write goes into a folder that is thrown
away. `/3 words` says them after having heard three words of what was said.
"""

from __future__ import annotations

import re
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from gateway.agents.library import AgentLibrary, shipped
from gateway.scenarios.text_call import TextCall


def main() -> int:
    """Hold a conversation until one side ends it."""
    agent = AgentLibrary(shipped()).get(sys.argv[1] if len(sys.argv) > 1 else "workshop")
    with tempfile.TemporaryDirectory() as folder:
        call = TextCall(agent, Path(folder), began=datetime.now(UTC))
        print(f"agent   {agent.file.lines.greeting}")
        while not call.ended:
            try:
                line = input("caller  ")
            except EOFError:
                print()
                return 0
            cut = re.match(r"/(\d+) *(.*)", line)
            shown = len(call.used)
            said = call.says(cut[2], int(cut[1])) if cut else call.says(line)
            for used in call.used[shown:]:
                print(f"tool    {used.name} {dict(used.arguments)}: {used.outcome}")
            print(f"agent   {said}" + (f"  [{call.expects}]" if call.expects else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
