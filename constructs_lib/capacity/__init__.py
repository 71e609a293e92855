"""What is bought: training plans."""
