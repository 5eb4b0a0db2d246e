"""Mutations of what is stored, and what may come of reading them: a value, or one clear error; nothing else.

    python -m tests.runtime.checkpoint.fuzz 20000 [seed]

makes so many of payloads, and a fifth as many of rows in a database of SQLite, and as many in one of PostgreSQL, each
in each of its layouts. Each is read under watch: a hang,
a large allocation, a module that is imported, a program, file or socket that is opened fails the run and names its
number, so that the seed and the number make it again.
"""

import importlib
import itertools
import logging
import random
import resource
import signal
import sqlite3
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

import ormsgpack
import psycopg
from psycopg.types.json import Jsonb

from runtime.channels import DeltaChannel
from runtime.checkpoint.base.unreadable import UnreadableCheckpointError
from runtime.checkpoint.postgres import PostgresSaver, ShallowPostgresSaver
from runtime.checkpoint.retention import Retention
from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer
from runtime.checkpoint.serde.trust import BUILT_IN
from runtime.checkpoint.sqlite import SqliteSaver
from runtime.checkpoint.sqlite.export import export
from runtime.graph import START
from runtime.types import interrupt
from tests.postgres import MISSING, installed, server
from tests.runtime.checkpoint.test_types import ARRAYS, SERDE, TABLES, VALUES
from tests.runtime.scenarios.build import builder, says, thread

SERDES = [JsonPlusSerializer(allowed_msgpack_modules=None), SERDE, JsonPlusSerializer()]

JSON = [
    b'{"lc": 2, "type": "constructor", "id": ["builtins", "set"], "args": [[1, 2]], "kwargs": {}}',
    b'{"lc": 2, "type": "constructor", "id": ["datetime", "datetime"], "method": "fromisoformat", "args": ["2020"]}',
    b'{"lc": 1, "type": "constructor", "id": ["langchain", "schema", "HumanMessage"], "kwargs": {"content": "x"}}',
]

STORED = [*VALUES, *ARRAYS, *TABLES, VALUES]

PAYLOADS = [*map(SERDE.dumps_typed, STORED), *(("json", text) for text in JSON)]

NAMES = [
    "os",
    "system",
    "subprocess",
    "Popen",
    "builtins",
    "eval",
    "exec",
    "range",
    "bytearray",
    "int",
    "this",
    "antigravity",
    "__import__('os').system('true')",
    "pathlib",
    "pickle",
]

HUGE = [0, -1, 2**31, 10**12, 2**63, 1e308]

BOMBS = [
    lambda inner: ormsgpack.packb(ormsgpack.Ext(1, ormsgpack.packb(["builtins", "range", [0, 10**15]]))),
    lambda inner: b"\xdd\xff\xff\xff\xff" + inner,
    lambda inner: b"\xdf\xff\xff\xff\xff" + inner,
    lambda inner: b"\xc6\xff\xff\xff\xff" + inner,
    lambda inner: b"\x91" * 5000 + inner,
    lambda inner: b"\x81\xa1a" * 5000 + inner,
    lambda inner: nested(inner, 400),
]


def nested(inner: bytes, depth: int) -> bytes:
    for _ in range(depth):
        inner = ormsgpack.packb(ormsgpack.Ext(7, inner))
    return inner


def mutated(data: bytes, draw: random.Random) -> bytes:
    """The data with one to four changes."""
    for _ in range(draw.randint(1, 4)):
        at, end = sorted((draw.randint(0, len(data)), draw.randint(0, len(data))))
        match draw.randrange(9):
            case 0 if data:
                place = draw.randrange(len(data))
                data = data[:place] + bytes([data[place] ^ 1 << draw.randrange(8)]) + data[place + 1 :]
            case 1:
                data = data[:at] + draw.randbytes(draw.randint(1, 8)) + data[at:]
            case 2:
                data = data[:at] + data[end:]
            case 3:
                data = data[:at]
            case 4:
                data = data[:at] + data[at:end] * draw.randint(2, 4) + data[end:]
            case 5:
                other = draw.choice(PAYLOADS)[1]
                data = data[:at] + other + data[end:]
            case 6:
                data = data[:at] + ormsgpack.packb(draw.choice(NAMES)) + data[end:]
            case 7:
                data = data[:at] + ormsgpack.packb(draw.choice(HUGE), option=ormsgpack.OPT_NON_STR_KEYS) + data[end:]
            case _:
                data = data[:at] + draw.choice(BOMBS)(data[at:end][:200]) + data[end:]
    return data


def structured(draw: random.Random) -> bytes:
    """An extension that is well formed and means something else: a listed name with arguments of another."""
    payload = draw.choice(PAYLOADS)[1]
    parts = draw.choice(
        [b"\x90", payload, draw.choice(BOMBS)(payload[:50]), ormsgpack.packb(draw.choice([*HUGE, *NAMES]))]
    )
    symbol = draw.choice([*LISTED, ("builtins", draw.choice(NAMES)), ("os", "system"), ("this", "s")])
    content = ormsgpack.packb(symbol[0]) + ormsgpack.packb(symbol[1])
    count = draw.randint(0, 3)
    arguments = bytes([0x90 + count]) + parts * count if draw.random() < 0.6 else parts
    return ormsgpack.packb(ormsgpack.Ext(draw.randrange(8), b"\x93" + content + arguments))


