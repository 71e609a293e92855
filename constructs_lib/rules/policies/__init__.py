"""What an IAM policy does: documents taken apart, and an evaluator that says where it does not know."""

from constructs_lib.rules.policies.documents import Statement, measure, statements
from constructs_lib.rules.policies.evaluator import Decision, Policies, Request, Verdict, evaluate

__all__ = ["Decision", "Policies", "Request", "Statement", "Verdict", "evaluate", "measure", "statements"]
