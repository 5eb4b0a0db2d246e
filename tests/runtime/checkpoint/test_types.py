"""What people keep in state comes out as it went in: equal, and of the same type, without pickle.

Each value of the table alone, and all of them nested in each other as Hypothesis likes. What the format can't tell
apart is said in one place: a tuple in a list, a dict or a field comes back as a list (a named tuple does not), and in
these a bytearray as bytes.
"""

import asyncio
import collections
import dataclasses
import enum
import math
import typing
import uuid
from collections import deque
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic import BaseModel, ConfigDict, RootModel
from pydantic.dataclasses import dataclass as validated

from runtime.checkpoint.memory import InMemorySaver
from runtime.checkpoint.serde.jsonplus import JsonPlusSerializer
from runtime.checkpoint.sqlite import SqliteSaver
from runtime.checkpoint.sqlite.aio import AsyncSqliteSaver
from runtime.graph import START
from tests.runtime.scenarios.build import builder, says, thread

BERLIN = ZoneInfo("Europe/Berlin")


@dataclasses.dataclass
class Thing:
    a: Any
    b: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True)
class Slotted:
    a: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Counted:
    a: Any
    total: int = dataclasses.field(init=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.total + 1)


@dataclasses.dataclass
class Grown:
    a: int

    def __post_init__(self) -> None:
        self.a += 1


@dataclasses.dataclass
class Given:
    a: Any
    seed: dataclasses.InitVar[int]

    def __post_init__(self, seed: int) -> None:
        self.a = (self.a, seed)[0]


@dataclasses.dataclass(kw_only=True, order=True)
class Keyed:
    a: int


@validated
class Checked:
    a: int
    day: date | None = None


class Plain(enum.Enum):
    LETTER = "a"
    PAIR = (1, (2, 3))
    HELD = None


class Number(enum.IntEnum):
    ONE = 1


class Word(enum.StrEnum):
    A = "a"


class Bits(enum.Flag):
    R = 1
    W = 2


class IntBits(enum.IntFlag):
    R = 1
    W = 2


class Pair(typing.NamedTuple):
    a: Any
    b: Any = None


Old = collections.namedtuple("Old", "a b")  # people keep these too


class Model(BaseModel):
    a: Any = None


class Parent(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    child: Model
    children: dict[str, list[Model]] = {}
    numbers: tuple[int, ...] = ()
    names: frozenset[str] = frozenset()


class Roots(RootModel[list[int]]):
    pass


class Outer:
    class Inner(BaseModel):
        a: int = 1

    @dataclasses.dataclass
    class Held:
        a: int = 1

    class Kind(enum.Enum):
        X = 1


VALUES: list[Any] = [
    None, True, 0, -(2**63), 2**64 - 1, 2**64, -(10**40), 1.5, -0.0, math.inf, "text", "", "\x00", "🦊", b"\x00",
    1 - 0j, range(3), range(10, 0, -3), slice(1, None, 2), Fraction(1, 3),
    Decimal("1.10"), Decimal("-0"), Decimal("Infinity"), uuid.UUID(int=1), uuid.uuid4(),
    Path("/a/b"), PurePosixPath("a"), PureWindowsPath("c:\\a"),
    date(1, 1, 1), time(1, 2, tzinfo=BERLIN), time(1, 2, fold=1), timedelta(-1, 3, 4), UTC, BERLIN,
    timezone(timedelta(hours=-3, seconds=5)), timezone(timedelta(hours=2), "here"),
    datetime(2020, 1, 1, fold=1), datetime(2020, 1, 1, tzinfo=UTC), datetime.max,
    datetime(2020, 10, 25, 2, 30, tzinfo=BERLIN), datetime(2020, 10, 25, 2, 30, tzinfo=BERLIN, fold=1),
    {1, "a", (1, (2, 3)), frozenset({b"x"})}, frozenset(), {Pair(1, (2,)), Counted((1, 2))}, {Plain.PAIR, Word.A},
    deque([1, [2]], maxlen=3), deque(),
    {1: "a", 1.5: "b", None: "c", False: "d", b"x": "e", (1, (2, "y")): "f"} | {"s": "g"},
    {date(2020, 1, 1): 1, uuid.UUID(int=1): 2, Plain.LETTER: 3, (1, Number.ONE, date(2020, 1, 2)): 4, Word.A: 5},
    {Decimal(1): {UTC: {frozenset({1}): {2**70: {Path("x"): {"a": {1: {}}}}}}}},
    Thing(1, [2]), Slotted({"a": 1}), Counted(1), Grown(1), Given(1, seed=2), Keyed(a=1), Checked(1, date(2020, 1, 1)),
    Outer.Held(), *Plain, Number.ONE, Word.A, Bits.R | Bits.W, Bits(0), IntBits.R | IntBits.W, Outer.Kind.X,
    Pair(1), Pair(Pair(1, [2]), {"a": Pair(3)}), Old(1, "b"),
    Model(a=Model(a=1)), Parent(child=Model(a=1), children={"a": [Model()]}, numbers=(1, 2), names={"n"}, more=[1]),
    Roots([1, 2]), Outer.Inner(a=2), [Model(a=Thing(Pair(Plain.PAIR)))],
    HumanMessage("hi", id="1"), SystemMessage([{"type": "text", "text": "a"}]), RemoveMessage(id="1"),
    AIMessage("hi", tool_calls=[{"name": "t", "args": {"a": [1]}, "id": "1", "type": "tool_call"}],
              usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}, response_metadata={"a": 1}),
    AIMessageChunk("hi"), ChatMessage("hi", role="r"), Document("text", metadata={"at": date(2020, 1, 1)}),
    ToolMessage("hi", tool_call_id="1", status="error", artifact=Thing(Plain.LETTER)),
]  # fmt: skip

