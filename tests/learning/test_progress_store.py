"""Progress on the disk: whole whoever is killed, whoever writes at once, whatever lies there."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from kept_progress import NOW, attempt, consistent

from riverhead.errors import InputError, ProgressError
from riverhead.learning.progress import Progress, database

# children import kept_progress too
PATHS = os.pathsep.join((str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")))
HERE = os.environ | {"PYTHONPATH": PATHS.strip(os.pathsep)}


def test_everything_written_is_read_back_and_outlives_the_process(kept: Progress, path: Path) -> None:
    kept.record(**attempt(3, mistakes={"base-2": 2, "no-scale": 5}))
    kept.record(**attempt(4, score=None, hints=5, mistakes={}))
    kept.reached(2, "variance", at=NOW)
    kept.reached(1, "heads", done=True, at=NOW)
    first, second = kept.export()["attempts"]
    assert first == {
        "at": "2026-03-02T09:51:15.000007+00:00",
        "exercise": "softmax-1-000003",
        "kind": "softmax",
        "lesson": 2,
        "score": 0.2,
        "hints": 0,
        "skills": ["rounding", "softmax"],
        "mistakes": {"base-2": 2, "no-scale": 5},
    }
    assert (second["score"], second["hints"], second["mistakes"]) == (None, 5, {})
    assert kept.export()["lessons"][1] == {
        "lesson": 2,
        "section": "variance",
        "done": False,
        "at": "2026-03-02T09:30:15.000007+00:00",
    }
    assert (kept.place(2), kept.place(1), kept.place(3), kept.finished()) == ("variance", "heads", None, (1,))
    with Progress(path) as again:
        assert again.export() == kept.export()
        assert again.export()["schema"] == "riverhead.progress/1"


def test_the_last_section_is_kept_and_a_finished_lesson_stays_finished(kept: Progress) -> None:
    for section, done in (("a", False), ("b", True), ("a", False)):
        kept.reached(4, section, done)
    assert (kept.place(4), kept.finished()) == ("a", (4,))


def test_names_that_look_like_sql_are_names(kept: Progress) -> None:
    name = "'); DROP TABLE card; --\x00\u202e"
    kept.record(**attempt(skills=(name, name), mistakes={name: 1}, kind=name))
    kept.reached(1, name)
    (state,) = kept.skills()
    assert (state.skill, state.attempts, kept.place(1)) == (name, 1, name)
    assert kept.export()["attempts"][0]["mistakes"] == {name: 1}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"score": 1.01}, "score is 1.01; it is from 0 to 1"),
        ({"score": float("nan")}, "score is nan"),
        ({"score": -0.01}, "score is -0.01"),
        ({"hints": 6}, "hints is 6; it is from 0 to 5"),
        ({"hints": -1}, "hints is -1"),
        ({"at": NOW.replace(tzinfo=None)}, "has no time zone"),
    ],
)
def test_what_makes_no_sense_is_refused_and_not_kept(kept: Progress, changed: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        kept.record(**attempt(**changed))
    assert kept.export()["attempts"] == []


def test_an_attempt_is_kept_with_its_cards_or_not_at_all(kept: Progress, path: Path) -> None:
    kept.record(**attempt(0, skills=("softmax", "masks")))
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE card SET fsrs = '{}' WHERE skill = 'masks'")
    before = kept.export()["attempts"]
    with pytest.raises(ProgressError, match="card of the skill 'masks' cannot be read"):
        kept.record(**attempt(1, skills=("softmax", "masks")))  # fails at its last statement but one
    assert kept.export()["attempts"] == before
    kept.record(**attempt(2))  # and the next is kept
    assert len(kept.export()["attempts"]) == len(before) + 1


def test_a_card_that_something_else_has_spoilt_is_exported_as_it_is_and_can_be_deleted(
    kept: Progress, path: Path
) -> None:
    kept.record(**attempt(0, skills=("masks",)))
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE card SET fsrs = 'no card'")
    assert kept.export()["skills"] == [{"skill": "masks", "card": "no card"}]
    kept.delete()
    assert not path.exists()


V1 = "CREATE TABLE note (text TEXT);\nINSERT INTO note VALUES ('kept');\n"
V2 = "ALTER TABLE note ADD COLUMN n INTEGER;\nUPDATE note\nSET n = 7; -- every note\n"
V3 = "CREATE TABLE more (x);\nINSERT INTO more SELECT n + 1 FROM note;\n"


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
    return int(version)


def older(path: Path) -> Path:
    """A file of version 1, made by hand."""
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(V1)
        db.execute(f"PRAGMA application_id = {database.APPLICATION_ID}")
        db.execute("PRAGMA user_version = 1")
    return path


def test_an_older_file_is_brought_up_to_date_with_what_it_holds(path: Path) -> None:
    for _ in range(2):  # the second time there is nothing left to do
        with closing(database.opened(older(path) if not path.exists() else path, (V1, V2, V3))) as db:
            assert db.execute("SELECT * FROM note").fetchall() == [("kept", 7)]
            assert db.execute("SELECT * FROM more").fetchall() == [(8,)]
    assert version_of(path) == 3


def test_a_migration_that_fails_leaves_the_older_file(path: Path) -> None:
    with pytest.raises(ProgressError, match="no such table: missing"):
        database.opened(older(path), (V1, V2, V3 + "DROP TABLE missing;\n"))
    assert version_of(path) == 1
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT * FROM note").fetchall() == [("kept",)]  # V2 is undone too


def test_a_newer_file_is_refused_in_words_and_left(path: Path) -> None:
    Progress(path).close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA user_version = 2")
    refused(path, "has version 2, of a newer riverhead; this one reads up to 1, .*: update riverhead")


def refused(path: Path, says: str) -> None:
    before = path.read_bytes()
    with pytest.raises(ProgressError, match=says) as refusal:
        Progress(path)
    assert str(path) in str(refusal.value)
    assert path.read_bytes() == before
    assert {each.name for each in path.parent.iterdir()} <= {path.name, f"{path.name}.lock"}


def test_a_damaged_file_is_named_and_left(path: Path) -> None:
    with Progress(path) as progress:
        for n in range(60):
            progress.record(**attempt(n))
    data = bytearray(path.read_bytes())
    for page in range(1, len(data) // 4096):  # the head stays: it says that the file is ours
        data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    path.write_bytes(data)
    refused(path, "it is damaged; it was left as it is: move it away to begin anew")


def test_a_file_cut_short_is_named_and_left(path: Path) -> None:
    with Progress(path) as progress:
        for n in range(60):
            progress.record(**attempt(n))
    path.write_bytes(path.read_bytes()[:-8192])
    refused(path, "it is damaged")


def test_another_file_is_named_and_left(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("my diary, which is long enough to be no head of a database\n" * 20)
    refused(path, "it is no SQLite database; it was left as it is")


@pytest.mark.parametrize(
    "made", ["CREATE TABLE attempt (id INTEGER)", "PRAGMA user_version = 1", "PRAGMA application_id = 7"]
)
def test_another_programs_database_is_named_and_left(path: Path, made: str) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(made)
    refused(path, "is a database of another program; it was left as it is")


def test_an_empty_file_is_begun(path: Path) -> None:
    """What one leaves that was stopped right after it made the file."""
    path.parent.mkdir()
    path.touch()
    with Progress(path) as progress:
        progress.record(**attempt())
    assert len(consistent(path)) == 1


def test_where_nothing_can_be_written_it_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ProgressError, match=r"a file stands where a folder.*; allow writing there, or let"):
        Progress(tmp_path / "file" / "progress.sqlite3")
    with pytest.raises(ProgressError, match="a file stands where a folder"):
        Progress(tmp_path / "file" / "below" / "progress.sqlite3")
    (tmp_path / "progress.sqlite3").mkdir()
    with pytest.raises(ProgressError, match="cannot be opened: allow writing there, or let RIVERHEAD_DATA"):
        Progress(tmp_path / "progress.sqlite3")


def test_without_write_permission_it_says_so(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        if os.access(tmp_path, os.W_OK):
            pytest.skip("this user may write anywhere")
        with pytest.raises(ProgressError, match="permission denied; allow writing there"):
            Progress(tmp_path / "progress.sqlite3")
    finally:
        tmp_path.chmod(0o700)


def test_a_full_disk_is_said_and_nothing_half_is_kept(kept: Progress, path: Path) -> None:
    (pages,) = kept._db.execute("PRAGMA page_count").fetchone()
    kept._db.execute(f"PRAGMA max_page_count = {pages}")
    done = []

    def fill() -> None:
        for n in range(10_000):  # it has to end long before
            kept.record(**attempt(n))
            done.append(n)

    with pytest.raises(ProgressError, match="the disk is full: make room"):
        fill()
    assert len(consistent(path)) == len(done)


def test_one_that_holds_the_file_for_long_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.01)
    with Progress(path) as one, Progress(path) as other:
        with (
            database.writing(one._db, path),
            pytest.raises(ProgressError, match="another program has kept it"),
        ):
            other.record(**attempt())
        other.record(**attempt())
    assert len(consistent(path)) == 1


def test_nobody_opens_or_deletes_it_while_another_does(
    kept: Progress, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two who make the file at once would meet in a change of its journal, for which SQLite has no lock."""
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.01)
    with FileLock(f"{path}.lock"):
        with pytest.raises(ProgressError, match="another program has kept it"):
            Progress(path)
        with pytest.raises(ProgressError, match="another program has kept it"):
            kept.delete()
    Progress(path).close()


