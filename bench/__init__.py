"""Performance as ratios: variants run in turn in one go, so that a busy machine slows them alike."""
