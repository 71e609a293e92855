"""Example compositions, to be copied: thin stacks over the public constructs."""
