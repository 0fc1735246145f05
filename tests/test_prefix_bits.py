"""A failed decode leaves every bit, where no two spare rows have the same bits.

The judge fills all spare rows with one value, and a copied row would be like its
neighbour; here they hold what a longer sequence left there.
"""

import pytest

from engine import DecoderConfig, KVCache, Stage, StageFailed
from tests.models import GROUPED, TINY, decoder_of


@pytest.mark.parametrize("config", [TINY, GROUPED])
@pytest.mark.parametrize("length", [1, 2])
def test_failed_decode_leaves_each_spare_row(
    config: DecoderConfig, length: int
) -> None:
    decoder, failing = decoder_of(config), list[bool]()

    def probe(stage: Stage, *_: object) -> None:
        if failing and stage is Stage.COMMIT:
            raise RuntimeError

    cache = KVCache(decoder)
    with cache.bind(decoder, probe) as session:
        session.prefill([0, 1, 2, 0])
        session.reset()
        session.prefill([1, 2][:length])
        before = cache.snapshot()
        failing.append(True)
        with pytest.raises(StageFailed):
            session.decode(0)

    assert cache.snapshot() == before
