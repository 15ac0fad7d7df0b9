"""The kernel cache loads nothing that is damaged, renamed or writable by another user.

Tests replace functions of the system that state owners and groups: only root could change those.
"""

import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from mstflow.primitives.cuda import store

posix = pytest.mark.skipif(os.name != "posix", reason="modes and owners are those of POSIX")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path / "cache")
    return tmp_path / "cache" / "kernels"


@pytest.fixture
def load():
    """Return a function that loads an entry and returns how many were compiled so far."""
    compiled = []

    def load(entry):
        def compile_entry():
            compiled.append(entry)
            return f"label of {entry}", b"code\0" * 3

        assert store.load_or_compile(entry, compile_entry) == compile_entry()
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
    paths = folder.parent, folder, folder / "module", folder / "module" / "entry"
    assert [stat.S_IMODE(path.stat().st_mode) for path in paths] == [0o700, 0o700, 0o700, 0o600]


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
def test_a_folder_whose_parent_others_may_write_to_is_not_used(folder, load):
    assert load("entry") == 1
    parent = folder.parent
    parent.chmod(0o777)
    assert [load("entry"), load("entry")] == [2, 3]
    parent.chmod(0o1777)  # sticky: others cannot replace the folder
    assert load("entry") == 3


@posix
@pytest.mark.parametrize(("members", "count"), [([], 1), (["another"], 2)])
def test_a_parent_that_a_group_may_write_to(folder, load, monkeypatch, members, count):
    assert load("entry") == 1
    folder.parent.chmod(0o775)
    user = pytest.importorskip("pwd").getpwuid(os.geteuid())
    group = SimpleNamespace(gr_name=user.pw_name, gr_mem=members)
    monkeypatch.setattr("grp.getgrgid", lambda _: group)
    assert load("entry") == count


@posix
def test_a_folder_below_that_of_another_user_is_not_used(folder, load, monkeypatch):
    assert load("entry") == 1
    status = Path.stat

    def foreign(path, **options):
        own = status(path, **options)
        return SimpleNamespace(st_mode=own.st_mode, st_uid=own.st_uid + 1, st_gid=own.st_gid)

    def stat_parent(path, **options):
        return (foreign if path == folder.parent else status)(path, **options)

    monkeypatch.setattr(Path, "stat", stat_parent)
    assert load("entry") == 2


@posix
def test_the_parents_of_the_home_folder_are_not_checked(folder, load, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))
    assert load("entry") == 1
    folder.parent.parent.chmod(0o777)
    assert load("entry") == 1


def test_a_query_creates_no_folder(folder):
    assert store.private_folder("module", create=False) is None
    assert not folder.parent.exists()


@posix
def test_the_folder_of_another_user_is_not_used(folder, load, monkeypatch):
    assert load("entry") == 1
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    assert [load("entry"), load("entry")] == [2, 3]


@pytest.mark.parametrize(
    "content",
    [b"", b"short", b"garbage" * 99, store._digest("entry", b"")],
    ids=["empty", "truncated", "garbage", "only a digest"],
)
@pytest.mark.filterwarnings("error")
def test_a_damaged_entry_is_compiled_again(folder, load, content):
    assert load("entry") == 1
    path = folder / "entry"
    path.write_bytes(path.read_bytes()[:-1] if content == b"short" else content)
    assert [load("entry"), load("entry")] == [2, 2]


def test_an_entry_under_the_name_of_another_is_replaced(folder, load):
    assert [load("first"), load("second")] == [1, 2]
    (folder / "first").replace(folder / "kept")
    (folder / "second").replace(folder / "first")
    (folder / "kept").replace(folder / "second")
    assert [load("first"), load("second"), load("first"), load("second")] == [3, 4, 4, 4]
