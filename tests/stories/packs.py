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
