import os

import jsii._kernel.providers.process as process
import pytest

os.environ.setdefault("CDK_VALIDATION", "false")


@pytest.fixture
def kernel_requests(monkeypatch):
    """Return a function that tells how many requests went to the jsii kernel so far."""
    sent = []
    original = process._NodeProcess.send
    monkeypatch.setattr(process._NodeProcess, "send", lambda self, *args: sent.append(1) or original(self, *args))
    return lambda: len(sent)
