"""Rules about training plans, and whatever buys or uses one."""