ARRAYS: list[Any] = [
    *(np.array([0, 1], dtype=kind) for kind in "bBhHiIqQefdFD?"),
    np.array(3.5), np.array([]), np.zeros((2, 0, 3)), np.array(["ab", "c"]), np.array([b"ab"]),
    np.array(["2020-01-01", "NaT"], dtype="M8[D]"), np.array([1, 2], dtype="m8[ms]"), np.array([1, 2], dtype=">i4"),
    np.arange(6).reshape(2, 3, order="F"), np.arange(12).reshape(3, 4)[::2, ::-1], np.arange(6).reshape(2, 3).T,
    np.array([(1, 2.5, b"x")], dtype=[("n", "i4"), ("f", "f8"), ("s", "S3")]),
    np.array([((1, 2), [3, 4])], dtype=[("inner", [("a", "i2"), ("b", "i2")]), ("many", "f4", (2,))]),
    np.array([1, "a", None, Plain.LETTER, date(2020, 1, 1)], dtype=object), np.array([[{}, [1]]], dtype=object),
    np.float64(1.5), np.int8(1), np.bool_(True), np.datetime64("2020-01-01T00", "h"), np.timedelta64(1, "D"),
    np.bytes_(b"a"), np.complex64(1j), np.array([(1, 2)], dtype="i4,i4")[0],
]  # fmt: skip


def frame(*columns: Any, **named: Any) -> pd.DataFrame:
    return pd.DataFrame(dict(enumerate(columns)) | named)


TABLES: list[Any] = [
    frame(), pd.DataFrame(index=[1, 2]), pd.DataFrame([[1, 2.5], [3, math.nan]]),
    pd.DataFrame([[1, "a"]], columns=["a", "a"]),
    frame(a=["x", None], b=pd.array(["x", None], dtype="string")),
    frame(a=pd.array([1, None], dtype="Int64"), b=pd.array([True, None], dtype="boolean"),
          c=pd.array([1.5, None], dtype="Float32"), d=pd.array([1, None], dtype="UInt8")),
    frame(a=pd.Categorical(["x", None, "y"], categories=["y", "x", "z"], ordered=True), b=pd.Categorical([1, 2, 1])),
    frame(a=pd.date_range("2020-10-25", periods=4, freq="h", tz=BERLIN), b=pd.to_datetime(["2020-01-01"] + 3 * [None])),
    frame(a=pd.to_datetime(["2020-01-01"]).as_unit("ns").tz_localize("UTC"), b=pd.to_timedelta([1], unit="h")),
    frame(a=pd.period_range("2020-01", periods=3, freq="M"), b=pd.cut([1, 2, 3], 2)),
    frame(a=pd.Series([1, "x", None, date(2020, 1, 1), Plain.LETTER, [Thing(1)]], dtype=object)),
    frame(a=pd.Series(["x", "y"], dtype=object), b=pd.Series([1, 2], dtype=object)),
    frame(a=np.array([1, 2], "i1"), b=np.array([1, 2], "f4"), c=np.array([True, False]), d=np.array([1j, 2])),
    frame(a=pd.Series([], dtype="Int64"), b=pd.Series([], dtype="str")),
    frame(a=range(4)).set_index(pd.MultiIndex.from_product([["x", "y"], [1, 2]], names=["l", None])),
    pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")], names=[None, "k"])),
    frame(a=[1, 2]).set_index(pd.date_range("2020-01-01", periods=2, freq="D", tz=BERLIN, name="t")),
    frame(a=[1]).rename_axis(columns="axis"),
    pd.Series([1, 2], name=("a", 1), index=pd.period_range("2020Q1", periods=2, freq="Q")),
    pd.Series([1, 2], index=pd.interval_range(0, 2, closed="both")), pd.Series(["x"], index=["y"], name="s"),
    pd.Series([1, 2], index=pd.CategoricalIndex(["b", "a"])), pd.Series([1, 2], index=pd.Index(["x", 1], dtype=object)),
    pd.Series([[1], {"a": 1}, Pair(1)], dtype=object),
    pd.RangeIndex(1, 10, 2, name="r"), pd.Index([1, 2], dtype="i2"), pd.DatetimeIndex(["2020-01-01", "NaT"], tz="UTC"),
    pd.MultiIndex.from_tuples([("a", pd.Timestamp("2020-01-01", tz="UTC")), ("b", pd.NaT)]),
    pd.Categorical(["a"]), pd.array([1, None]), pd.array(np.array([1.5])), pd.arrays.IntervalArray.from_breaks([0, 1]),
    pd.Period("2020-01", freq="M"), pd.Interval(1, 2, closed="left"), pd.Timedelta("1D"),
    pd.Timestamp("2020-10-25 01:30", tz="UTC").tz_convert("Europe/Berlin"), pd.NA, pd.NaT,
]  # fmt: skip

