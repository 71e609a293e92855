"""Rules about endpoints, on reserved capacity and on pools of types."""
