"""Drives the tools with the official Python SDK, which checks every answer against the schema of its tool.

official.py stdio PROGRAM FOLDER      starts the program
official.py http ADDRESS TOKEN        asks a server
"""

import asyncio
import sys

import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client


def way(kind: str, where: str, what: str):
    if kind == "stdio":
        return stdio_client(StdioServerParameters(command=where, args=["mcp"], cwd=what))
    headers = {"Authorization": f"Bearer {what}"}
    return streamable_http_client(where, http_client=httpx2.AsyncClient(headers=headers, trust_env=False))


async def main(kind: str, where: str, what: str) -> None:
    steps = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message)

    async with Client(way(kind, where, what)) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        reviewed = await client.call_tool("review_change", {}, progress_callback=told)
        found = await client.call_tool("list_findings", {"at_least": "High"})
        wrong = await client.call_tool("get_review", {"review": "first"})
        print(len(tools), "tools")
        print("gate", reviewed.structured_content["gate"], "progress", len(steps) > 0)
        print("findings", found.structured_content["total"])
        print("refused", wrong.is_error)


asyncio.run(main(*sys.argv[1:]))
