"""The file progress lies in: made whole, brought up to date, and never touched where it is not ours."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from riverhead.errors import ProgressError

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["MIGRATIONS", "opened", "reading", "removed", "told", "writing"]

APPLICATION_ID = 0x72697668  # "rivh": in the file's head, to tell it from another program's
BUSY_SECONDS = 10.0

VERSION_1 = """\
CREATE TABLE lesson (
    number INTEGER PRIMARY KEY,
    section TEXT NOT NULL,  -- reached last
    done INTEGER NOT NULL,
    at TEXT NOT NULL        -- UTC, to the microsecond: sorted as text it is sorted by time
);
CREATE TABLE attempt (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    exercise TEXT NOT NULL,
    kind TEXT NOT NULL,
    lesson INTEGER NOT NULL,
    score REAL,             -- 0 to 1; NULL where nothing could be read
    hints INTEGER NOT NULL
);
CREATE TABLE attempt_skill (
    attempt INTEGER NOT NULL REFERENCES attempt,
    skill TEXT NOT NULL,
    PRIMARY KEY (attempt, skill)
);
CREATE TABLE attempt_mistake (
    attempt INTEGER NOT NULL REFERENCES attempt,
    mistake TEXT NOT NULL,
    cells INTEGER NOT NULL,
    PRIMARY KEY (attempt, mistake)
);
CREATE TABLE card (
    skill TEXT PRIMARY KEY,
    fsrs TEXT NOT NULL      -- the card as fsrs writes it, JSON
);
"""

MIGRATIONS = (VERSION_1,)  # the script at i leads from version i to i + 1; a released one never changes

WHY = {  # what SQLite calls it: what it is, and what to do
    sqlite3.SQLITE_BUSY: f"another program has kept it for {BUSY_SECONDS:.0f} s: try again when it is done",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: {mend}",
    sqlite3.SQLITE_CORRUPT: "it is damaged; it was left as it is: move it away to begin anew",
    sqlite3.SQLITE_FULL: "the disk is full: make room",
    sqlite3.SQLITE_NOTADB: "it is no SQLite database; it was left as it is: move it away to begin anew",
    sqlite3.SQLITE_READONLY: "it may not be written: {mend}",
}
MEND = "allow writing there, or let RIVERHEAD_DATA name a folder where it is allowed"


def opened(path: Path | None, migrations: Sequence[str] = MIGRATIONS) -> sqlite3.Connection:
    """Return the database at ``path``, made or brought up to date; None is one in memory.

    Raises `ProgressError` for a file that is damaged, another program's or a newer riverhead's, which stays
    as it is, and where nothing can be written.
    """
    if path is None:
        return _current(sqlite3.connect(":memory:", isolation_level=None), migrations)
    with told(path):
        path = path.absolute()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(path):
            if not path.exists():  # made with the rights that what SQLite puts beside it gets too
                os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
            db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
            try:
                _check(db, path, len(migrations))
                db.execute("PRAGMA journal_mode = WAL")  # where it cannot be, the old journal does: slower
                db.execute("PRAGMA synchronous = FULL")  # an attempt that was kept outlives a power cut
                return _current(db, migrations)
            except BaseException:
                db.close()
                raise


def removed(db: sqlite3.Connection, path: Path) -> None:
    """Close ``db`` and remove its files; `ProgressError`, and all stays, where another program has them."""
    with told(path), _alone(path):
        try:
            # It takes away the files beside it, and is refused while anybody else has them open.
            db.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            raise ProgressError(
                f"progress in {path} is open in another riverhead, a lesson perhaps ({error}); end that "
                "first; nothing was deleted"
            ) from error
        db.close()
        path.unlink()
    _lock(path).unlink(missing_ok=True)


@contextmanager
def writing(db: sqlite3.Connection, path: Path | None) -> Iterator[sqlite3.Connection]:
    """One transaction: all of it is kept, or nothing."""
    yield from _transaction(db, path, "BEGIN IMMEDIATE")


@contextmanager
def reading(db: sqlite3.Connection, path: Path | None) -> Iterator[sqlite3.Connection]:
    """One moment: what others write meanwhile is not seen."""
    yield from _transaction(db, path, "BEGIN")


def _transaction(db: sqlite3.Connection, path: Path | None, begin: str) -> Iterator[sqlite3.Connection]:
    with told(path):
        db.execute(begin)
        try:
            yield db
            db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # what failed may have ended it
                db.execute("ROLLBACK")
            raise


@contextmanager
def told(path: Path | None) -> Iterator[None]:
    """Raise what goes wrong with the file as a `ProgressError` that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest says where in SQLite it happened
        why = WHY.get(code, str(error)).format(mend=MEND)
        raise ProgressError(f"progress in {path or 'memory'} cannot be used: {why}") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        if isinstance(error, FileExistsError | NotADirectoryError):
            reason = "a file stands where a folder of it should be"
        raise ProgressError(f"progress cannot be kept in {path}: {reason}; {MEND}") from error


def _lock(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let nobody else open or remove the file meanwhile: SQLite has no lock for a change of its journal."""
    from filelock import FileLock, Timeout

    lock: BaseFileLock = FileLock(_lock(path), timeout=BUSY_SECONDS, mode=0o600)
    try:
        with lock:
            yield
    except Timeout as error:
        raise ProgressError(f"progress in {path} cannot be used: {WHY[sqlite3.SQLITE_BUSY]}") from error


def _check(db: sqlite3.Connection, path: Path, newest: int) -> None:
    """Raise `ProgressError` unless the file is whole and ours to write."""
    version, application = _number(db, "user_version"), _number(db, "application_id")
    if application != APPLICATION_ID:
        if application or version or db.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise ProgressError(
                f"{path} is a database of another program; it was left as it is: move it away, or let "
                "RIVERHEAD_DATA name another folder"
            )
    elif version > newest:
        raise ProgressError(
            f"progress in {path} has version {version}, of a newer riverhead; this one reads up to {newest}, "
            "and left it as it is: update riverhead"
        )
    elif db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise ProgressError(f"progress in {path} cannot be used: {WHY[sqlite3.SQLITE_CORRUPT]}")


def _current(db: sqlite3.Connection, migrations: Sequence[str]) -> sqlite3.Connection:
    """Run the scripts the file has not seen, all in one transaction."""
    if _number(db, "user_version") < len(migrations):
        db.execute("BEGIN IMMEDIATE")
        for script in migrations[_number(db, "user_version") :]:
            for statement in _statements(script):
                db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {len(migrations)}")
        db.execute("COMMIT")
    return db


def _statements(script: str) -> Iterator[str]:
    """Cut a script: `executescript` would first commit the transaction it stands in."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _number(db: sqlite3.Connection, pragma: str) -> int:
    (value,) = db.execute(f"PRAGMA {pragma}").fetchone()
    return int(value)
