"""The part of the working day in which people upload files."""

import pytest

from parlour.infra.errors import ObjectsUnavailable
from parlour.records.file_tombstones import CLEANUP_DELAY
from tests import sample_files
from tests.conversation_harness import ConversationHarness
from tests.integration.files.upload_harness import UploadHarness


def upload_files(conversation: ConversationHarness) -> None:
    """A contract about a record, again in a new version; a team's procedures, which wait for the bucket; a file that is
    no file; one downloaded and deleted, and looked for once more an hour later."""
    room = UploadHarness(conversation.database, conversation.admin, conversation.clock)
    contract = room.upload("main-works.pdf", sample_files.make_contract_pdf(), "project/QUAY")
    room.run_ingestion()
    room.upload_new_version(contract, sample_files.make_contract_pdf())
    room.run_ingestion()
    assert room.read(contract).version == 2
    room.upload("lifting.md", b"# Lifting\n\nStop at 38 km/h.", team="site-operations")
    room.bucket.is_unavailable = True
    with pytest.raises(ObjectsUnavailable):
        room.run_ingestion()
    room.bucket.is_unavailable = False
    room.upload("broken.pdf", b"%PDF- and no more")
    room.run_ingestion()
    assert len(room.browse(team="site-operations")) == 1
    addendum = room.upload("addendum.pdf", sample_files.make_contract_pdf(), "project/QUAY")
    room.run_ingestion()
    assert room.content(addendum).name == "addendum.pdf"
    room.delete(addendum)
    conversation.clock.now += CLEANUP_DELAY
    room.run_sweep(addendum.id)
