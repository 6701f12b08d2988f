"""A small pack of a tenant of a story's own, and a PDF to upload."""

from collections.abc import Sequence

#: What its one document says.
FERRY_TITLE, FERRY_SENTENCE = "Ferry notes", "The Sanderling ferry leaves pier nine at a quarter past six."
FERRY_QUESTION = "When does the Sanderling ferry leave pier nine?"
BINDING, BINDING_FILE = "desk", "bindings/desk.yaml"


def pack(slug: str) -> dict[str, str]:
    """Return the files of a pack with one agent on the web and one document."""
    return {
        "tenant.yaml": f"slug: {slug}\ndisplay_name: Tenant {slug}\n",
        "humans/ida.yaml": "display_name: Ida\nidentity: You are Ida of the ferry office.\n",
        "teams/office.yaml": "display_name: Office\nrole: You answer questions about the ferry.\n",
        "agents/clerk.yaml": (
            "display_name: Clerk\n"
            "model_routing: {strategy: rule, default: {provider: offline, model: extractive}}\n"
            "tools: [search_knowledge]\n"
        ),
        BINDING_FILE: (
            "display_name: Ferry desk\nhuman: ida\nteam: office\nagent: clerk\ngreeting: Hello.\n"
            f"channels: {{web: {{host: {slug}.example.org}}}}\n"
        ),
        "documents/ferry.md": f"---\ntitle: {FERRY_TITLE}\nclassification: public\n---\n\n{FERRY_SENTENCE}\n",
    }


#: A loop of the pack's own that calls a light and a heavy function of the pack, and what the pack's role may not do.
CODE_FILE, RANG, COUNTED, REFUSED = "functions/lighthouse.py", "rang 3 times", "seven boats", "AccessDenied"
CODE = '''
import boto3
import parlour
from botocore.exceptions import ClientError


@parlour.tool(writes=True)
def ring_bell(times: int, call: parlour.ToolCall) -> str:
    """Ring the bell."""
    return f"rang {times} times for {call.tenant}"


@parlour.tool(heavy=True)
def count_boats() -> str:
    """Count the boats, which takes long."""
    return "seven boats"


@parlour.tool
def read_secrets() -> str:
    """Try what only Parlour's own functions may do."""
    try:
        boto3.client("secretsmanager").list_secrets()
    except ClientError as error:
        return error.response["Error"]["Code"]
    return "read"


@parlour.agent
def keeper(request):
    last = request.messages[-1]["content"]
    results = [str(block["content"]) for block in last if block["type"] == "tool_result"]
    texts = [block["text"] for block in last if block["type"] == "text"]
    if results or any("seven boats" in text for text in texts):
        return parlour.AgentReply("; ".join(results) or "I counted seven boats.")
    calls = [("ring_bell", {"times": 3}), ("count_boats", {}), ("read_secrets", {})]
    return parlour.AgentReply(calls=[parlour.RequestedCall(*call) for call in calls])
'''


def code_pack(slug: str) -> dict[str, str]:
    """Return the files of a pack whose code answers and has tools."""
    agent = (
        "display_name: Keeper\nmodel_routing:\n  default: {provider: function, model: lighthouse.keeper}\n"
        "  cheap: {provider: offline, model: extractive}\n"
        "tools: [ring_bell, count_boats, read_secrets]\n"
    )
    files = pack(slug)
    return {
        **files,
        "agents/clerk.yaml": agent,
        BINDING_FILE: files[BINDING_FILE] + "writes: all\n",
        CODE_FILE: CODE,
    }


def pdf(*pages: Sequence[str]) -> bytes:
    """Return a PDF with these lines on its pages."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    places = []
    for lines in pages:
        drawn = " ".join(f"({line}) Tj 0 -16 Td" for line in lines)
        stream = f"BT /F1 11 Tf 72 760 Td {drawn} ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        resources = "/Resources << /Font << /F1 3 0 R >> >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] {resources} /Contents {len(objects)} 0 R >>"
        )
        places.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(places)}] /Count {len(places)} >>"
    written, offsets = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, start=1):
        offsets.append(len(written))
        written += f"{number} 0 obj\n{text}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer << /Size {len(objects) + 1} /Root 1 0 R >>"
    return written + f"{end}\nstartxref\n{len(written)}\n%%EOF\n".encode()
