import pytest

from constructs_lib.sandbox.modelcheck import service_model
from constructs_lib.sandbox.patterns import has_python_form, matches


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (r"[\p{L}\p{Z}\p{N}_.:/=+\-@]*", ["", "a b", "größe", "東京 1", "a\u00a0b"], ["a*", "a\n", "😀"]),
        (r"\P{C}*", ["text", "ä"], ["a\x00", "a\u200b"]),
        (r"[^\p{C}]+", ["ä b"], ["", "a\tb"]),
        (r"arn:[\p{Alnum}\-]+:x", ["arn:aws-cn:x"], ["arn:aws_cn:x", "arn:ä:x"]),
        (r"\p{ASCII}{0,3}", ["abc", ""], ["abcd", "ä"]),
        (r"\p{XDigit}{2}", ["aF"], ["ag"]),
        (r"[\u0020-\uD7FF\uE000-\uFFFD\uD800\uDC00-\uDBFF\uDFFF\t]*", ["a\t😀"], ["a\n"]),
        (r"\w+", ["a_1"], ["ä"]),
        (r"[a-zA-Z\s-_]+", ["a-b _"], ["a1"]),
        (r"([a-z]*)${1,128}", ["abc"], ["ABC"]),
        (r"\A\S[\p{Print}]*\z", ["ab c"], [" a", "a\n"]),
        (r"\x{41}[\x{60}]", ["A`"], ["B`"]),
        (r"[\p{L}||\p{N}]+", ["a|1"], ["a b"]),
        (r"\p{LD}+", ["aä1"], ["a b"]),
        (r"ml\.[a-z0-9\-.]+", ["ml.u-p6e-gb200x72"], ["p5"]),
    ],
)
def test_a_java_pattern_means_in_python_what_it_means_in_java(pattern, good, bad):
    assert [value for value in good if not matches(pattern, value)] == []
    assert [value for value in bad if matches(pattern, value)] == []


def test_a_pattern_has_to_match_the_whole_value():
    assert not matches("[a-z]+", "abc-")
    assert not matches("^[a-z]+$", "abc\n")


def test_a_pattern_without_python_form_refuses_nothing():
    intersection = r"[\p{Print}&&[^|:/]]+"
    assert not has_python_form(intersection)
    assert matches(intersection, "a|b")


@pytest.mark.parametrize(
    "service",
    ["sagemaker", "stepfunctions", "dynamodb", "lambda", "events", "scheduler", "ec2", "iam", "logs", "sns", "sqs"],
)
def test_every_pattern_of_the_services_in_use_has_a_python_form(service):
    model = service_model(service)
    patterns = {model.shape_for(name).metadata.get("pattern", "") for name in model.shape_names}
    assert [pattern for pattern in patterns if not has_python_form(pattern)] == []
