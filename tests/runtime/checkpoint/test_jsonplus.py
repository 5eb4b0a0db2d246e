import dataclasses
import json
import logging
import re
import sys
import typing
import uuid
from collections import deque
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from ipaddress import ip_address, ip_interface, ip_network
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any
from zoneinfo import ZoneInfo

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import BaseModel, Field, RootModel, SecretStr, field_serializer, field_validator

from runtime.channels.delta import DeltaSnapshot
from runtime.checkpoint.serde.event_hooks import SerdeEvent, register_serde_event_listener
from runtime.checkpoint.serde.jsonplus import EXT_CONSTRUCTOR_KW_ARGS, EXT_METHOD_SINGLE_ARG, JsonPlusSerializer
from runtime.checkpoint.serde.trust import _warned
from runtime.store.base import Item
from runtime.types import Command, Interrupt, Overwrite, Send, TimeoutPolicy


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Word(StrEnum):
    YES = "yes"


class Point(typing.NamedTuple):
    x: int
    y: int = 0


@dataclasses.dataclass
class Thing:
    x: int
    later: int = dataclasses.field(init=False, default=0)


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    x: int


class Step(BaseModel):
    name: str
    secret: SecretStr = SecretStr("hidden")


class Plan(BaseModel):
    steps: list[Step]
    messages: list[BaseMessage] = []
    anything: Any = None


class Aliased(BaseModel):
    name: str = Field("default", alias="theName")


class Numbers(RootModel[list[int]]):
    pass


class Leaves:
    class Inner(BaseModel):
        x: int


class Stamped(BaseModel):
    at: datetime
    private: Any = Field(None, exclude=True)

    @field_serializer("at")
    def _at(self, at: datetime) -> str:
        return at.isoformat()


class Picky(BaseModel):
    x: int

    @field_validator("x")
    @classmethod
    def _even(cls, x: int) -> int:
        if x % 2:
            raise ValueError("odd")
        return x


SERDE = JsonPlusSerializer()
STRICT = JsonPlusSerializer(allowed_msgpack_modules=None)


def round_trip(value: Any, serde: JsonPlusSerializer = SERDE) -> Any:
    return serde.loads_typed(serde.dumps_typed(value))


SAFE = [
    uuid.UUID(int=5),
    Decimal("1.50"),
    date(2024, 1, 2),
    datetime(2024, 1, 2, 3, 4, 5, 6),
    datetime(2024, 1, 2, tzinfo=UTC),
    datetime(2024, 7, 2, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
    time(1, 2, 3, 4, tzinfo=UTC, fold=1),
    timedelta(1, 2, 3),
    timezone(timedelta(hours=2), "here"),
    ZoneInfo("Europe/Berlin"),
    Path("/a/b"),
    PurePosixPath("a/b"),
    re.compile("a", re.IGNORECASE),
    re.compile(b"a"),
    {1, 2},
    frozenset({1}),
    deque([1, 2]),
    deque([1, 2], maxlen=3),
    ip_address("1.2.3.4"),
    ip_address("::1"),
    ip_network("1.2.3.0/24"),
    ip_interface("1.2.3.4/24"),
    2**70,
    -(2**5000),
    1 + 2j,
    SecretStr("x"),
    Send("node", {"a": 1}),
    Send("node", 1, timeout=TimeoutPolicy(run_timeout=1)),
    Command(goto="a", update={"b": 1}),
    Interrupt("question", id="i"),
    Interrupt("question", id="i", response_schema={"type": "string"}),
    Overwrite([1]),
    DeltaSnapshot([1]),
    HumanMessage("hi", id="1"),
    AIMessage("hi", tool_calls=[{"name": "t", "args": {"a": 1}, "id": "1", "type": "tool_call"}]),
    Document(page_content="text", metadata={"a": 1}),
    Item(
        value={"a": 1}, key="k", namespace=("a", "b"), created_at=datetime(2024, 1, 1), updated_at=datetime(2024, 1, 1)
    ),
]


@pytest.mark.parametrize("value", SAFE, ids=lambda value: type(value).__name__)
def test_a_known_value_comes_back_equal_and_of_its_class_even_when_strict(value: Any):
    back = round_trip({"held": [value]}, STRICT)["held"][0]
    assert (type(back), back) == (type(value), value)


def test_a_time_keeps_the_name_of_its_zone():
    assert round_trip(datetime(2024, 7, 2, tzinfo=ZoneInfo("Europe/Berlin"))).tzinfo.key == "Europe/Berlin"


OWN = [Colour.RED, Level.HIGH, Word.YES, Point(1), Frozen(2), Leaves.Inner(x=1), Numbers([1, 2]), Step(name="a")]


@pytest.mark.parametrize("value", OWN, ids=lambda value: type(value).__name__)
def test_a_value_of_the_programs_own_class_comes_back(value: Any):
    back = round_trip(value)
    assert (type(back), back) == (type(value), value)


def test_a_dataclass_gets_back_the_fields_its_constructor_does_not_take():
    thing = Thing(1)
    thing.later = 5
    assert round_trip(thing) == thing


@pytest.mark.parametrize(
    ("value", "tag", "back"),
    [
        (None, "null", None),
        (b"a", "bytes", b"a"),
        (bytearray(b"a"), "bytearray", bytearray(b"a")),
        ((1, (2,)), "msgpack", [1, [2]]),
        ({1: "a", (1, 2): "b", None: "c"}, "msgpack", {1: "a", (1, 2): "b", None: "c"}),
        ("\ud800x", "msgpack", "?x"),
        (ValueError("boo"), "msgpack", "ValueError('boo')"),
    ],
)
def test_a_tag_says_what_the_bytes_are(value: Any, tag: str, back: Any):
    pair = SERDE.dumps_typed(value)
    assert pair[0] == tag
    assert SERDE.loads_typed(pair) == back


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    )
)
def test_plain_data_comes_back_as_it_was(value: Any):
    assert round_trip([value]) == [value]


