"""The command line itself: help that teaches, exit codes for scripts, words instead of tracebacks."""

import socket

import pytest

from constructs_lib.cli.main import COMMANDS, main


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert "usage: gpucap" in capsys.readouterr().out


def test_the_help_shows_first_steps(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    assert "first steps" in out
    assert all(command in out for command in COMMANDS)


def test_a_missing_or_unknown_command_exits_2(capsys):
    for arguments in ([], ["buy-everything"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 2


def test_an_unknown_scenario_is_refused_with_the_known_ones(capsys):
    assert main(["demo", "--scenario", "windfall"]) == 2
    assert "choose one of: fallback, queue, timeout, abort, lost-event" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--port", "99999"], "0 (any free one) to 65535"),
        (["--speed", "0"], "more than 0"),
        (["--capacity", "nothing.yaml"], "nothing.yaml"),
    ],
)
def test_a_sandbox_that_cannot_start_says_why(options, words, capsys):
    assert main(["sandbox", "start", *options]) == 2
    assert words in capsys.readouterr().err


def test_a_malformed_capacity_file_is_refused_with_file_line_and_key(tmp_path, capsys):
    file = tmp_path / "capacity.yaml"
    file.write_text("types:\n  ml.p5.48xlarge: 0\n  ml.p4d.24xlarge: many\n")
    assert main(["sandbox", "start", "--capacity", str(file)]) == 2
    words = capsys.readouterr().err
    assert f"{file}:3" in words
    assert "ml.p4d.24xlarge" in words
    assert "many" in words


def test_a_port_in_use_is_refused_in_words(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["sandbox", "start", "--port", str(port)]) == 2
    assert str(port) in capsys.readouterr().err
