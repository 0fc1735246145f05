"""The hunts on the built-in engine."""

from properties.machine import SessionMachine
from properties.plugin import hunting_settings

TestSession = SessionMachine.TestCase
TestSession.settings = hunting_settings()