def test_what_sqlite_says_in_detail_is_said_in_words(path: Path) -> None:
    locked = sqlite3.OperationalError("database is locked")
    locked.sqlite_errorcode = sqlite3.SQLITE_BUSY_SNAPSHOT
    with pytest.raises(ProgressError, match="another program has kept it"), database.told(path):
        raise locked
    with pytest.raises(ProgressError, match="an error without a number"), database.told(path):
        raise sqlite3.InterfaceError("an error without a number")


def test_only_the_user_may_read_it(path: Path) -> None:
    umask = os.umask(0)
    try:
        with Progress(path) as progress:
            progress.record(**attempt())
            rights = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    finally:
        os.umask(umask)
    assert {f"{path.name}{ending}" for ending in ("", "-wal", "-shm")} <= set(rights)
    assert set(rights.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_deleted_is_every_file_of_ours_and_no_other(kept: Progress, path: Path) -> None:
    kept.record(**attempt())
    beside = path.with_name("diary.txt")
    beside.touch()
    kept.delete()
    assert list(path.parent.iterdir()) == [beside]


def test_it_is_not_deleted_from_under_another(kept: Progress, path: Path) -> None:
    kept.record(**attempt(0))
    with Progress(path) as other:
        with pytest.raises(ProgressError, match=r"open in another riverhead.*nothing was deleted"):
            other.delete()
        kept.record(**attempt(1))
        assert len(other.export()["attempts"]) == 2


def test_in_memory_it_works_and_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Progress() as progress:
        progress.record(**attempt())
        progress.reached(1, "a")
        overview = progress.overview(NOW)
    assert (overview.attempts, overview.where, len(overview.skills)) == (1, None, 2)
    assert list(tmp_path.iterdir()) == []


def test_a_time_in_any_zone_is_the_same_moment(tmp_path: Path) -> None:
    exports = []
    for hours in (0, -7):
        with Progress(tmp_path / f"{hours}.sqlite3") as progress:
            progress.record(**attempt(at=NOW.astimezone(timezone(timedelta(hours=hours)))))
            exports.append(progress.export())
    assert exports[0] == exports[1]


def test_an_overview_is_of_one_moment_and_plain_data(kept: Progress, path: Path) -> None:
    kept.record(**attempt())
    overview = kept.overview(NOW)
    assert overview == replace(kept.overview(NOW + timedelta(days=1)), now=NOW)
    assert overview.where == str(path)
