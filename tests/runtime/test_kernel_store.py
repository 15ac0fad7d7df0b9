"""Kept kernels: nothing is loaded that another user could have written, or under another name."""

import os
import stat

import pytest

from mstflow.runtime import kernel_store

posix = pytest.mark.skipif(os.name != "posix", reason="modes and owners are those of POSIX")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path / "cache")
    return tmp_path / "cache" / "kernels"


@pytest.fixture
def load():
    """Load an entry, and return how many of them were compiled by then."""
    compiled = []

    def load(entry):
        def compile_entry():
            compiled.append(entry)
            return f"label of {entry}", b"code\0" * 3

        assert kernel_store.load_or_compile(entry, compile_entry) == compile_entry()
        compiled.pop()
        return len(compiled)

    return load


@posix
def test_folders_and_entries_are_private(folder, load):
    before = os.umask(0)
    try:
        assert [load("module/entry"), load("module/entry")] == [1, 1]
    finally:
        os.umask(before)
    paths = folder, folder / "module", folder / "module" / "entry"
    assert [stat.S_IMODE(path.stat().st_mode) for path in paths] == [0o700, 0o700, 0o600]


@posix
@pytest.mark.parametrize("place", ["", "module"])
def test_a_folder_that_others_may_write_to_is_not_used(folder, load, place):
    assert load("module/entry") == 1
    (folder / place).chmod(0o777)
    assert [load("module/entry"), load("module/other"), load("module/other")] == [2, 3, 4]
    assert [path.name for path in (folder / "module").iterdir()] == ["entry"]


@posix
def test_an_entry_that_others_may_write_to_is_replaced(folder, load):
    assert load("entry") == 1
    (folder / "entry").chmod(0o620)
    assert [load("entry"), load("entry")] == [2, 2]


@posix
def test_the_folder_of_another_user_is_not_used(folder, load, monkeypatch):
    assert load("entry") == 1
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    assert [load("entry"), load("entry")] == [2, 3]


def test_an_entry_under_the_name_of_another_is_replaced(folder, load):
    assert [load("first"), load("second")] == [1, 2]
    (folder / "first").replace(folder / "kept")
    (folder / "second").replace(folder / "first")
    (folder / "kept").replace(folder / "second")
    assert [load("first"), load("second"), load("first"), load("second")] == [3, 4, 4, 4]
