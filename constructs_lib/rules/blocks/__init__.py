"""Rules about EC2 capacity blocks, and whatever runs in one."""
