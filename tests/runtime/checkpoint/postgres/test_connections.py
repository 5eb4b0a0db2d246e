"""Each way of connecting, and what becomes of a run when its connection, its server or its task ends in the middle."""

import asyncio
import operator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypedDict

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from runtime.checkpoint.postgres import PostgresSaver, PostgresSaverError
from runtime.checkpoint.postgres.aio import AsyncPostgresSaver
from runtime.graph import START, StateGraph
from tests.postgres import Server, execute
from tests.runtime.checkpoint.postgres.build import ROOT, put, steps, thread, values
from tests.runtime.checkpoint.postgres.conftest import driver


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def three_nodes(saver: Any, happens: Any) -> Any:
    """A graph in whose second node something happens, the first time that it is run."""
    waiting = [happens]

    def second(state: State) -> State:
        if waiting:
            waiting.pop()()
        return {"log": ["second"]}

    builder = StateGraph(State).add_node("first", lambda state: {"log": ["first"]}).add_node("second", second)
    builder.add_node("third", lambda state: {"log": ["third"]}).add_edge(START, "first")
    return builder.add_edge("first", "second").add_edge("second", "third").compile(checkpointer=saver)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_run_on_a_pool_outlives_a_restart_of_the_server(
    postgres: str, postgres_server: Server, colour: Any, mode: Any, durability: str
):
    with driver(colour, postgres, "pool") as made:
        made.setup()
        graph = three_nodes(made.saver, lambda: postgres_server.restart(mode))
        out = made.invoke(graph, {"log": ["in"]}, thread(), durability=durability)
        assert out == {"log": ["in", "first", "second", "third"]}
        assert made.history(graph, thread())[0].values == out


@pytest.mark.parametrize("way", ["connection", "pipeline"])
def test_a_lost_connection_is_told_and_the_run_goes_on_on_another(
    postgres: str, postgres_server: Server, colour: Any, way: str
):
    with driver(colour, postgres) as first:
        first.setup()
        graph = three_nodes(first.saver, lambda: postgres_server.restart("immediate"))
        with pytest.raises(PostgresSaverError, match="the connection is closed or was lost") as caught:
            first.invoke(graph, {"log": ["in"]}, thread(), durability="sync")
        assert "Invoke the thread again with a saver on a new connection" in str(caught.value)
        assert caught.value.thread_id == "1"
        with pytest.raises(PostgresSaverError, match="Can't read the checkpoints of thread '1'"):
            first.saver.get_tuple(thread())
    with driver(colour, postgres, way) as second:
        graph = three_nodes(second.saver, lambda: None)
        assert second.invoke(graph, None, thread()) == {"log": ["in", "first", "second", "third"]}


def test_a_lost_pipeline_is_told_too(postgres: str, postgres_server: Server, colour: Any):
    made = colour(postgres, "pipeline")
    made.setup()
    postgres_server.restart()
    with pytest.raises(PostgresSaverError, match="the connection is closed or was lost"):
        put(made.saver)
    with pytest.raises(psycopg.OperationalError, match="connection is lost"):  # psycopg's own word, as one leaves it
        made.close()


def test_a_server_that_stays_away_is_told_after_the_pools_patience(postgres: str, postgres_server: Server):
    with ConnectionPool(postgres, min_size=1, timeout=0.5, kwargs={"autocommit": True}) as pool:
        saver = PostgresSaver(pool)
        saver.setup()
        postgres_server.stop()
        try:
            with pytest.raises(PostgresSaverError, match="Can't save checkpoint .* of thread 't'"):
                put(saver)
        finally:
            postgres_server.start()
        pool.timeout = 30.0
        put(saver, step=1)
        assert steps(saver.list(ROOT)) == [1]


def test_a_connection_that_does_not_commit_by_itself_commits_each_piece_of_work(postgres: str):
    with psycopg.connect(postgres, row_factory=dict_row) as connection:
        saver = PostgresSaver(connection)
        saver.setup()
        put(saver, a=[1])
        assert execute(postgres, "SELECT count(*) FROM checkpoints") == [(1,)]
        list(saver.list(None))
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_inside_a_transaction_of_the_program_the_program_commits(postgres: str):
    with psycopg.connect(postgres) as connection:
        saver = PostgresSaver(connection)
        saver.setup()
        with connection.transaction(force_rollback=True):
            put(saver, a=[1])
            assert values(saver, ROOT) == {"a": [1]}
        assert saver.get_tuple(ROOT) is None


def test_a_pool_whose_connections_do_not_commit_is_as_good(postgres: str):
    with ConnectionPool(postgres, min_size=1) as pool:
        saver = PostgresSaver(pool)
        saver.setup()
        put(saver, a=[1])
        assert execute(postgres, "SELECT count(*) FROM checkpoints") == [(1,)]


