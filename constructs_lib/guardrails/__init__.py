"""What forbids: IAM that restricts instance types and purchases."""
