"""The reference of a pack's fields on standard output, for `make reference`."""

import sys

from parlour.packs.reference import render_reference

if __name__ == "__main__":
    sys.stdout.write(render_reference())
