"""A program's graph on one engine: the one builder for both, so that both get the same node functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from tests.parity.bodies import Body, Failed, Wish, finish, finish_async
from tests.parity.engines import Engine
from tests.parity.quiet import Quiet
from tests.parity.spec import END, Graph, Node, Route, To
from tests.parity.voice import Voice, message

_MOST_BODIES = 1000
MOST = 64  # a loop of graphs in graphs doubles a list each time round


def added(left: list[Any], right: list[Any]) -> list[Any]:
    """A reducer of lists."""
    return (left + right)[-MOST:]


def merged(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """A reducer of dicts."""
    return {**left, **right}


def joined(value: list[Any], writes: list[list[Any]]) -> list[Any]:
    """A delta channel's reducer."""
    return [*value, *(item for write in writes for item in write)][-MOST:]


def kinds(engine: Engine) -> dict[str, Any]:
    """What each state key may be declared as."""
    channels = engine.channels
    return {
        "log": Annotated[list, added],
        "x": int,
        "any": Annotated[str, channels.AnyValue],
        "brief": Annotated[str, channels.EphemeralValue],
        "secret": Annotated[str, channels.UntrackedValue],
        "topic": Annotated[list, channels.Topic(str)],
        "heap": Annotated[list, channels.Topic(str, accumulate=True)],
        "delta": Annotated[list, channels.DeltaChannel(joined, snapshot_frequency=2)],
        "map": Annotated[dict, merged],
        "talk": Annotated[list, engine.message.add_messages],
        "left": engine.managed.RemainingSteps,
        "last": engine.managed.IsLastStep,
    }


LISTS = ("log", "delta")


def value_for(key: str, word: str, step: int) -> Any:
    """What is written to a key."""
    if key in LISTS:
        return [word]
    if key == "x":
        return step
    if key == "talk":
        return [message(word)]
    return {word.partition("[")[0]: word} if key == "map" else word


def seen(state: Any) -> tuple[str, int]:
    """What a node reads, in short; and a number made of it."""
    if not isinstance(state, dict):
        return repr(state), 0
    parts = []
    for key, value in sorted(state.items()):
        parts.append(f"{key}{len(value)}" if isinstance(value, (list, dict)) else f"{key}={value!s:.12}")
    number = sum(len(v) if isinstance(v, (list, dict)) else v for v in state.values() if not isinstance(v, str))
    return " ".join(parts), int(number)


class Builder:
    """Makes one program's graphs on one engine. `runs` counts what its nodes did.

    A program whose nodes send themselves more and more work is `endless`: from then on its nodes do nothing.
    """

    def __init__(self, engine: Engine, colour: str) -> None:
        self.engine = engine
        self.colour = colour
        self.runs: Counter[str] = Counter()
        self.bodies = 0
        self.quiet = Quiet()

    def graph(self, spec: Graph, saver: Any, path: str = "") -> Any:
        """The compiled graph."""
        engine = self.engine
        known = kinds(engine)
        state = TypedDict("State", {key: known[key] for key in spec.keys}, total=False)  # type: ignore[misc]
        builder = engine.graph.StateGraph(state)
        for node in spec.nodes:
            self._add(builder, node, path)
        for start, end in spec.edges:
            builder.add_edge(list(start) if isinstance(start, tuple) else start, end)
        for index, route in enumerate(spec.routes):
            answers = [to.node for answer in route.answers for to in answer]
            mapped = list(dict.fromkeys(answers)) if route.mapped else None
            builder.add_conditional_edges(route.source, self._router(route, index), mapped)
        return builder.compile(saver, interrupt_before=list(spec.before), interrupt_after=list(spec.after))

    def _add(self, builder: Any, node: Node, path: str) -> None:
        types = self.engine.types
        where = f"{path}{node.name}"
        more: dict[str, Any] = {"defer": node.defer}
        if node.tries > 1:
            more["retry_policy"] = types.RetryPolicy(
                max_attempts=node.tries, initial_interval=0.0, jitter=False, retry_on=Failed
            )
        if node.handler:
            more["error_handler"] = self._handler(node)
        child = None if node.child is None else self.graph(node.child, node.child.saver, f"{where}/")
        if child is not None and not node.calls:
            builder.add_node(node.name, child, **more)
        else:
            builder.add_node(node.name, self._function(node, where, child), **more)

    def _handler(self, node: Node) -> Callable[..., Any]:
        def handle(state: Any, error: Any) -> Any:
            return {"log": [f"{node.name}!{type(error.error).__name__}"]}

        async def ahandle(state: Any, error: Any) -> Any:
            return handle(state, error)

        handler = ahandle if self.colour == "async" else handle
        handler.__annotations__ = {"error": "NodeError"}
        return handler

    def _function(self, node: Node, where: str, child: Any) -> Callable[[Any], Any]:
        body = self._body
        if self.colour == "async":

            async def afunction(state: Any) -> Any:
                return await finish_async(self.quiet, body(node, where, child, state))

            return afunction

        def function(state: Any) -> Any:
            return finish(body(node, where, child, state))

        return function

    def _body(self, node: Node, where: str, child: Any, state: Any) -> Body:
        engine = self.engine
        self.bodies += 1
        if self.endless:
            return None
        read, number = seen(state)
        self.runs[f"{where}[{read}]"] += 1
        word = f"{node.name}[{read}]"
        if node.tells:
            engine.config.get_stream_writer()((node.name, read))
        if node.speaks:
            yield Wish("invoke", Voice(), word)
        for _ in range(node.calls):
            result = yield Wish("invoke", child, {"log": [word]})
            word += f"<{seen(result)[0]}>"
        for index in range(node.asks):
            word += f"={engine.types.interrupt(f'{where}{index}')}"
        if node.fails:
            self.runs[f"fail {where} {number}"] += 1
            if node.fails < 0 or self.runs[f"fail {where} {number}"] <= node.fails:
                yield Wish("settle", where)
                raise Failed(where)
        if node.gives in ("wrong", "parent"):
            yield Wish("settle", where)
        return self._result(node, word, number)

    @property
    def endless(self) -> bool:
        """True once more nodes have run than anybody wants to wait for."""
        return self.bodies > _MOST_BODIES

    def _result(self, node: Node, word: str, number: int) -> Any:
        types = self.engine.types
        update: dict[str, Any] = {key: value_for(key, word, number + 1) for key in node.writes}
        if node.overwrites and "log" in update:
            update["log"] = types.Overwrite(update["log"])
        goto = [self._to(to) for to in node.goto]
        match node.gives:
            case "none":
                return None
            case "command":
                return types.Command(update=update, goto=goto)
            case "parent":
                return types.Command(graph=types.Command.PARENT, update=update, goto=goto)
            case "pairs":
                return types.Command(update=[*update.items(), *update.items()], goto=goto)
            case "list":
                return [types.Command(update=update, goto=goto), update]
            case "wrong":
                return "text"
        return update

    def _to(self, to: To) -> Any:
        if to.sends is None or to.node == END:
            return to.node
        return self.engine.types.Send(to.node, {"x": to.sends})

    def _router(self, route: Route, index: int) -> Callable[[Any], Any]:
        def router(state: Any) -> Any:
            value = state.get(route.reads, 0) if isinstance(state, dict) else 0
            number = value if isinstance(value, int) else len(value)
            return [self._to(to) for to in route.answers[number % len(route.answers)]]

        async def arouter(state: Any) -> Any:
            return router(state)

        found = arouter if self.colour == "async" else router
        found.__name__ = f"router{index}"
        return found
