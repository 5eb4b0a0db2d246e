"""An overlay above PostgreSQL: nothing of the base changes, and whoever may only read can be its base."""

import itertools
import secrets
from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import psycopg
import pytest

from runtime.channels import DeltaChannel
from runtime.checkpoint.overlay import Overlay
from runtime.checkpoint.retention import Retention
from runtime.types import Command
from tests.postgres import execute
from tests.runtime.checkpoint.postgres.build import thread
from tests.runtime.checkpoint.postgres.conftest import Driver, driver
from tests.runtime.checkpoint.test_overlay import Log, gated

TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_migrations")


class Delta(TypedDict):
    log: Annotated[list, DeltaChannel(lambda value, writes: [*value, *itertools.chain(*writes)])]


def contents(url: str) -> dict[str, list[Any]]:
    """Every row with where it lies, and the transactions that wrote it, deleted it, or locked it."""
    return {table: execute(url, f"SELECT ctid, xmin, xmax, * FROM {table} ORDER BY ctid") for table in TABLES}


@pytest.fixture
def reader(postgres: str) -> Iterator[str]:
    """The address of the database for a role that may read its tables and nothing else."""
    name = f"reader_{secrets.token_hex(4)}"
    execute(postgres, f"CREATE ROLE {name} LOGIN PASSWORD 'secret'")
    execute(postgres, f"ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {name}")
    yield psycopg.conninfo.make_conninfo(postgres, user=name, password="secret")
    execute(postgres, f"DROP OWNED BY {name}; DROP ROLE {name}")


def explore(made: Driver, app: Any) -> None:
    """Whatever one may do to a thread that waits, to another one, and to what is kept."""
    start = made.history(app, thread())[-1]
    assert made.invoke(app, Command(resume="yes"), thread())["log"] == ["a", "yes", "z"]
    made.invoke(app, None, start.config)
    made.update(app, thread(), {"log": ["edited"]}, as_node="gate")
    made.invoke(app, {"log": ["new"]}, thread("new"))
    overlay = app.checkpointer
    overlay.copy_thread("1", "copy")
    Retention(keep=1).apply(overlay, ["copy"])
    overlay.prune(["1"])
    overlay.delete_thread("1")


SCHEMAS = pytest.mark.parametrize("schema", [Log, Delta], ids=["reducer", "delta"])


@SCHEMAS
def test_no_row_of_the_base_changes(postgres: str, colour: Any, schema: Any):
    with driver(colour, postgres) as made:
        made.setup()
        made.invoke(gated(made.saver, schema), {"log": []}, thread())
        before = contents(postgres)
        assert all(before.values())
        explore(made, gated(Overlay(made.saver), schema))
        assert contents(postgres) == before


@SCHEMAS
def test_a_role_that_may_only_read_is_enough(postgres: str, reader: str, colour: Any, schema: Any):
    with driver(colour, postgres) as made:
        made.setup()
        made.invoke(gated(made.saver, schema), {"log": []}, thread())
    with driver(colour, reader) as made:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            made.saver.delete_thread("1")
        made.setup()  # it only looks, where all is there
        explore(made, gated(Overlay(made.saver), schema))
