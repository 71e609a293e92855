"""CDK constructs that use capacity: jobs, and what the jobs of a stack share."""
