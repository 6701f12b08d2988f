"""Kinds of path segments beyond the framework's, for routes: `{type_key:record_type}`."""

from starlette.convertors import CONVERTOR_TYPES, Convertor, register_url_convertor


class RecordTypeConvertor(Convertor[str]):
    """The key of a record type: any segment that is not an id, so that `{id}/links` is never a type and a key."""

    regex = rf"(?!{CONVERTOR_TYPES['uuid'].regex}(?:/|$))[^/]+"

    def convert(self, value: str) -> str:
        """Return the segment as it is."""
        return value

    def to_string(self, value: str) -> str:
        """Return the key as a segment."""
        return value


def register_path_types() -> None:
    """Make the kinds known to the framework; routes use them when they are declared."""
    register_url_convertor("record_type", RecordTypeConvertor())
