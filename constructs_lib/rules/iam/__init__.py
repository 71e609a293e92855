"""Rules about policies on instance types and purchases."""