def test_a_model_in_a_models_field_needs_no_listing_where_the_field_names_its_class():
    listed = JsonPlusSerializer(allowed_msgpack_modules=[Plan])
    plan = Plan(steps=[Step(name="a")])
    assert round_trip(plan, listed) == plan


def test_a_part_keeps_its_class_where_the_field_says_less():
    plan = Plan(
        steps=[], messages=[AIMessage("hi", tool_calls=[{"name": "t", "args": {}, "id": "1"}])], anything=Point(1)
    )
    back = round_trip(plan)
    assert back.messages == plan.messages
    assert back.anything == Point(1)


def test_a_field_with_an_alias_keeps_its_value():
    assert round_trip(Aliased(theName="given")) == Aliased(theName="given")


def test_a_models_own_serializer_is_asked_and_its_excluded_fields_stay_out():
    stamped = Stamped(at=datetime(2024, 1, 1), private="secret")
    assert b"secret" not in SERDE.dumps_typed(stamped)[1]
    assert round_trip(stamped).at == stamped.at


def test_a_model_that_would_not_validate_comes_back_as_it_was_stored():
    assert round_trip(Picky.model_construct(x=3)).x == 3


# -- numpy and pandas --------------------------------------------------------------------------------------------------

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")

ARRAYS = [
    np.arange(6).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(24).reshape(4, 6)[::2, ::2],
    np.array(["2024-01-31"], dtype="datetime64[D]"),
    np.array([5], dtype="timedelta64[s]"),
    np.array(["a", "bc"]),
    np.array([1, "a", None], dtype=object),
    np.array([(1, [2.0, 3.0])], dtype=[("a", "<i4"), ("b", "<f8", (2,))]),
    np.array([], dtype="<f4"),
    np.array(5),
    np.array([1 + 2j]),
]
SCALARS = [np.float64(1.5), np.int64(3), np.bool_(True), np.datetime64("2024-01-31"), np.float16(0.5)]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: str(array.dtype))
def test_an_array_comes_back_with_dtype_and_shape(array: Any):
    back = round_trip({"a": array})["a"]
    assert (type(back), back.dtype, back.shape) == (type(array), array.dtype, array.shape)
    assert np.array_equal(back, array)


def test_an_array_that_was_read_may_be_written_to():
    back = round_trip(np.arange(3))
    back[0] = 5
    assert back.tolist() == [5, 1, 2]


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda scalar: str(scalar.dtype))
def test_a_numpy_scalar_comes_back_with_its_dtype(scalar: Any):
    back = round_trip(scalar)
    assert (type(back), back) == (type(scalar), scalar)


def test_stored_bytes_are_never_taken_for_pointers():
    forged = ormsgpack.Ext(6, ormsgpack.packb([[["a", "|O"]], [1], "C", b"\x10" * 8]))
    assert isinstance(SERDE.loads_typed(("msgpack", ormsgpack.packb(forged))), list)


@pytest.mark.parametrize("value", [pd.Timestamp(1, unit="ns"), pd.Timestamp(0, tz="Europe/Berlin"), pd.Timedelta(5)])
def test_a_point_in_time_of_pandas_comes_back(value: Any):
    back = round_trip(value)
    assert (type(back), back) == (type(value), value)
    assert getattr(back, "tz", None) == getattr(value, "tz", None)


