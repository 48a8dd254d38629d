"""The tools spoken to over standard input and output, by the Model Context Protocol and its official package."""

from __future__ import annotations

import logging
from typing import Any

from holdfast import __version__
from holdfast.core.extras import named_extras
from holdfast.core.strict_json import to_json
from holdfast.server.agents.tools import INSTRUCTIONS, Reply, Tool, Tools

_UNFORESEEN = "An unforeseen error, which is a defect in Holdfast; nothing was released. Tell the people who run this."
_log = logging.getLogger(__name__)


def build(tools: Tools) -> Any:
    """Return the protocol's server over the tools."""
    types, server = _package()

    async def on_list(_: Any, __: Any) -> Any:
        return types.ListToolsResult(tools=[_tool(types, tool) for tool in tools.list()])

    async def on_call(_: Any, call: Any) -> Any:
        import anyio.to_thread

        try:
            reply = await anyio.to_thread.run_sync(tools.call, call.name, call.arguments)
        except Exception as error:  # its text may hold anything, rows included: only its kind is kept
            _log.error("an unforeseen %s", type(error).__name__)
            reply = Reply(_UNFORESEEN, {"refused": True, "code": "internal-error", "reason": _UNFORESEEN}, refused=True)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=reply.words)],
            structured_content=_strict(reply.data),
            is_error=reply.refused,
        )

    return server(
        "holdfast",
        version=__version__,
        title="Holdfast",
        instructions=INSTRUCTIONS,
        on_list_tools=on_list,
        on_call_tool=on_call,
    )


def serve(tools: Tools) -> None:
    """Serve until standard input ends."""
    import anyio

    server = build(tools)

    async def run() -> None:
        from mcp.server.stdio import stdio_server

        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)


def _tool(types: Any, tool: Tool) -> Any:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=dict(tool.schema),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.free, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )


def _strict(data: Any) -> Any:
    """Plain data in which every number is finite: an infinite one becomes the text "inf", because JSON has none."""
    import json
    import math

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(part) for name, part in value.items()}
        if isinstance(value, list):
            return [plain(part) for part in value]
        return str(value) if isinstance(value, float) and math.isinf(value) else value

    return plain(json.loads(to_json(data)))


def _package() -> tuple[Any, Any]:
    with named_extras():
        from mcp import types
        from mcp.server.lowlevel import Server
    return types, Server
