"""The statements on LangGraph's tables: each does the whole of an operation, so that it is one round trip.

How to think about it. A single statement is a transaction of its own: it is kept or left out as a whole, and it sees
one moment of the database. So a superstep is one statement, on whatever kind of connection. The same operation has the
same text, but for how many rows it stores, and so the server plans it once.

The values inside a checkpoint's JSON belong to the checkpoint and not to a version. A checkpoint that is stored by what
is new in it takes the others over from its parent, inside the server.

What must stay true: the cost of a statement does not grow with the history of the thread, whatever the server knows of
the tables; it may have counted nothing yet. And whatever comes from a caller is bound to a statement and never becomes
part of its text. Nor does it matter what a damaged row holds: whoever reads the rows tells what is wrong with one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from runtime._words import TASKS
from runtime.checkpoint.postgres.rows import BLOBS, WRITES

NOTHING: Final = "empty"
"""The type of a blob that holds no value. What was written to a delta channel stands in one."""

# A map of the checkpoint's; nothing where a damaged row holds something else there.
_VERSIONS: Final = "jsonb_path_query_first({}checkpoint, '$.channel_versions ? (@.type() == \"object\")')"
_VALUES: Final = "jsonb_path_query_first({}checkpoint, '$.channel_values ? (@.type() == \"object\")')"

# -- writing -----------------------------------------------------------------------------------------------------------

# A place from 0 up is taken once; below 0, where the write is no state, the last one counts.
_PUT_WRITES: Final = """
    INSERT INTO checkpoint_writes
        (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
    SELECT %(thread_id)s, %(ns)s, %(beside)s, %(task_id)s, %(task_path)s, idx, channel, type, blob FROM {given}
    ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) DO UPDATE
    SET task_path = EXCLUDED.task_path, channel = EXCLUDED.channel, type = EXCLUDED.type, blob = EXCLUDED.blob
    WHERE EXCLUDED.idx < 0
"""

_PUT_BLOBS: Final = """
    INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    SELECT %(thread_id)s, %(ns)s, channel, version, type, blob FROM {given}
    ON CONFLICT (thread_id, checkpoint_ns, channel, version) DO UPDATE SET type = EXCLUDED.type, blob = EXCLUDED.blob
"""

_PUT_CHECKPOINT: Final = """
    INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
    VALUES (%(thread_id)s, %(ns)s, %(id)s, %(parent_id)s, {checkpoint}, %(metadata)s::jsonb)
    ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id) DO UPDATE
    SET parent_checkpoint_id = EXCLUDED.parent_checkpoint_id, checkpoint = EXCLUDED.checkpoint,
        metadata = EXCLUDED.metadata
"""

_WITH_PARENTS_VALUES: Final = """
    jsonb_set(%(frame)s::jsonb, '{channel_values}', coalesce((
        SELECT checkpoint -> 'channel_values' FROM checkpoints
        WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(ns)s AND checkpoint_id = %(parent_id)s
    ), '{}') - %(changed)s::text[] || (%(frame)s::jsonb -> 'channel_values'))
"""

_SHALLOW_PUT_BLOBS: Final = """
    INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, type, blob)
    SELECT %(thread_id)s, %(ns)s, channel, type, blob FROM {given}
    ON CONFLICT (thread_id, checkpoint_ns, channel) DO UPDATE SET type = EXCLUDED.type, blob = EXCLUDED.blob
"""

_SHALLOW_PUT_CHECKPOINT: Final = """
    INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint, metadata)
    VALUES (%(thread_id)s, %(ns)s, {checkpoint}, %(metadata)s::jsonb)
    ON CONFLICT (thread_id, checkpoint_ns) DO UPDATE
    SET checkpoint = EXCLUDED.checkpoint, metadata = EXCLUDED.metadata
"""

_SHALLOW_DROP_WRITES: Final = """
    DELETE FROM checkpoint_writes
    WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(ns)s AND checkpoint_id <> %(id)s
        AND checkpoint_id IS DISTINCT FROM %(parent_id)s
"""

DELETE_THREADS: Final = """
    WITH writes AS (DELETE FROM checkpoint_writes WHERE thread_id = ANY(%(thread_ids)s::text[])),
        blobs AS (DELETE FROM checkpoint_blobs WHERE thread_id = ANY(%(thread_ids)s::text[]))
    DELETE FROM checkpoints WHERE thread_id = ANY(%(thread_ids)s::text[])
