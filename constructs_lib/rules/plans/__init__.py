"""Rules about training plans, and whatever runs on one."""
