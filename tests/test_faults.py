"""The faults to plant: each can be planted, and the script reports whether a test catches it."""

import pytest

from faults import FAULTS, Fault
from plant_faults import ROOT, is_caught, planted

CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--no-shrink", action="store_true")
    parser.addoption("--examples")
"""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.title)
def test_can_be_planted(fault):
    planted((ROOT / fault.file).read_text(), fault)
    assert fault.old != fault.new
    assert [path for path in fault.tests.split() if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("old", ["absent", "1"])
def test_an_expression_must_occur_once(old):
    with pytest.raises(ValueError, match=r"module.py: '.*' must occur once"):
        planted("1 + 1", Fault("", "module.py", old, "2", ""))


@pytest.mark.parametrize(("new", "expected"), [("2", True), ("1.0", False), ("(", True)])
def test_is_caught(tmp_path, capsys, new, expected):
    copy = tmp_path / "mstflow"
    copy.mkdir()
    (copy / "conftest.py").write_text(CONFTEST)
    (copy / "module.py").write_text("ONE = 1\n")
    (copy / "test_module.py").write_text("import module\n\ndef test(): assert module.ONE == 1\n")
    fault = Fault("one is wrong", "module.py", "1", new, "test_module.py")
    assert is_caught(copy, fault) == expected
    verdict = "caught" if expected else "MISSED"
    assert capsys.readouterr().out == f"{verdict}: module.py: one is wrong\n"
    assert (copy / "module.py").read_text() == "ONE = 1\n"
