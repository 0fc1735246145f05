"""How far two computations of the same decoder may differ, until a bound is derived."""

from typing import Final

TOLERANCE: Final = 2e-12
"""Absolute at the chapter's scale; of the largest magnitude where that is above 1."""
