"""A failure as a program: a few lines of plain Python that fail in the same way."""

from properties.program.told import ProgramRefused
from properties.program.writing import program

__all__ = ["ProgramRefused", "program"]
