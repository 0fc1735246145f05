"""Changed configurations: every field alone, and what a cache says to them."""

from dataclasses import asdict, fields

import pytest

from engine import ConfigMismatch, DecoderConfig
from properties.calls import BindChanged, Changes
from properties.drawn import initial_weights, other_config
from properties.geometry import changes
from properties.model import Model
from properties.script import Weights
from tests.test_geometry import CONFIG, sampled_configs


def test_changes_change_every_field_alone() -> None:
    drawn = [each for config in sampled_configs() for each in changes(config)]
    alone = [fields_of(each) for each in drawn if len(fields_of(each)) == 1]

    assert {field for (field,) in alone} == {each.name for each in fields(CONFIG)}


def test_changes_change_both_counts_of_heads() -> None:
    drawn = [each for config in sampled_configs() for each in changes(config)]
    together = {fields_of(each) for each in drawn if len(fields_of(each)) > 1}

    assert together == {("n_heads", "n_kv_heads")}


def test_changes_give_a_valid_configuration_that_differs_in_these_fields() -> None:
    pairs = [(each, change) for each in sampled_configs() for change in changes(each)]

    assert [
        (config, change)
        for config, change in pairs
        if differing(config, other_config(config, change)) != fields_of(change)
    ] == []


def test_changes_are_refused_by_their_first_field() -> None:
    model = Model(CONFIG, initial_weights(CONFIG, Weights(seed=1)))
    for change in changes(CONFIG):
        with pytest.raises(ConfigMismatch) as refusal:
            model.perform(BindChanged(changes=change))

        assert refusal.value.field == fields_of(change)[0]


def fields_of(change: Changes) -> tuple[str, ...]:
    return tuple(change.model_dump(exclude_none=True))


def differing(one: DecoderConfig, other: DecoderConfig) -> tuple[str, ...]:
    values = asdict(other)
    return tuple(name for name, each in asdict(one).items() if each != values[name])
