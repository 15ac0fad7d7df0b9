"""Run commands that must fail."""

from mstflow.__main__ import main


def error_of(capsys, folder, arguments):
    """Run a command that must print one line of error and write nothing else; return the line."""
    before = sorted(folder.rglob("*"))
    assert main(list(map(str, arguments))) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert sorted(folder.rglob("*")) == before
    return err
