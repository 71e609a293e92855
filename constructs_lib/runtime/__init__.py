"""The code that ships to AWS: thin handlers, services that decide and act, ports to AWS. It never sees the CDK."""
