"""The arithmetic's memos: what every row shares, no row can change."""

from engine.layers import frequencies, rotation


def test_angles_that_all_rows_share_cannot_be_written() -> None:
    assert not frequencies(4, 10_000.0).flags.writeable


def test_rotation_that_all_rows_share_cannot_be_written() -> None:
    assert not rotation(1, 4, 10_000.0, "float64").flags.writeable
