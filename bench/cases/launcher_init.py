"""What the launcher's handler pays before its first event, from the staged asset alone."""

import json
import os
import sys
import time

asset = sys.argv[1]
sys.path[:] = [asset, *(entry for entry in sys.path if "site-packages" in entry or "lib/python" in entry)]
os.environ |= {
    "AWS_DATA_PATH": f"{asset}/models",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
    "GPUCAP_RUN_TABLE": "runs",
    "GPUCAP_LAUNCHER_TIMEOUT": "60",
}
start = time.perf_counter()
from constructs_lib.runtime.handlers import launcher  # noqa: E402

if sys.argv[2:] == ["all"]:
    # What the first event pays: SageMaker twice (with and without retries), Step Functions and DynamoDB.
    launcher.services("runs")
else:
    import botocore.session

    botocore.session.get_session().create_client("sagemaker")
ready = time.perf_counter() - start
assert launcher.__file__.startswith(asset)
print(json.dumps({"seconds": ready}))
