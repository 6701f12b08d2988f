"""A scripted model that keeps a risk log. Every number, handle, page and title that it names it has read in the results
of its own tool calls; what it is told is in aimock's words (tests/integration/models/aimock.py). Pure."""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

LOG_IT = "Add those to the risk log."
ACROSS = "Which risks are there across all contracts?"

_OURS = re.compile(r"<parlour:(?:recalled|memory|changes|state|tail|reminder)>.*", re.DOTALL)
"""What follows a user's own words, and what is said again after tools have answered."""

_PAGE = re.compile(r"page (\d+)")
_SOURCE = re.compile(r"sources: page: (\d+); title: ([^;\n]+)")
_MATTERS = ("liable", "indemnify")


@dataclass(frozen=True)
class _Talk:
    """A request: what was asked, what was asked before that, and what tools have told since, by the tool's name."""

    request: dict[str, Any]

    @cached_property
    def asked(self) -> list[str]:
        """What the user wrote, oldest first."""
        return [text for one in self.request["messages"] if (text := _written(one))]

    @cached_property
    def told(self) -> dict[str, list[dict[str, Any]]]:
        """The results since the last question."""
        found: dict[str, list[dict[str, Any]]] = {}
        names: dict[str, str] = {}
        for message in self.request["messages"][self._opening :]:
            names |= {call["id"]: call["function"]["name"] for call in message.get("tool_calls", [])}
            if message["role"] == "tool":
                found.setdefault(names[message["tool_call_id"]], []).append(json.loads(message["content"]))
        return found

    @property
    def tools(self) -> set[str]:
        return {one["function"]["name"] for one in self.request["tools"]}

    @property
    def documents(self) -> list[dict[str, Any]]:
        return [one for result in self.told.get("search_knowledge", []) for one in result["documents"]]

    @property
    def _opening(self) -> int:
        return max(place for place, one in enumerate(self.request["messages"]) if _written(one))


def _written(message: dict[str, Any]) -> str:
    """The user's own words in a message; nothing where it is somebody else's."""
    return _OURS.sub("", message["content"] or "").strip() if message["role"] == "user" else ""


def clerk(request: dict[str, Any]) -> dict[str, Any]:
    """What it answers: a tool call, or words."""
    talk = _Talk(request)
    if "tools" not in request:
        return _says(f"A file: {' '.join(talk.asked[-1].split())[:120]}")
    if talk.asked[-1] == ACROSS:
        return _across(talk)
    if talk.asked[-1] == LOG_IT:
        return _log(talk, talk.asked[-2])
    return _quote(talk, talk.asked[-1])


def _quote(talk: _Talk, question: str) -> dict[str, Any]:
    """The clauses that answer, each with its number."""
    if not talk.documents:
        return _calls(_search(question))
    return _says("\n".join(f"- {one['contents']} [{one['n']}]" for one in _clauses(talk, question)))


def _log(talk: _Talk, question: str) -> dict[str, Any]:
    """A risk for each of the clauses that were quoted before."""
    if not talk.documents:
        return _calls(_search(question))
    clauses = _clauses(talk, question)
    if "create_entity" not in talk.told:
        first, *more = [_risk(one) for one in clauses]
        return _calls(("create_entity", {"kind": "risk", **first, "more": more}))
    (made,) = talk.told["create_entity"]
    noted = zip(made["entities_created"], clauses, strict=True)
    return _says("\n".join(f"- Noted as {risk['handle']}: {risk['name']} [{of['n']}]" for risk, of in noted))


def _across(talk: _Talk) -> dict[str, Any]:
    """The risks that say what they were read in, each with its page, and its contract where one may ask for it."""
    if not talk.documents:
        return _calls(("search_knowledge", {"query": ACROSS, "scope": "type", "of": "risk", "limit": 10}))
    sourced = [one for one in talk.documents if _SOURCE.search(one["contents"])]
    if "get_linked_entities" in talk.tools and "get_linked_entities" not in talk.told:
        return _calls(*(("get_linked_entities", {"entity": one["handle"], "kind": "contract"}) for one in sourced))
    contracts = {one["handle"]: one["linked"][0]["handle"] for one in talk.told.get("get_linked_entities", [])}
    return _says("\n".join(_line(one, contracts.get(one["handle"], "")) for one in sourced))


def _line(risk: dict[str, Any], contract: str) -> str:
    ((page, title),) = _SOURCE.findall(risk["contents"])
    where = f"{title}, page {page}" + (f", of {contract}" if contract else "")
    return f"- {risk['handle']}, {risk['title']}: {where} [{risk['n']}]"


def _risk(clause: dict[str, Any]) -> dict[str, Any]:
    """What create_entity is given for one clause."""
    (page,) = _PAGE.findall(clause["metadata"])
    properties = {
        "severity": "high",
        "state": "open",
        "owner": "Daniel Achterberg",
        "response": f"Have {clause['title']}, page {page}, read by counsel.",
    }
    links = [{"relation": "about", "to": clause["about"]}]
    return {"name": _heading(clause), "properties": properties, "sources": [clause["n"]], "links": links}


def _heading(clause: dict[str, Any]) -> str:
    return str(clause["metadata"]).split(" · ")[1]


def _clauses(talk: _Talk, question: str) -> list[dict[str, Any]]:
    """What was found of the contract that the question names, and matters, in the order of its pages."""
    paged = [one for one in talk.documents if _PAGE.search(one["metadata"])]
    of_it = [one for one in paged if one["title"].removesuffix(".pdf") in question]
    fitting = [one for one in of_it if any(word in one["contents"] for word in _MATTERS)]
    return sorted(fitting, key=lambda one: int(_PAGE.findall(one["metadata"])[0]))


def _search(question: str) -> tuple[str, dict[str, Any]]:
    return "search_knowledge", {"query": question}


def _calls(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"toolCalls": [{"name": name, "arguments": arguments} for name, arguments in calls]}


def _says(text: str) -> dict[str, Any]:
    return {"content": text}