SERDE = JsonPlusSerializer(
    allowed_msgpack_modules=[
        Thing, Slotted, Counted, Grown, Given, Keyed, Checked, Plain, Number, Word, Bits, IntBits, Pair, Old, Model,
        Parent, Roots, Outer.Inner, Outer.Held, Outer.Kind,
    ]
)  # fmt: skip


def check(value: Any, back: Any) -> None:
    """Assert that one is what the other was, through and through."""
    assert type(back) is type(value)
    match value:
        case np.ndarray() | np.generic():
            assert (back.dtype, back.shape) == (value.dtype, value.shape)
            assert not isinstance(value, np.ndarray) or back.flags.f_contiguous >= value.flags.f_contiguous
            if value.dtype == object:
                check(list(value.flat), list(back.flat))
            else:
                np.testing.assert_array_equal(back, value)
        case pd.DataFrame():
            check(value.index, back.index)
            check(value.columns, back.columns)
            assert back.attrs == value.attrs
            for place in range(value.shape[1]):
                check(value.iloc[:, place], back.iloc[:, place])
        case pd.Series():
            assert (back.name, repr(back.dtype), back.attrs) == (value.name, repr(value.dtype), value.attrs)
            check(value.index, back.index)
            if value.dtype == object:
                check(list(value), list(back))
            else:
                check(value.array, back.array)
        case pd.Index():
            pd.testing.assert_index_equal(back, value, exact=True)
            assert getattr(back, "freq", None) == getattr(value, "freq", None)
        case pd.api.extensions.ExtensionArray():
            pd.testing.assert_extension_array_equal(back, value)
            assert repr(back.dtype) == repr(value.dtype)
        case list() | tuple() | deque():
            assert len(back) == len(value)
            for one, other in zip(value, back, strict=True):
                check(one, other)
        case dict():
            assert list(map(type, back)) == list(map(type, value))
            assert list(back) == list(value)
            for one, other in zip(value.values(), back.values(), strict=True):
                check(one, other)
        case datetime() | time():
            assert (back, back.fold, back.tzinfo) == (value, value.fold, value.tzinfo)
        case BaseModel():
            check(dict(value), dict(back))
        case _ if value is pd.NA or value is pd.NaT:
            assert back is value
        case _ if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                check(getattr(value, field.name), getattr(back, field.name))
        case _:
            assert back == value
            assert repr(back) == repr(value) or isinstance(value, (set, frozenset))


def kind(value: Any) -> str:
    return type(value).__name__


@pytest.mark.parametrize("value", [*VALUES, *ARRAYS, *TABLES], ids=kind)
def test_what_goes_in_comes_out(value: Any):
    for held in (value, [{"held": value}]):
        check(held, SERDE.loads_typed(SERDE.dumps_typed(held)))


LEAVES = st.sampled_from([*VALUES, *ARRAYS, *TABLES])


def hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


KEYS = st.sampled_from([value for value in VALUES if hashable(value)])


def message(part: Any) -> ToolMessage:
    return ToolMessage("", tool_call_id="1", artifact=part)