def test_a_pipeline_takes_statements_anew_after_one_that_failed(postgres: str, colour: Any):
    with driver(colour, postgres, "pipeline") as made:
        with pytest.raises(psycopg.errors.UndefinedTable):
            made.saver.get_tuple(ROOT)
        with pytest.raises(psycopg.errors.UndefinedTable):
            put(made.saver)
        made.setup()
        put(made.saver, a=[1])
        assert values(made.saver, ROOT) == {"a": [1]}


def test_older_tables_are_brought_up_to_date_on_a_connection_that_has_been_used(postgres: str, colour: Any, way: str):
    with driver(colour, postgres, way) as made:
        made.setup()
        put(made.saver, step=0)
        execute(postgres, "DELETE FROM checkpoint_migrations WHERE v > 2")
        made.setup()
        for step in (1, 2):
            put(made.saver, step=step)
        assert steps(made.saver.list(ROOT)) == [2, 1, 0]


GIVES_UP = """
    CREATE SEQUENCE tries;
    CREATE FUNCTION give_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('tries') <= {times} THEN RAISE EXCEPTION 'a circle' USING ERRCODE = 'deadlock_detected'; END IF;
        RETURN OLD;
    END $$;
    CREATE TRIGGER gives_up BEFORE DELETE ON checkpoints FOR EACH ROW EXECUTE FUNCTION give_up()
"""


def test_what_the_server_gives_up_because_two_wait_for_each_other_is_done_again(postgres: str, colour: Any, way: str):
    with driver(colour, postgres, way) as made:
        made.setup()
        put(made.saver, a=[1])
        execute(postgres, GIVES_UP.format(times=3))
        made.saver.delete_thread("t")
        assert execute(postgres, "SELECT count(*) FROM checkpoints") == [(0,)]


def test_what_the_server_gives_up_again_and_again_is_told(postgres: str, colour: Any):
    with driver(colour, postgres) as made:
        made.setup()
        put(made.saver, a=[1])
        execute(postgres, GIVES_UP.format(times=100))
        with pytest.raises(PostgresSaverError, match="Can't delete the checkpoints of thread 't'.*a circle"):
            made.saver.delete_thread("t")


def test_a_pool_has_no_pipeline(postgres: str):
    with psycopg.connect(postgres) as connection, pytest.raises(ValueError, match="A pipeline belongs to one"):
        PostgresSaver(ConnectionPool(postgres, open=False), connection.pipeline())

    async def open_both() -> None:
        async with await psycopg.AsyncConnection.connect(postgres) as connection:
            AsyncPostgresSaver(AsyncConnectionPool(postgres, open=False), connection.pipeline())

    with pytest.raises(ValueError, match="A pipeline belongs to one"):
        asyncio.run(open_both())


def test_many_threads_share_a_saver(postgres: str, colour: Any, way: str):
    with driver(colour, postgres, way) as made:
        made.setup()
        graph = three_nodes(made.saver, lambda: None)

        def run(number: int) -> Any:
            return made.invoke(graph, {"log": [str(number)]}, thread(str(number)))

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(run, range(24)))
        assert found == [{"log": [str(number), "first", "second", "third"]} for number in range(24)]
        assert len(made.saver.thread_ids()) == 24


def test_the_sync_saver_names_the_async_one():
    saver = PostgresSaver(ConnectionPool(open=False))
    with pytest.raises(NotImplementedError, match="Use AsyncPostgresSaver of runtime.checkpoint.postgres.aio"):
        asyncio.run(saver.aget_tuple(ROOT))
    with pytest.raises(NotImplementedError, match="AsyncPostgresSaver"):
        asyncio.run(saver.aget_delta_channel_history(config=ROOT, channels=["a"]))


def test_the_sync_methods_of_an_async_saver_refuse_its_own_loop(postgres: str):
    async def both() -> Any:
        async with AsyncPostgresSaver.from_conn_string(postgres) as saver:
            await saver.setup()
            with pytest.raises(asyncio.InvalidStateError, match="Await aget_tuple"):
                saver.get_tuple(ROOT)
            return await asyncio.to_thread(saver.get_tuple, ROOT)

    assert asyncio.run(both()) is None


def test_a_cancelled_call_leaves_the_saver_usable(postgres: str):
    async def scenario() -> Any:
        async with (
            AsyncPostgresSaver.from_conn_string(postgres) as saver,
            await psycopg.AsyncConnection.connect(postgres) as other,
        ):
            await saver.setup()
            await other.execute("LOCK TABLE checkpoints")
            reading = asyncio.create_task(saver.aget_tuple(ROOT))
            waits = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            while await asyncio.to_thread(execute, postgres, waits) == [(0,)]:
                pass
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            await other.rollback()
            return await saver.aget_tuple(ROOT)

    assert asyncio.run(scenario()) is None