LISTED = sorted(BUILT_IN)

for module, _ in LISTED:  # the list's own modules may be imported; here they are before anything is watched
    importlib.import_module(module)


# -- under watch -------------------------------------------------------------------------------------------------------

FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect", "ctypes.dlopen")

# What the list names may import parts of itself when it is used for the first time.
OWN = {module.partition(".")[0] for module, _ in LISTED} | {"encodings", "numpy"}

_watching = False
_seen: list[str] = []


def _hook(event: str, arguments: Any) -> None:
    if _watching and (
        event in FORBIDDEN
        or (event == "open" and "r" not in str(arguments[1] or "r"))
        or (event == "import" and arguments[0].partition(".")[0] not in OWN)
    ):
        _seen.append(f"{event}{arguments!r:.200}")


sys.addaudithook(_hook)


class Hang(BaseException):
    """Reading takes too long. Nobody who catches exceptions catches this."""


def _hangs(signum: int, frame: Any) -> None:
    _seen.append("nothing for five seconds, and would have gone on")  # whoever calls from C may swallow the exception
    raise Hang


@contextmanager
def watched(number: int) -> Iterator[None]:
    """Fail where what happens inside does anything but compute for a short while in little memory."""
    global _watching
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    previous = signal.signal(signal.SIGPROF, _hangs)
    signal.setitimer(signal.ITIMER_PROF, 5)  # of the processor's time: the machine may be busy
    _watching = True
    try:
        yield
    finally:
        _watching = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    assert not _seen, f"mutation {number} did {_seen}"
    assert grown < 200, f"mutation {number} took {grown} MB"


def payloads(count: int, seed: int) -> Counter[str]:
    """Read so many mutated payloads, and count what came of them."""
    draw, found = random.Random(seed), Counter[str]()
    for number in range(count):
        tag, data = draw.choice(PAYLOADS)
        tag = draw.choice([tag, tag, tag, "msgpack", "json", "null", "bytes", "pickle", "what"])
        data = structured(draw) if draw.random() < 0.3 else mutated(data, draw)
        serde = draw.choice(SERDES)
        with watched(number):
            try:
                serde.loads_typed((tag, data))
                found["a value"] += 1
            except NotImplementedError:
                found["an unknown tag"] += 1
            except ValueError:
                found["an error"] += 1
    return found


# -- rows --------------------------------------------------------------------------------------------------------------


class State(TypedDict):
    log: Annotated[list, lambda old, new: [*old, *new]]
    steps: Annotated[list, DeltaChannel(lambda value, writes: [*value, *itertools.chain(*writes)])]


class Shallow(TypedDict):
    log: Annotated[list, lambda old, new: [*old, *new]]
    steps: Annotated[list, lambda old, new: [*old, *new]]


def fill(saver: Any, state: type = State) -> None:
    """A thread in this saver: deltas, a nested graph, a long list, a question."""
    inner = builder({"x": says("x")}, [(START, "x")]).compile()
    nodes: dict[str, Any] = {
        "a": lambda state: {"log": ["x" * 100] * 8, "steps": ["a"]},
        "b": lambda state: {"log": ["y" * 100], "steps": ["b"]},
        "inner": inner,
        "ask": lambda state: {"log": [interrupt("go?")]},
    }
    graph = builder(nodes, [(START, "a"), ("a", "b"), ("b", "inner"), ("inner", "ask")], state)
    graph.compile(checkpointer=saver).invoke({"log": ["in"], "steps": ["in"]}, thread())


def databases() -> list[bytes]:
    """A database of each layout of SQLite, with a thread in it."""
    with tempfile.TemporaryDirectory() as folder:
        with SqliteSaver.from_conn_string(f"{folder}/ours.db") as saver:
            fill(saver)
            export(saver, f"{folder}/theirs.db")
        found = []
        for name in ("ours.db", "theirs.db"):
            db = sqlite3.connect(Path(folder) / name)
            db.execute("PRAGMA journal_mode = DELETE")
            found.append(db.serialize())
            db.close()
    return found


def rows(count: int, seed: int) -> Counter[str]:
    """Read SQLite's databases after each of so many changes to one of their rows, and count what came of them."""
    draw, found = random.Random(seed), Counter[str]()
    bases = databases()
    for number in range(count):
        db = sqlite3.connect(":memory:", check_same_thread=False)
        db.deserialize(draw.choice(bases))
        change(db, draw)
        look(SqliteSaver(db), READS, number, found)
        db.close()
    return found