"""

_DROP: Final = f"""
    WITH dropped AS (
        DELETE FROM checkpoints
        WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(ns)s AND checkpoint_id = ANY(%(ids)s::text[])
    ), writes AS (
        DELETE FROM checkpoint_writes
        WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(ns)s AND checkpoint_id = ANY(%(ids)s::text[])
    ), used AS (
        SELECT DISTINCT named.key AS channel, named.value AS version
        FROM checkpoints, jsonb_each_text({_VERSIONS.format("")}) AS named
        WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(ns)s AND checkpoint_id <> ALL(%(ids)s::text[])
    )
    DELETE FROM checkpoint_blobs AS held
    WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(ns)s AND NOT EXISTS (
        SELECT FROM used WHERE used.channel = held.channel AND used.version = held.version)
"""

_SHALLOW_DROP: Final = """
    WITH dropped AS (
        DELETE FROM checkpoints
        WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(ns)s AND checkpoint ->> 'id' = ANY(%(ids)s::text[])
        RETURNING 1
    ), writes AS (
        DELETE FROM checkpoint_writes
        WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(ns)s AND EXISTS (SELECT FROM dropped)
    )
    DELETE FROM checkpoint_blobs
    WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(ns)s AND EXISTS (SELECT FROM dropped)
"""

# -- reading -----------------------------------------------------------------------------------------------------------

# A subquery with a limit (or, to the same end, an offset) is asked once for each row beside it, by the key of its
# table. A plain join may become one that reads all that the thread has there.
_BLOBS: Final = f"""
    SELECT array_agg(channel), array_agg(type), array_agg(blob)
    FROM (SELECT found_checkpoint.checkpoint -> 'channel_values' AS in_json OFFSET 0) AS held,
    LATERAL (
        SELECT key, value FROM jsonb_each_text({_VERSIONS.format("found_checkpoint.")})
        WHERE coalesce(in_json -> key, 'true') = 'true' OFFSET 0
    ) AS named,
    LATERAL (
        SELECT channel, type, blob FROM checkpoint_blobs
        WHERE thread_id = found_checkpoint.thread_id AND checkpoint_ns = found_checkpoint.checkpoint_ns
            AND channel = named.key AND version = named.value AND type <> 'empty'
        LIMIT 1
    ) AS found
"""

_SHALLOW_BLOBS: Final = """
    SELECT array_agg(channel), array_agg(type), array_agg(blob) FROM checkpoint_blobs
    WHERE thread_id = found_checkpoint.thread_id AND checkpoint_ns = found_checkpoint.checkpoint_ns AND type <> 'empty'
"""

# What a row holds comes packed where it is large, and is unpacked wherever it is named. The path to the whole of it,
# which is empty, does so once.
_FIND: Final = """
    SELECT found_checkpoint.*, blobs.*, writes.*, sends.*
    FROM (
        SELECT thread_id, checkpoint_ns, id, parent_checkpoint_id, checkpoint #> '{{{{}}}}' AS checkpoint, metadata
        FROM ({{chosen}}) AS chosen OFFSET 0
    ) AS found_checkpoint,
    LATERAL ({blobs}) AS blobs,
    LATERAL (
        SELECT array_agg(task_id), array_agg(channel), array_agg(type), array_agg(blob) FROM (
            SELECT task_id, channel, type, blob FROM ({writes} AND checkpoint_id = found_checkpoint.id {key_order})
            AS beside ORDER BY task_path, task_id, idx
        ) AS in_order
    ) AS writes,
    LATERAL (
        SELECT array_agg(type), array_agg(blob) FROM (
            SELECT type, blob FROM ({writes} AND checkpoint_id = found_checkpoint.parent_checkpoint_id
                AND channel = '{sends}' AND found_checkpoint.checkpoint -> 'v' < '4' {key_order})
            AS beside ORDER BY task_path, task_id, idx
        ) AS in_order
    ) AS sends
"""

_WRITES_OF_FOUND: Final = """
    SELECT * FROM checkpoint_writes
    WHERE thread_id = found_checkpoint.thread_id AND checkpoint_ns = found_checkpoint.checkpoint_ns
