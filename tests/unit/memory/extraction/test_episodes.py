"""Which episodes are one: those in nearly the same words, with the same figures."""

from uuid import UUID

from parlour.memory.extraction.episodes import StoredEpisode, find_similar, has_same_figures


def test_what_differs_in_a_figure_is_another_one() -> None:
    assert not has_same_figures("Paid 500 rupees for the tiles.", "Paid 900 rupees for the tiles.")
    assert has_same_figures("Paid 500 rupees for the tiles.", "For tiles 500 rupees were paid.")
    stored = [StoredEpisode(UUID(int=1), "Paid 500 rupees for the tiles.")]
    assert find_similar("Paid 900 rupees for the tiles.", stored) is None
    assert find_similar("Paid 500 rupees for the tiles.", stored) == UUID(int=1)
