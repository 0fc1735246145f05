"""A listener hears of rows and tokens while ``generate`` is still at work."""

from typing import Final

import pytest

from engine import GenerationRequest, Greedy, SplitMix64, TopK, generate
from engine.listener import Listener
from engine.request import Mode
from tests.llamas import varied
from tests.models import GROUPED

SEED: Final = 5


@pytest.mark.parametrize("mode", [Greedy(), TopK(temperature=2.0, k=3)])
def test_listener_hears_what_generate_returns(mode: Mode) -> None:
    heard: list[str] = []
    listener = Listener(
        mode,
        SEED,
        lambda position: heard.append(f"row {position}"),
        lambda token_id: heard.append(f"token {token_id}"),
    )
    request = GenerationRequest(mode=mode, eos_token=None, max_new_tokens=3)
    done = generate(varied(GROUPED), [1, 2], request, SplitMix64(SEED), listener)
    first, second, third = (f"token {each}" for each in done.generated)

    assert heard == ["row 0", "row 1", first, "row 2", second, "row 3", third]
    assert listener.times == sorted(listener.times)
    assert len(listener.times) == 3


def test_draws_of_the_listener_decide() -> None:
    """Else the test above could not fail: three tokens, one of them always."""
    mode = TopK(temperature=2.0, k=3)
    request = GenerationRequest(mode=mode, eos_token=None, max_new_tokens=3)
    texts = {
        generate(varied(GROUPED), [1, 2], request, SplitMix64(seed)).generated
        for seed in range(9)
    }

    assert len(texts) > 3
