"""Threads that meet in one session, one cache or one decoder, and call back."""

from properties.threads.threaded import Threaded, hunt_threads, threads_table

__all__ = ["Threaded", "hunt_threads", "threads_table"]
