"""What a handler pays that uses boto3 as it comes."""

import json
import time

start = time.perf_counter()
import boto3  # noqa: E402

boto3.client("sagemaker", region_name="us-east-1")
print(json.dumps({"seconds": time.perf_counter() - start}))
