"""Findings as JSON, SARIF 2.1.0 and GitHub annotations, for machines."""
