"""The endpoints, one module per topic; each translates a request into one call of a room and back."""

from parlour.api.path_types import register_path_types

register_path_types()  # before the modules of this package declare routes with them
