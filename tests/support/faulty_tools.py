"""Sources of tools that fail in every way: Python files, and a server of tools."""

TOOLS = '''
import asyncio, errno, os, re, sys, time

def raises():
    """Look something up."""
    raise RuntimeError("broken")

def base():
    """Look something up."""
    raise KeyboardInterrupt

def leaves():
    """Look something up."""
    sys.exit(3)

async def hangs():
    """Look something up."""
    await asyncio.Event().wait()

def blocks():
    """Look something up."""
    time.sleep(4)

async def blocks_loop():
    """Look something up."""
    time.sleep(4)

def huge():
    """Look something up."""
    return "x" * 30_000_000

def floods():
    """Look something up."""
    for _ in range(20_000):
        print("and so on", file=sys.stderr)
        print("and so on")
    return ["x"] * 200_000

def garbage():
    """Look something up."""
    return {"\\ud800": object(), 1: {2, 3}, "n": float("nan")}

def disk():
    """Look something up."""
    raise OSError(errno.ENOSPC, "No space left on device")
'''

ENDS = '''
import os, re

def ends():
    """Look something up."""
    os._exit(9)

def keeps():
    """Look something up."""
    re.match("(a+)+$", "a" * 60 + "b")
'''

MCP = """
import asyncio, os, time
from mcp import types
from mcp.server import MCPServer

server = MCPServer("shop")

@server.tool(annotations=types.ToolAnnotations(read_only_hint=True))
async def look() -> str:
    "Look something up."
    match KIND:
        case "raise":
            raise RuntimeError("broken")
        case "base":
            raise KeyboardInterrupt
        case "close":
            os._exit(9)
        case "hang":
            await asyncio.Event().wait()
        case "block":
            time.sleep(4)
        case "huge":
            return "x" * 5_000_000
        case "flood":
            for _ in range(20_000):
                os.write(2, b"and so on\\n")
                os.write(1, b'{"jsonrpc": "2.0", "method": "notifications/nothing"}\\n')
        case "garbage":
            os.write(1, b"\\xff\\xfe{]\\n" * 100)
            os._exit(9)
        case "disorder":
            for number in range(50):
                os.write(1, b'{"jsonrpc": "2.0", "id": %d, "result": {}}\\n' % number)
    return "well"

server.run("stdio")
"""
