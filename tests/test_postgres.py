"""The PostgreSQL server of the test run: it is real, it can be made to fail, and nothing of it is left behind."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.postgres import Server

psycopg = pytest.importorskip("psycopg")

CHILD = """
import sys, time
from tests.postgres import installed, server
with server(installed()) as running:
    print(running.home, running.url(), flush=True)
    time.sleep(600)
"""


def test_each_test_has_a_database_of_its_own(postgres: str, postgres_server: Server) -> None:
    with psycopg.connect(postgres) as one, postgres_server.database() as url, psycopg.connect(url) as other:
        one.execute("CREATE TABLE mine (id INT)")
        one.commit()
        assert other.execute("SELECT to_regclass('mine')").fetchone() == (None,)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_what_was_committed_is_there_after_a_restart_and_connections_are_not(
    postgres: str, postgres_server: Server, mode: str
) -> None:
    with psycopg.connect(postgres, autocommit=True) as before:
        before.execute("CREATE TABLE kept (id INT)")
        postgres_server.restart(mode)  # type: ignore[arg-type]
        with pytest.raises(psycopg.OperationalError):
            before.execute("SELECT 1")
    with psycopg.connect(postgres) as after:
        assert after.execute("SELECT count(*) FROM kept").fetchone() == (0,)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_test_run_that_ends_leaves_neither_server_nor_data(postgres_server: Server, how: signal.Signals) -> None:
    command = [sys.executable, "-c", CHILD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout
        assert run.stderr
        home, url = run.stdout.readline().split()
        psycopg.connect(url).close()
        run.send_signal(how)
        run.stderr.read()  # ends when all processes that hold it have ended, the server's keeper too
    assert not Path(home).exists()
    with pytest.raises(psycopg.OperationalError, match="refused"):
        psycopg.connect(url)
