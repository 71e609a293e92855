"""Readers turn files into subjects; the only part of the rules that needs PyYAML, and not shipped to Lambda."""
