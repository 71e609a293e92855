"""Rules about buying training plans and capacity blocks."""
