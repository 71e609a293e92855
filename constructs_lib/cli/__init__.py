"""The ``gpucap`` command: rehearse, check, explain, quote and operate from a terminal."""
