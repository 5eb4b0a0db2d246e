"""Tables of every age become today's, whoever made them, and whoever else is just doing the same."""

import threading
from typing import Any

import psycopg
import pytest

from runtime.checkpoint.postgres import PostgresSaver
from tests.postgres import execute
from tests.runtime.checkpoint.postgres.build import ROOT, put, thread, values
from tests.runtime.checkpoint.postgres.conftest import driver

SHAPE = """
    SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
    WHERE table_name LIKE 'checkpoint%' UNION ALL
    SELECT tablename, indexname, indexdef, '', '' FROM pg_indexes WHERE tablename LIKE 'checkpoint%' UNION ALL
    SELECT 'versions', v::text, '', '', '' FROM checkpoint_migrations ORDER BY 1, 2
"""


def of_age(url: str, age: int) -> None:
    """Make the tables as they were when the steps up to `age` had been taken."""
    for v, statement in enumerate(PostgresSaver.MIGRATIONS[: age + 1]):
        execute(url, statement.replace("blob BYTEA, PRIMARY", "blob BYTEA NOT NULL, PRIMARY"))
        execute(url, f"INSERT INTO checkpoint_migrations VALUES ({v})")


@pytest.fixture
def expected(postgres_server: Any) -> list[Any]:
    """The shape of the tables that LangGraph makes."""
    theirs = pytest.importorskip("langgraph.checkpoint.postgres").PostgresSaver
    with postgres_server.database() as url, theirs.from_conn_string(url) as saver:
        saver.setup()
        return execute(url, SHAPE)


@pytest.mark.parametrize("age", [-1, 0, 3, 4, 8, 9])
def test_old_tables_become_what_langgraph_makes(postgres: str, colour: Any, expected: list[Any], age: int):
    of_age(postgres, age)
    with driver(colour, postgres) as made:
        made.setup()
        made.setup()
        assert execute(postgres, SHAPE) == expected
        put(made.saver, a=[1])
        assert values(made.saver, ROOT) == {"a": [1]}


def test_what_old_tables_held_is_read_and_gone_on_with(postgres: str):
    of_age(postgres, 3)
    execute(
        postgres,
        """
        INSERT INTO checkpoints VALUES ('t', '', '1', NULL, NULL, '{"v": 1, "id": "1", "versions_seen": {},
            "ts": "2024-01-01T00:00:00+00:00", "channel_versions": {"a": 1, "b": 1}}', '{"step": 0}');
        INSERT INTO checkpoint_blobs VALUES ('t', '', 'a', '1', 'json', '[1]'), ('t', '', 'b', '1', 'empty', '');
        INSERT INTO checkpoint_writes VALUES ('t', '', '1', 'task', 0, 'a', 'json', '2');
        """,
    )
    with PostgresSaver.from_conn_string(postgres) as saver:
        saver.setup()
        found = saver.get_tuple(ROOT)
        assert found is not None
        assert (found.checkpoint["channel_values"], found.pending_writes) == ({"a": [1]}, [("task", "a", 2)])
        put(saver, found.config, step=1, a=[1, 2])
        assert len(list(saver.list(thread("t")))) == 2


def test_several_at_once_make_the_tables_once(postgres: str, expected: list[Any]):
    failed: list[BaseException] = []

    def set_up() -> None:
        try:
            with PostgresSaver.from_conn_string(postgres) as saver:
                saver.setup()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=set_up) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (failed, execute(postgres, SHAPE)) == ([], expected)


def test_a_role_that_may_make_no_tables_sets_up_what_is_there(postgres: str):
    with PostgresSaver.from_conn_string(postgres) as saver:
        saver.setup()
    execute(postgres, "CREATE ROLE guest")
    try:
        execute(postgres, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest")
        with PostgresSaver.from_conn_string(postgres) as saver:
            saver.conn.execute("SET ROLE guest")  # type: ignore[union-attr]  # it is a connection
            saver.setup()
            assert list(saver.list(None)) == []
            with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
                put(saver)
        assert caught.value.__notes__ == ["This came up when PostgreSQL was asked to save checkpoints of thread 't'."]
    finally:
        execute(postgres, "DROP OWNED BY guest; DROP ROLE guest")


def test_without_tables_the_error_names_the_way_out(postgres: str):
    with PostgresSaver.from_conn_string(postgres) as saver:
        with pytest.raises(psycopg.errors.UndefinedTable) as caught:
            saver.get_tuple(ROOT)
        assert caught.value.__notes__ == ["Call the saver's setup() once: it makes the tables."]