def test_not_a_time_comes_back():
    assert round_trip([pd.NaT])[0] is pd.NaT


def test_a_masked_array_is_refused_rather_than_stored_without_its_mask():
    with pytest.raises(TypeError, match="MaskedArray"):
        SERDE.dumps_typed(np.ma.array([1, 2], mask=[0, 1]))


def test_an_error_names_the_type_and_where_it_is():
    with pytest.raises(TypeError, match=r"function at \['a'\]\[1\]\.anything"):
        SERDE.dumps_typed({"a": [1, Plan(steps=[], anything=lambda: 1)]})


def test_a_frame_is_pickled_where_the_program_asks_for_that():
    frame = pd.DataFrame({"n": [1, 2]}, index=["r1", "r2"])
    pickling = JsonPlusSerializer(pickle_fallback=True)
    pair = pickling.dumps_typed(frame)
    assert pair[0] == "pickle"
    assert pickling.loads_typed(pair).equals(frame)
    with pytest.raises(NotImplementedError, match="only with pickle_fallback"):
        SERDE.loads_typed(pair)


# -- what stored bytes may do ------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def events() -> Any:
    """What the serializer told while the test ran; each type is warned of anew."""
    _warned.clear()
    heard: list[SerdeEvent] = []
    stop = register_serde_event_listener(heard.append)
    yield heard
    stop()


def forged(code: int, *payload: Any) -> tuple[str, bytes]:
    return "msgpack", ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(list(payload))))


def test_a_type_that_is_on_no_list_is_revived_with_one_warning(
    events: list[SerdeEvent], caplog: pytest.LogCaptureFixture
):
    assert [round_trip(Thing(1)), round_trip(Thing(2))] == [Thing(1), Thing(2)]
    assert [event["kind"] for event in events] == ["msgpack_unregistered_allowed"] * 2
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "unregistered type" in caplog.text


def test_a_listed_type_is_revived_without_a_word(events: list[SerdeEvent]):
    for entry in (Thing, (__name__, "Thing"), (*__name__.split("."), "Thing")):
        assert round_trip(Thing(1), JsonPlusSerializer(allowed_msgpack_modules=[entry])) == Thing(1)
    assert round_trip(Thing(1), STRICT.with_msgpack_allowlist([Thing])) == Thing(1)
    assert events == []


def test_a_strict_serializer_gives_the_data_of_other_types(events: list[SerdeEvent]):
    assert round_trip([Thing(1), Colour.RED], STRICT) == [{"x": 1, "later": 0}, "red"]
    assert [event["kind"] for event in events] == ["msgpack_blocked"] * 2


