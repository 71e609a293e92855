"""Rules about EC2 capacity blocks, and whatever buys or uses one."""
