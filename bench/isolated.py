"""What it costs to run a tool in a process of its own: time to the answer, and memory."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import psutil

from gateway.events import CallInfo
from gateway.tools.context import ToolContext
from gateway.tools.functions import function_tool
from gateway.tools.isolated import Home, IsolatedTool, ToolProcess
from gateway.tools.modules import found, module
from gateway.tools.store import Store
from gateway.tools.toolbox import Tool

TIMES = 300

CODE = "import os\n\ndef who():\n    'Say which process this is.'\n    return os.getpid()\n"


async def _measure() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "shop.py"
        path.write_text(CODE)
        home = Home(str(path), path.parent, {})
        process = ToolProcess(home)
        described = await asyncio.to_thread(home.describe, ["who"])
        spec = described["who"].spec
        assert spec is not None
        apart = IsolatedTool(spec, "who", process)
        here = function_tool(found(str(path), module(str(path)), "who"))
        store = Store(Path(folder) / "store.sqlite")
        context = ToolContext(CallInfo("c", "bench", "a"), datetime.now(UTC))
        began = time.perf_counter()
        pid = (await apart.run({}, context, store))["result"]
        first = time.perf_counter() - began
        memory = psutil.Process(pid).memory_full_info().uss
        print(f"first answer, with the start of the process: {first * 1000:.0f} ms")
        print(f"memory of the process alone: {memory / 1e6:.0f} MB")
        for name, tool in (("in the gateway", here), ("in its own process", apart)):
            print(f"{name}: median {await _median(tool, context, store) * 1000:.2f} ms")
        await process.close()


async def _median(tool: Tool, context: ToolContext, store: Store) -> float:
    taken = []
    for _ in range(TIMES):
        began = time.perf_counter()
        await tool.run({}, context, store)
        taken.append(time.perf_counter() - began)
    return float(np.median(taken))


if __name__ == "__main__":
    asyncio.run(_measure())
