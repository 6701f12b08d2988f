"""`parlour new` and `parlour schema`: a pack to begin with, and its schemas for editors. Neither needs a stack."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from parlour.cli import terminal
from parlour.cli.api_client import ApiClient
from parlour.infra.errors import InvalidRequest
from parlour.packs import folder as pack_folder
from parlour.packs import json_schema, pack_templates
from parlour.packs.pack_templates import EXAMPLE_NUMBER, TEMPLATES, NewPack

_NO_WHATSAPP = "none"
_DEFAULT_TEMPLATE = "reception"

_NEXT_STEPS = """
Talk to it. In the checkout of Parlour:
  make run PACK={folder}
Then open the console that it prints, or:
  .venv/bin/parlour chat {binding}

Change its files, and apply them to the running stack:
  .venv/bin/parlour --tenant {slug} apply {folder}
"""


def new(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The tenant's slug: lower-case letters, digits, dashes.")],
    template: Annotated[str | None, typer.Option(help=f"One of {', '.join(TEMPLATES)}.")] = None,
    display_name: Annotated[str | None, typer.Option(help="The business's name; by default made from NAME.")] = None,
    folder: Annotated[Path | None, typer.Option(help="The new folder; by default NAME, here.")] = None,
    host: Annotated[str | None, typer.Option(help="Host of the web chat; by default NAME.localhost.")] = None,
    whatsapp: Annotated[
        str | None,
        typer.Option(help=f"WhatsApp number with country code, or {_NO_WHATSAPP}; by default an example number."),
    ] = None,
) -> None:
    """Write a small pack to begin with. In a terminal it asks for what the options do not say."""
    target: ApiClient = context.obj
    place = target.dependencies.folder / (folder or name)
    pack_templates.check_slug(name)
    pack_folder.check_target(place)
    files = pack_templates.render_pack(_ask_missing(name, template, display_name, host, whatsapp))
    pack_folder.write_folder(place, files)
    binding = next(path for path in files if path.startswith("bindings/"))
    written = sum(not path.startswith(json_schema.SCHEMA_FOLDER) for path in files)
    terminal.print_line(f"{written} files in {place}, and the schemas for your editor in {json_schema.SCHEMA_FOLDER}/")
    terminal.print_line(
        _NEXT_STEPS.format(folder=shlex.quote(str(place)), binding=Path(binding).stem, slug=name).rstrip()
    )


def schema(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="The pack's folder.")] = Path(),
) -> None:
    """Write the JSON Schemas of a pack's files into its folder .schema, for completion in editors."""
    target: ApiClient = context.obj
    place = target.dependencies.folder / folder
    if not place.is_dir():
        raise InvalidRequest(f"{place} is not a folder; give the folder of a pack")
    files = json_schema.schema_files()
    pack_folder.write_folder(place, files)
    terminal.print_line(f"{len(files)} schemas in {place / json_schema.SCHEMA_FOLDER}")
    terminal.print_line("Your editor finds a file's schema by its first line, for example in agents/NAME.yaml:")
    terminal.print_line(json_schema.schema_comment("agents/NAME.yaml").rstrip())


def _ask_missing(
    slug: str, template: str | None, display_name: str | None, host: str | None, whatsapp: str | None
) -> NewPack:
    if template is None and terminal.is_interactive():
        for name, use in TEMPLATES.items():
            Console().print(f"  [bold]{name:10}[/] {escape(use)}")
    wanted = NewPack(
        template=_value_or_ask(template, "Template", _DEFAULT_TEMPLATE),
        slug=slug,
        name=_value_or_ask(display_name, "Name of the business", pack_templates.default_name(slug)),
        host=_value_or_ask(host, "Host of the web chat", pack_templates.default_host(slug)),
        whatsapp=_value_or_ask(whatsapp, f"WhatsApp number with country code, or {_NO_WHATSAPP}", EXAMPLE_NUMBER),
    )
    digits = wanted.whatsapp.removeprefix("+").replace(" ", "")
    return replace(wanted, whatsapp="" if digits == _NO_WHATSAPP else digits)


def _value_or_ask(given: str | None, question: str, default: str) -> str:
    """Return what an option said; else what a person at the terminal answers; else the default."""
    if given is not None:
        return given
    return str(typer.prompt(question, default=default)) if terminal.is_interactive() else default
