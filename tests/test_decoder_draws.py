"""A new decoder draws one unit an element of its matrices, and not one more."""

import pytest

from engine import Decoder, DecoderConfig, SplitMix64
from tests.models import GROUPED, NO_BLOCKS, SINGLE, TINY


@pytest.mark.parametrize("config", [TINY, GROUPED, SINGLE, NO_BLOCKS])
def test_generator_goes_on_after_the_last_element(config: DecoderConfig) -> None:
    rng, same = SplitMix64(38), SplitMix64(38)
    decoder = Decoder.initialize(config, rng)

    matrices = [each.value for each in decoder.parameters if each.value.ndim > 1]
    same.draws(sum(each.size for each in matrices))
    assert rng.state == same.state