def server_rows(count: int, seed: int, url: str) -> Counter[str]:
    """The same of an empty database of PostgreSQL, with full tables and shallow ones."""
    draw, found = random.Random(seed), Counter[str]()
    reads = {PostgresSaver: READS, ShallowPostgresSaver: [read for read in READS if read is not READS[HISTORY]]}
    with psycopg.connect(url) as connection, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the shallow saver
        connection.execute("SET statement_timeout = '5s'")  # no hang on the server either
        for cls in reads:
            connection.execute(f"CREATE SCHEMA {cls.__name__}; SET search_path = {cls.__name__}")
            cls(connection).setup()
            fill(cls(connection), State if cls is PostgresSaver else Shallow)
            connection.commit()
        for number in range(count):
            cls = draw.choice([*reads])
            connection.execute(f"SET search_path = {cls.__name__}")
            server_change(connection, draw)
            look(cls(connection), reads[cls], number, found)
            connection.rollback()
    return found


def look(saver: Any, reads: list[Callable[[Any], Any]], number: int, found: Counter[str]) -> None:
    """Read a changed database, and count what comes of it."""
    for read in reads:
        with watched(number):
            try:
                read(saver)
                found["read"] += 1
            except UnreadableCheckpointError as error:
                named = {error.thread_id, error.checkpoint_id} - {""}
                found["an error" if all(repr(each) in str(error) for each in named) else "an unclear error"] += 1


HISTORY = 3
READS: list[Callable[[Any], Any]] = [
    lambda saver: saver.get_tuple(thread()),
    lambda saver: list(saver.list(None)),
    lambda saver: list(saver.list(thread(), filter={"source": "loop"})),
    lambda saver: saver.get_delta_channel_history(config=thread(), channels=["steps", "log"]),
    lambda saver: saver.outline("t"),
    lambda saver: Retention(keep=2, days=1).apply(saver),
    lambda saver: saver.prune(["t"]),
]


def change(db: sqlite3.Connection, draw: random.Random) -> None:
    """Change one column of one row."""
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    table = draw.choice([name for name in tables if name != "pregel_layout"])
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    every = db.execute(f"SELECT * FROM {table}").fetchall()
    row, column = draw.choice(every), draw.randrange(len(columns))
    old = row[column]
    if isinstance(old, bytes) and draw.random() < 0.9:
        new: Any = structured(draw) if draw.random() < 0.2 else mutated(old, draw)
    else:
        new = draw.choice(
            [draw.choice(every)[column], row[draw.randrange(len(row))], None, 7, "x", b"\x80", "msgpack", "json"]
        )
    where = " AND ".join(f"{name} IS ?" for name in columns)
    try:
        db.execute(f"UPDATE {table} SET {columns[column]} = ? WHERE {where}", (new, *row))
        db.commit()
    except sqlite3.IntegrityError:  # the table itself refuses it
        db.rollback()


TABLES_OF_SERVER = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


def server_change(connection: psycopg.Connection, draw: random.Random) -> None:
    """Change one column of one row."""
    table = draw.choice(TABLES_OF_SERVER)
    cursor = connection.execute(f"SELECT ctid, * FROM {table} ORDER BY ctid")
    columns = [(each.name, each.type_code) for each in cursor.description or ()]
    every = cursor.fetchall()
    row, column = draw.choice(every), draw.randrange(1, len(columns))
    (name, code), old = columns[column], row[column]
    if code == JSONB:
        new: Any = Jsonb(json_changed(old, draw))
    elif isinstance(old, bytes) and draw.random() < 0.9:
        new = structured(draw) if draw.random() < 0.2 else mutated(old, draw)
    else:
        new = draw.choice([draw.choice(every)[column], None, 7 if name == "idx" else "x", "msgpack", "json", "empty"])
    try:
        with connection.transaction():
            connection.execute(f"UPDATE {table} SET {name} = %s WHERE ctid = %s", (new, row[0]))
    except (psycopg.IntegrityError, psycopg.ProgrammingError, psycopg.DataError):  # the table itself refuses it
        pass


JSONB = psycopg.adapters.types["jsonb"].oid


def json_changed(value: Any, draw: random.Random) -> Any:
    """The value with another in the place of one of its parts, at any depth."""
    if isinstance(value, (dict, list)) and value and draw.random() < 0.75:
        key = draw.choice([*value]) if isinstance(value, dict) else draw.randrange(len(value))
        if draw.random() < 0.1:
            del value[key]
        else:
            value[key] = json_changed(value[key], draw)
        return value
    return draw.choice([None, True, 0, -1, 1e300, "", "x", NAMES, [], [[1]], {}, {"x": 1}, {"x": {"y": [None]}}])


def main(count: int, seed: int) -> Iterator[str]:
    """What came of payloads, and of the rows of both databases."""
    logging.disable(logging.WARNING)
    yield f"{count} payloads: {dict(payloads(count, seed))}"
    yield f"{count // 5} rows of SQLite: {dict(rows(count // 5, seed))}"
    programs = installed()
    assert programs is not None, MISSING
    with server(programs) as running, running.database() as url:
        yield f"{count // 5} rows of PostgreSQL: {dict(server_rows(count // 5, seed, url))}"


if __name__ == "__main__":
    for line in main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0):
        sys.stdout.write(f"{line}\n")