@pytest.mark.parametrize("variable", ["RUNTIME_STRICT_MSGPACK", "LANGGRAPH_STRICT_MSGPACK"])
def test_the_environment_makes_strict_the_default(variable: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(variable, "true")
    assert round_trip(Thing(1), JsonPlusSerializer()) == {"x": 1, "later": 0}
    assert round_trip(Thing(1), JsonPlusSerializer(allowed_msgpack_modules=True)) == Thing(1)


def test_a_module_that_the_program_has_not_imported_stays_so(tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "evil_module.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert SERDE.loads_typed(forged(EXT_CONSTRUCTOR_KW_ARGS, "evil_module", "Thing", {"x": 1})) == {"x": 1}
    assert "evil_module" not in sys.modules


def test_a_modules_getattr_is_not_asked(monkeypatch: pytest.MonkeyPatch):
    lazy = ModuleType("lazy_module")
    lazy.__getattr__ = lambda name: pytest.fail(f"asked for {name}")  # type: ignore[method-assign]  # a module's hook
    monkeypatch.setitem(sys.modules, "lazy_module", lazy)
    assert SERDE.loads_typed(forged(EXT_CONSTRUCTOR_KW_ARGS, "lazy_module", "Thing", {"x": 1})) == {"x": 1}


@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize(("module", "name"), [("subprocess", "Popen"), ("os", "system"), ("builtins", "eval")])
def test_what_is_no_plain_data_is_never_called(code: int, module: str, name: str):
    import subprocess  # noqa: F401  # it has to be there to be refused

    assert SERDE.loads_typed(forged(code, module, name, ["false"], "__call__")) == ["false"]


def test_a_method_is_not_called_but_for_that_of_datetime(events: list[SerdeEvent]):
    assert SERDE.loads_typed(forged(EXT_METHOD_SINGLE_ARG, "pathlib", "Path", "/tmp", "touch")) == "/tmp"
    assert events == [{"kind": "msgpack_method_blocked", "module": "pathlib", "name": "Path", "method": "touch"}]
    back = SERDE.loads_typed(forged(EXT_METHOD_SINGLE_ARG, "datetime", "datetime", "2024-01-01", "fromisoformat"))
    assert back == datetime(2024, 1, 1)


@pytest.mark.parametrize(
    "payload",
    [
        (2, __name__, "Thing", {"no such": 1}),
        (0, __name__, "Colour", "no such"),
        (3, "datetime", "datetime", "no date", "fromisoformat"),
        (1, "decimal", "Decimal", ["x", "y", "z"]),
    ],
)
def test_what_cannot_be_rebuilt_comes_back_as_its_data(payload: Any, caplog: pytest.LogCaptureFixture):
    assert SERDE.loads_typed(forged(*payload)) == payload[3]
    assert "Could not reconstruct" in caplog.text


def test_an_unknown_extension_comes_back_as_its_bytes():
    assert SERDE.loads_typed(("msgpack", ormsgpack.packb(ormsgpack.Ext(99, b"zz")))) == b"zz"


def test_a_listener_that_fails_does_not_stop_the_reading(events: list[SerdeEvent]):
    stop = register_serde_event_listener(lambda event: 1 / 0)
    try:
        assert round_trip(Thing(1)) == Thing(1)
    finally:
        stop()
        stop()
    assert len(events) == 1


def test_a_hook_of_the_programs_own_reads_the_extensions():
    serde = JsonPlusSerializer(__unpack_ext_hook__=lambda code, data: code)
    assert round_trip([{1}, 2], serde) == [0, 2]
    assert round_trip([{1}], serde.with_msgpack_allowlist([Thing])) == [0]


def test_types_that_langgraph_wrote_are_ours():
    assert SERDE.loads_typed(forged(1, "langgraph.types", "Send", ["node", 1])) == Send("node", 1)
    old = {"value": "v", "resumable": True, "ns": ["a:1"], "when": "during"}
    assert SERDE.loads_typed(forged(2, "langgraph.types", "Interrupt", old)).value == "v"


@pytest.mark.parametrize("tag", ["yaml", "pickle"])
def test_an_unknown_tag_is_refused(tag: str):
    with pytest.raises(NotImplementedError, match=tag):
        SERDE.loads_typed((tag, b""))


# -- old checkpoints, in JSON ------------------------------------------------------------------------------------------


def from_json(value: Any, serde: JsonPlusSerializer = SERDE) -> Any:
    return serde.loads_typed(("json", json.dumps(value).encode()))


def constructor(*path: str, **rest: Any) -> dict[str, Any]:
    return {"lc": 2, "type": "constructor", "id": list(path), **rest}


def test_json_revives_safe_values():
    assert from_json({"a": constructor("uuid", "UUID", args=["0" * 32])}) == {"a": uuid.UUID(int=0)}
    assert from_json(constructor("langgraph", "types", "Send", kwargs={"node": "a", "arg": 1})) == Send("a", 1)
    stamp = constructor("datetime", "datetime", method="fromisoformat", args=["2024-01-01"])
    assert from_json(stamp) == datetime(2024, 1, 1)


def test_json_revives_listed_types_only():
    stored = constructor(*__name__.split("."), "Thing", kwargs={"x": 1})
    assert from_json(stored) == stored
    assert from_json(stored, JsonPlusSerializer(allowed_json_modules=[tuple(stored["id"])])) == Thing(1)
    assert from_json(stored, JsonPlusSerializer(allowed_json_modules=True)) == Thing(1)


@pytest.mark.parametrize("path", [("subprocess", "Popen"), ("os", "system"), ("no_such_module", "Thing")])
def test_json_never_calls_what_is_no_plain_data(path: tuple[str, str]):
    stored = constructor(*path, args=["false"])
    assert from_json(stored, JsonPlusSerializer(allowed_json_modules=True)) == stored


def test_json_ignores_a_method():
    stored = constructor(*__name__.split("."), "Step", kwargs={"name": "a"}, method=[None, "construct"])
    assert from_json(stored, JsonPlusSerializer(allowed_json_modules=True)) == Step(name="a")


def test_json_revives_messages_in_langchains_own_form_and_nothing_else():
    message = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"]}
    assert from_json({**message, "kwargs": {"content": "hi"}}) == HumanMessage("hi")
    model = {"lc": 1, "type": "constructor", "id": ["langchain", "chat_models", "openai", "ChatOpenAI"], "kwargs": {}}
    assert from_json(model) == model
