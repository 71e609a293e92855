"""Rules about ordered lists of acceptable instance types."""