"""

# In this order the rows come by the table's key. The index on threads, which looks as good as long as the server knows
# nothing of the tables, would give it all that the thread has written.
_KEY_ORDER: Final = "ORDER BY task_id, idx OFFSET 0"

_OUTLINE: Final = """
    SELECT found_checkpoint.checkpoint_ns, id, parent_checkpoint_id, checkpoint ->> 'ts', metadata,
        ARRAY(SELECT jsonb_object_keys({values}) UNION ALL {held}),
        ARRAY(
            SELECT ARRAY[task_id, channel] FROM checkpoint_writes
            WHERE thread_id = found_checkpoint.thread_id AND checkpoint_ns = found_checkpoint.checkpoint_ns
                AND checkpoint_id = found_checkpoint.id
            ORDER BY task_id, idx)
    FROM (SELECT {columns} FROM checkpoints WHERE thread_id = %(thread_id)s) AS found_checkpoint
"""

_HELD_NAMES: Final = f"""
    SELECT named.key FROM jsonb_each_text({_VERSIONS.format("")}) AS named, LATERAL (
        SELECT FROM checkpoint_blobs
        WHERE thread_id = found_checkpoint.thread_id AND checkpoint_ns = found_checkpoint.checkpoint_ns
            AND channel = named.key AND version = named.value AND type <> 'empty'
        LIMIT 1
    ) AS found
"""

_SHALLOW_HELD_NAMES: Final = """
    SELECT channel FROM checkpoint_blobs
    WHERE thread_id = found_checkpoint.thread_id AND checkpoint_ns = found_checkpoint.checkpoint_ns AND type <> 'empty'
"""

THREADS: Final = "SELECT DISTINCT thread_id FROM checkpoints"

# The names of the parameters are those of `Scope`.
_TESTS: Final = {
    "thread_id": "thread_id = %(thread_id)s",
    "ns": "checkpoint_ns = %(ns)s",
    "id": "{id} = %(id)s",
    "before": "{id} < %(before)s",
    "filter": "metadata @> %(filter)s::jsonb",
}

_THESE: Final = """
    SELECT one.* FROM unnest(%(thread_ids)s::text[], %(namespaces)s::text[], %(ids)s::text[])
        WITH ORDINALITY AS asked (of_thread, of_ns, of_id, place),
    LATERAL (
        SELECT {columns} FROM checkpoints
        WHERE thread_id = of_thread AND checkpoint_ns = of_ns AND {id} = of_id LIMIT 1
    ) AS one ORDER BY place
"""

# From a checkpoint to its ancestors, for each channel as far as the nearest that holds a value of it. Where a damaged
# row leads in a circle, this ends at an ancestor that it has met: at the depths 0, 1, 3, 7, … it marks where it is.
_WALK: Final = """
    WITH RECURSIVE visited AS (
        SELECT asked.channel, checkpoint_id, parent_checkpoint_id, 0 AS depth, {held} AS is_held, checkpoint_id AS mark,
            {version} AS version, {childs} AS childs_version
        FROM checkpoints, unnest(%(channels)s::text[]) AS asked (channel)
        WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(ns)s AND checkpoint_id = {begin}
    UNION ALL
        SELECT asked.channel, next.checkpoint_id, next.parent_checkpoint_id, asked.depth + 1, {held},
            CASE WHEN (asked.depth + 1) & (asked.depth + 2) = 0 THEN next.checkpoint_id ELSE asked.mark END,
            {version}, asked.version
        FROM visited AS asked, LATERAL (
            SELECT checkpoint_id, parent_checkpoint_id, checkpoint FROM checkpoints
            WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(ns)s AND checkpoint_id = asked.parent_checkpoint_id
            LIMIT 1
        ) AS next
        WHERE NOT asked.is_held AND asked.parent_checkpoint_id <> asked.mark
    )
"""

_HELD_BLOB: Final = """
    FROM checkpoint_blobs AS held WHERE held.thread_id = %(thread_id)s AND held.checkpoint_ns = %(ns)s
        AND held.channel = asked.channel AND held.type <> 'empty'
        AND held.version = checkpoint -> 'channel_versions' ->> asked.channel
"""

_HELD: Final = f"""
    (coalesce(checkpoint -> 'channel_values' ? asked.channel, false) OR (SELECT true {_HELD_BLOB} LIMIT 1) IS NOT NULL)
