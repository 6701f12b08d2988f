"""Parlour: a serverless agent runtime for AWS."""

from parlour.pack_functions.agent import AgentReply, AgentRequest, RequestedCall, agent
from parlour.pack_functions.pydantic_ai_agent import from_pydantic_ai
from parlour.pack_functions.strands_agent import from_strands
from parlour.pack_functions.tool import ToolCall, ToolRefusal, tool

__all__ = [
    "AgentReply",
    "AgentRequest",
    "RequestedCall",
    "ToolCall",
    "ToolRefusal",
    "agent",
    "from_pydantic_ai",
    "from_strands",
    "tool",
]