def objects(part: Any) -> Any:
    array = np.empty(1, dtype=object)
    array[0] = part
    return array


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    fields = [Thing, Slotted, Pair, lambda part: Model(a=part), lambda part: Given(part, seed=1), message]
    return st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(KEYS, inner, max_size=3),
        st.builds(deque, st.lists(inner, max_size=2)),
        *map(inner.map, fields),
        inner.map(lambda part: Parent(child=Model(a=part))),
        inner.map(objects),
        inner.map(lambda part: pd.Series(objects(part))),
    )


@settings(max_examples=150)
@given(st.recursive(LEAVES, nested, max_leaves=6))
def test_what_is_nested_in_each_other_comes_out(value: Any):
    check(value, SERDE.loads_typed(SERDE.dumps_typed(value)))


def test_a_tuple_comes_back_as_a_list_and_nested_bytes_and_texts_as_the_plain_ones():
    back = SERDE.loads_typed(SERDE.dumps_typed([bytearray(b"a"), np.str_("a")]))
    assert list(map(type, back)) == [bytes, str]
    check(bytearray(b"a"), SERDE.loads_typed(SERDE.dumps_typed(bytearray(b"a"))))
    assert SERDE.loads_typed(SERDE.dumps_typed({"a": (1, (2,)), "b": Thing((3,))})) == {"a": [1, [2]], "b": Thing([3])}


# -- what can't be kept ------------------------------------------------------------------------------------------------

REFUSED = [
    (lambda: 1, "function"),
    (pd.Series(pd.arrays.SparseArray([0, 1])), r"SparseArray at \.array \(A pandas column of dtype Sparse"),
    (frame(a=pd.Series([len], dtype=object)), r"builtin_function_or_method at \['a'\]\[0\]"),
    (np.ma.array([1], mask=[1]), "MaskedArray"),
    (np.array(["a"], dtype=np.dtypes.StringDType()), "dtype StringDType"),
    ({"deep": [Thing(Model(a=object()))]}, r"object at \['deep'\]\[0\]\.a\.a"),
    ({object(): 1}, "object at .keys"),
    (math, "module"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_has_no_form_is_refused_by_its_type_and_place(value: Any, message: str):
    with pytest.raises(TypeError, match=message):
        SERDE.dumps_typed(value)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_superstep_that_cannot_be_kept_leaves_the_file_at_the_one_before(
    tmp_path: Path, colour: Any, durability: Any
):
    nodes = {"a": says("a"), "good": says("good"), "bad": lambda state: {"log": [Thing(lambda: 1)]}, "z": says("z")}
    graph = builder(nodes, [(START, "a"), ("a", "good"), ("a", "bad"), ("bad", "z")])
    file = str(tmp_path / "threads.db")
    with SqliteSaver.from_conn_string(file) as saver:
        graph.compile(checkpointer=saver, interrupt_before=["good", "bad"]).invoke({"log": []}, thread())
        before = saver.get_tuple(thread())

    def fails() -> None:
        with SqliteSaver.from_conn_string(file) as saver:
            graph.compile(checkpointer=saver).invoke(None, thread(), durability=durability)

    async def afails() -> None:
        async with AsyncSqliteSaver.from_conn_string(file) as saver:
            await graph.compile(checkpointer=saver).ainvoke(None, thread(), durability=durability)

    written = ", written by node 'bad'," if durability != "exit" else ""
    message = rf"^Channel 'log'{written} of thread 't' can't be saved.*function at \[.\]\.a\."
    with pytest.raises(TypeError, match=message):
        fails() if colour.name == "sync" else asyncio.run(afails())
    with SqliteSaver.from_conn_string(file) as saver:
        after = saver.get_tuple(thread())
        assert after._replace(pending_writes=None) == before._replace(pending_writes=None)
        assert "bad" not in {value for _, _, value in after.pending_writes if isinstance(value, str)}
        assert {channel for _, channel, _ in after.pending_writes} <= {"log", "__error__", "__no_writes__"}
        assert graph.compile(checkpointer=saver).get_state(thread()).next in [
            ("bad", "good"),
            ("bad",),
            ("good", "bad"),
        ]


def test_memory_names_the_node_too(colour: Any):
    graph = builder({"bad": lambda state: {"log": [Thing(lambda: 1)]}}, [(START, "bad")])
    with pytest.raises(TypeError, match="^Channel 'log', written by node 'bad', of thread 't' can't be saved"):
        colour.invoke(graph.compile(checkpointer=InMemorySaver()), {"log": []}, thread())