"""

# What made a channel's version stands in a blob at that version, where one of ours stored it, and else beside the
# parent. Two processes that run a superstep at once share the place beside the parent, and a version is one process's.
# Where that of a checkpoint is its parent's, nothing was written.
#
# The writes are looked through once, from the oldest checkpoint to the newest, with a map of those that were visited.
# A join would be planned by what the server knows of the tables, and that may be nothing.
_HISTORIES: Final = """
    , parents AS (
        SELECT asked.channel, checkpoint_id, depth, (
            SELECT CASE asked.childs_version WHEN asked.version THEN '' ELSE blob END FROM checkpoint_blobs AS held
            WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(ns)s AND held.channel = asked.channel
                AND held.version = asked.childs_version AND type = '{nothing}' AND length(blob) > 0 LIMIT 1
        ) AS log
        FROM visited AS asked
    ), found AS (
        SELECT jsonb_object_agg(channel, ids) AS depths, min(oldest) AS oldest, max(newest) AS newest FROM (
            SELECT channel, jsonb_object_agg(checkpoint_id, depth) AS ids,
                min(checkpoint_id) AS oldest, max(checkpoint_id) AS newest
            FROM parents WHERE log IS NULL GROUP BY channel
        ) AS of_each
    )
    SELECT asked.channel, NULL AS task_id, blobs.type, blobs.blob, seeds.in_json
    FROM visited AS asked,
    LATERAL (
        SELECT checkpoint, checkpoint -> 'channel_values' -> asked.channel AS in_json FROM checkpoints
        WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(ns)s AND checkpoint_id = asked.checkpoint_id LIMIT 1
    ) AS seeds
    LEFT JOIN LATERAL (SELECT held.type, held.blob {held} LIMIT 1) AS blobs ON true
    WHERE asked.is_held
UNION ALL (
    SELECT channel, task_id, type, blob, NULL FROM (
        SELECT channel, task_id, type, blob, task_path, idx,
            ((SELECT depths FROM found) -> channel ->> checkpoint_id)::int AS depth
        FROM checkpoint_writes
        WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(ns)s
            AND checkpoint_id BETWEEN (SELECT oldest FROM found) AND (SELECT newest FROM found)
            AND channel = ANY(%(channels)s::text[]) AND (SELECT depths FROM found) -> channel ? checkpoint_id
    UNION ALL
        SELECT channel, NULL, '{nothing}', log, '', 0, depth FROM parents WHERE length(log) > 0
    ) AS written ORDER BY depth DESC, task_path, task_id, idx
)
"""

_OF_IT: Final = """(
    SELECT {what} FROM checkpoints
    WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(ns)s{which}
    ORDER BY checkpoint_id DESC LIMIT 1)"""

_VERSION: Final = "checkpoint -> 'channel_versions' ->> asked.channel"


def _histories(which: str) -> str:
    of_it = _OF_IT.format(which=which, what="{}")
    walk = _WALK.format(
        held=_HELD, begin=of_it.format("parent_checkpoint_id"), version=_VERSION, childs=of_it.format(_VERSION)
    )
    return walk + _HISTORIES.format(held=_HELD_BLOB, nothing=NOTHING)


HISTORIES_OF_ONE: Final = _histories(" AND checkpoint_id = %(id)s")

HISTORIES_OF_NEWEST: Final = _histories("")

ANCESTORS: Final = (
    _WALK.format(held=_HELD, begin="%(id)s", version="NULL", childs="NULL")
    + " SELECT DISTINCT checkpoint_id FROM visited"
)

NEWEST_OF_EACH: Final = """
    SELECT DISTINCT ON (checkpoint_ns) checkpoint_ns, checkpoint_id, metadata FROM checkpoints
    WHERE thread_id = %(thread_id)s ORDER BY checkpoint_ns, checkpoint_id DESC
"""

OLDER: Final = """
    SELECT checkpoint_id FROM checkpoints
    WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(ns)s AND checkpoint_id < %(id)s
        AND checkpoint_id <> ALL(%(kept)s::text[])
