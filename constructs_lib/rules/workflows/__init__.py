"""Rules about state machines that start jobs."""
