"""New packs: every template is a valid pack, with the values in it and nothing of the example business left."""

from dataclasses import replace

import pytest

from parlour.infra.errors import InvalidRequest
from parlour.packs import pack_templates
from parlour.packs.budget_check import find_budget_problems
from parlour.packs.built_in_tools import add_built_in_tools
from parlour.packs.pack_templates import TEMPLATES, NewPack
from parlour.packs.validate import validate

AWKWARD_NAME = 'Tom\'s "Fish": #1 & \\ {Chips} - 我们'
WANTED = NewPack("reception", "bright-smile", AWKWARD_NAME, "chat.bright.example", "442079460150")


def pack_files(wanted: NewPack) -> dict[str, str]:
    return {path: text for path, text in pack_templates.render_pack(wanted).items() if not path.startswith(".")}


@pytest.mark.parametrize("template", TEMPLATES)
def test_new_pack_is_valid_with_the_values_given(template: str) -> None:
    files = pack_files(replace(WANTED, template=template))
    pack = validate(files)
    (binding,) = pack.bindings.values()
    web, whatsapp = binding.channels.web, binding.channels.whatsapp
    assert web
    assert whatsapp
    assert (pack.tenant.slug, pack.tenant.display_name) == ("bright-smile", AWKWARD_NAME)
    assert (web.host, whatsapp.app, whatsapp.source) == ("chat.bright.example", "bright-smile", "442079460150")
    assert AWKWARD_NAME in binding.greeting
    assert web.samples
    assert pack.documents
    assert not [path for path, text in files.items() if "my-business" in text.lower() or "my business" in text.lower()]


@pytest.mark.parametrize("template", TEMPLATES)
def test_new_pack_without_whatsapp_keeps_it_as_a_comment(template: str) -> None:
    files = pack_files(replace(WANTED, template=template, whatsapp=""))
    pack = validate(files)
    (binding,) = pack.bindings.values()
    assert (binding.channels.whatsapp, dict(pack.tenant.secrets)) == (None, {})
    (text,) = (text for path, text in files.items() if path.startswith("bindings/"))
    assert "  #   provider: gupshup\n" in text
    uncommented = {
        path: text.replace("# secrets:", "secrets:").replace("#   gup", "  gup") for path, text in files.items()
    }
    uncommented = {
        path: text.replace("  # whatsapp:", "  whatsapp:").replace("  #   ", "    ")
        for path, text in uncommented.items()
    }
    assert validate(uncommented).tenant.secrets


@pytest.mark.parametrize("slug", ["123", "true", "null", "1e5", "a", "x" * 63])
def test_name_that_yaml_reads_otherwise_is_a_name(slug: str) -> None:
    assert validate(pack_files(replace(WANTED, slug=slug))).tenant.slug == slug


def test_new_pack_fits_its_prompt_budget() -> None:
    pack = add_built_in_tools(validate(pack_files(WANTED)))
    assert list(find_budget_problems(pack, lambda text: len(text) // 3)) == []


@pytest.mark.parametrize("path", ["tenant.yaml", "agents/receptionist.yaml", "bindings/front-desk.yaml"])
def test_yaml_file_begins_with_its_schema(path: str) -> None:
    files = pack_templates.render_pack(WANTED)
    first = files[path].splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert first.rpartition("=")[2].removeprefix("../") in files


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"slug": "Bright Smile"}, "the name must be lower-case"),
        ({"slug": "../out"}, "the name must be lower-case"),
        ({"host": "https://x.example"}, "the host must be a host name"),
        ({"whatsapp": "020"}, "the WhatsApp number must be country code"),
        ({"name": "two\nlines"}, "the display name must be one line"),
        ({"name": ""}, "the display name must be one line"),
        ({"name": "bell\x07"}, "the display name must be one line"),
        ({"template": "dentist"}, "there is no template 'dentist'; choose one of reception, shop, support, blank"),
        ({"slug": "abcdefghijklmnopqrstu12345"}, "these values make no valid pack: tenant.yaml: secrets"),
    ],
)
def test_value_that_cannot_be_in_a_pack_is_refused(changed: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^" + problem):
        pack_templates.render_pack(replace(WANTED, **changed))