"""


@cache
def put_writes(count: int) -> str:
    """Store what a task wrote, in so many rows."""
    return _PUT_WRITES.format(given=WRITES.source(count))


class Layout(NamedTuple):
    """The statements on one of LangGraph's two kinds of tables."""

    shallow: bool
    before_put: str
    put_blobs: str
    put_checkpoint: str
    drop: str
    columns: str
    id: str
    find: str

    @cache  # noqa: B019  # there are two of these
    def put(self, blobs: int, writes: int, takes_over: bool) -> str:
        """Store a checkpoint with so many blobs, and so many writes that stand beside its parent.

        One that `takes_over` has its parent's values in JSON, but for those of new versions.
        """
        parts = [
            self.before_put,
            self.put_blobs.format(given=BLOBS.source(blobs)) if blobs else "",
            put_writes(writes) if writes else "",
        ]
        named = ", ".join(f"part{number} AS ({part})" for number, part in enumerate(filter(None, parts)))
        checkpoint = _WITH_PARENTS_VALUES if takes_over and not self.shallow else "%(frame)s::jsonb"
        return (f"WITH {named}" if named else "") + self.put_checkpoint.format(checkpoint=checkpoint)

    def chosen(self, scope: str, limit: str = "") -> str:
        """The checkpoints of a scope, newest first, by all their columns."""
        order = f"ORDER BY {self.id} DESC, thread_id DESC, checkpoint_ns DESC"
        return f"SELECT {self.columns} FROM checkpoints {scope} {order} {limit}"

    def keys(self, scope: str, limit: str) -> str:
        """Their threads, namespaces and ids alone."""
        return f"SELECT thread_id, checkpoint_ns, id FROM ({self.chosen(scope, limit)}) AS chosen"

    def found(self, chosen: str) -> str:
        """Chosen checkpoints, with their values and writes as arrays."""
        return self.find.format(chosen=chosen)

    def these(self) -> str:
        """The checkpoints of given keys, in that order."""
        return _THESE.format(columns=self.columns, id=self.id)

    def outline(self) -> str:
        """All checkpoints of a thread, without their values."""
        held = _SHALLOW_HELD_NAMES if self.shallow else _HELD_NAMES
        return _OUTLINE.format(columns=self.columns, values=_VALUES.format(""), held=held)

    def of_runs(self) -> str:
        """The checkpoints that some runs made, by thread and namespace."""
        return (
            f"SELECT thread_id, checkpoint_ns, array_agg({self.id}) FROM checkpoints"
            " WHERE metadata ->> 'run_id' = ANY(%(run_ids)s::text[]) GROUP BY thread_id, checkpoint_ns"
        )

    def scope(self, names: Sequence[str]) -> str:
        """The test of these parameters of a scope."""
        tests = " AND ".join(_TESTS[name].format(id=self.id) for name in names)
        return f"WHERE {tests}" if tests else ""


_COPIED: Final = {
    "checkpoint_writes": "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob",
    "checkpoint_blobs": "checkpoint_ns, channel, version, type, blob",
    "checkpoints": "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
}

_SHALLOW_COPIED: Final = _COPIED | {
    "checkpoint_blobs": "checkpoint_ns, channel, type, blob",
    "checkpoints": "checkpoint_ns, type, checkpoint, metadata",
}


def copies(shallow: bool) -> list[str]:
    """The statements that keep a thread under another id too."""
    return [
        f"INSERT INTO {table} (thread_id, {columns}) SELECT %(target)s, {columns} FROM {table}"
        " WHERE thread_id = %(source)s"
        for table, columns in (_SHALLOW_COPIED if shallow else _COPIED).items()
    ]


def _found_with(blobs: str) -> str:
    return _FIND.format(blobs=blobs, writes=_WRITES_OF_FOUND, key_order=_KEY_ORDER, sends=TASKS)


FULL: Final = Layout(
    shallow=False,
    before_put="",
    put_blobs=_PUT_BLOBS,
    put_checkpoint=_PUT_CHECKPOINT,
    drop=_DROP,
    columns="thread_id, checkpoint_ns, checkpoint_id AS id, parent_checkpoint_id, checkpoint, metadata",
    id="checkpoint_id",
    find=_found_with(_BLOBS),
)

SHALLOW: Final = Layout(
    shallow=True,
    before_put=_SHALLOW_DROP_WRITES,
    put_blobs=_SHALLOW_PUT_BLOBS,
    put_checkpoint=_SHALLOW_PUT_CHECKPOINT,
    drop=_SHALLOW_DROP,
    columns=(
        "thread_id, checkpoint_ns, checkpoint ->> 'id' AS id, NULL::text AS parent_checkpoint_id, checkpoint, metadata"
    ),
    id="checkpoint ->> 'id'",
    find=_found_with(_SHALLOW_BLOBS),
)
