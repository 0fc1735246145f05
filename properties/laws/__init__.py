"""The properties, by ID: one small function each."""

from properties.laws.catalogue import LAWS
from properties.laws.law import Law

__all__ = ["LAWS", "Law"]
