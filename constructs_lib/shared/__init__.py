"""What constructs of every layer are built with: places and policies, roles, the Lambda asset, CDK's values as text."""
