"""Decisions with side effects, each written against `constructs_lib.runtime.ports`."""
