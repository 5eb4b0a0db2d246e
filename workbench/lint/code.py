"""What the source of a node or router says, read as a syntax tree and never run.

Python's own parser reads the file, or the notebook's cell, in which a function stands. What an expression cannot tell
without running (a name that is computed, a value from elsewhere) stays unknown, and nothing is claimed of it.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from workbench import callables

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_NOQA = re.compile(r"#\s*noqa:\s*((?:WB\d+[,\s]*)+)")
_LIBRARIES = ("langgraph.", "runtime.", "langchain_core.", "langchain.")
_UNKNOWN = object()


class Code(NamedTuple):
    """A function with its tree. `first` is the name of the parameter that takes the state; empty without one."""

    function: Any  # a FunctionType, which a type checker would bind like a method
    tree: _Function
    first: str
    line: int

    @property
    def place(self) -> str:
        """Where it stands, for a person: `agent.py:12`."""
        return f"{self.function.__code__.co_filename.rpartition('/')[2]}:{self.line}"


class Answer(NamedTuple):
    """One `return`: the keys that it writes, and where it goes by name.

    `keys` is None where it may write keys that are not read here, `goes` where it may go elsewhere. `sends` are the
    nodes that get a task of their own, `many` those that get one for each of something. `command` is True for a
    Command; `leaves` when it is meant for the graph around.
    """

    line: int
    keys: frozenset[str] | None = frozenset()
    goes: tuple[str, ...] | None = ()
    sends: tuple[str, ...] = ()
    many: tuple[str, ...] = ()
    command: bool = False
    leaves: bool = False


class Read(NamedTuple):
    """A key that the code takes from its state, and the line."""

    key: str
    line: int
    attribute: bool = False


def behind(thing: Any) -> Code | None:
    """The one function that a node or router runs, with its tree; None where there is none or it cannot be read."""
    bound = 0
    for _ in range(8):
        if isinstance(thing, FunctionType):
            break
        if isinstance(thing, MethodType):
            thing, bound = thing.__func__, 1
        elif isinstance(thing, partial):
            if thing.args:
                return None
            thing = thing.func
        elif callable(inner := getattr(thing, "func", None) or getattr(thing, "afunc", None)):
            thing = inner
        elif isinstance(called := vars(type(thing)).get("__call__"), FunctionType) and not hasattr(thing, "invoke"):
            thing, bound = called, 1
        else:
            return None
    mine = not str(getattr(thing, "__module__", "")).startswith(_LIBRARIES)
    return _code(thing, bound) if isinstance(thing, FunctionType) and mine else None


def _code(function: FunctionType, bound: int) -> Code | None:
    tree = _tree(function)
    if tree is None:
        return None
    names = _names_of(tree)[bound:]
    return Code(function, tree, names[0] if names else "", tree.lineno)


def _tree(function: FunctionType) -> _Function | None:
    """The one function that stands in the source where this one was made; None where that cannot be told."""
    code = function.__code__
    source = "".join(linecache.getlines(code.co_filename, function.__globals__))
    names = code.co_varnames[: code.co_argcount]
    found = [
        node for node in _functions(source).get((code.co_firstlineno, code.co_name), ()) if _names_of(node) == names
    ]
    return found[0] if len(found) == 1 else None


def _names_of(node: _Function) -> tuple[str, ...]:
    return tuple(one.arg for one in (*node.args.posonlyargs, *node.args.args))


@lru_cache(maxsize=64)
def _functions(source: str) -> Mapping[tuple[int, str], Sequence[_Function]]:
    """The functions of a source by their first line and name; none where it is no Python: a cell with magics."""
    try:
        module = ast.parse(source)
    except SyntaxError:
        return {}
    found: dict[tuple[int, str], list[_Function]] = {}
    for node in ast.walk(module):
        if isinstance(node, _Function):
            name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
            found.setdefault((_first_line(node), name), []).append(node)
    return found


def _first_line(node: _Function) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min(node.lineno, *(one.lineno for one in decorators), node.lineno)


def silenced(function: FunctionType) -> frozenset[str]:
    """The codes that a comment in the function's source, `# noqa: WB101`, asks not to hear of."""
    tree = _tree(function)
    if tree is None:
        return frozenset()
    lines = linecache.getlines(function.__code__.co_filename, function.__globals__)
    body = "".join(lines[_first_line(tree) - 1 : tree.end_lineno])
    return frozenset(code for found in _NOQA.findall(body) for code in re.findall(r"WB\d+", found))


# -- what it answers --------------------------------------------------------------------------------------------------


def answers(code: Code) -> list[Answer]:
    """Each way in which the function ends, besides raising. A generator ends in no way that can be read."""
    names = _names(code.function)
    if isinstance(code.tree, ast.Lambda):
        return list(_answers(code.tree.body, names))
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own(code.tree)):
        return [Answer(code.line, None, None)]
    found = []
    for node in own(code.tree):
        if isinstance(node, ast.Return):
            found += [_nothing(node)] if node.value is None else list(_answers(node.value, names))
    if _goes_on(code.tree.body):
        found.append(Answer(code.tree.body[-1].lineno))
    return found


def own(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function's own body, in the order written, without those of functions and classes inside it."""
    for child in ast.iter_child_nodes(tree):
        yield child
        if not isinstance(child, _Function | ast.ClassDef):
            yield from own(child)


def _nothing(node: ast.AST) -> Answer:
    return Answer(getattr(node, "lineno", 0))


def _answers(value: ast.expr, names: Mapping[str, Any]) -> Iterator[Answer]:
    """An expression as the answers that it may be: a condition gives two."""
    line = value.lineno
    match value:
        case ast.IfExp(body=one, orelse=other):
            yield from _answers(one, names)
            yield from _answers(other, names)
        case ast.Constant(value=None):
            yield Answer(line)
        case ast.Dict():
            yield Answer(line, _keys(value), ())
        case ast.Call() if _called(value) == "Command":
            yield _command(value, names)
        case ast.Call() if _called(value) == "dict" and not value.args:
            given = [one.arg for one in value.keywords]
            yield Answer(line, None if None in given else frozenset(str(one) for one in given), ())
        case _:
            goes, sends, many = _targets(value, names)
            yield Answer(line, None, goes, sends, many)


def _keys(value: ast.expr) -> frozenset[str] | None:
    if not isinstance(value, ast.Dict):
        return frozenset() if isinstance(value, ast.Constant) and value.value is None else None
    found = [key.value if isinstance(key, ast.Constant) else None for key in value.keys]
    return frozenset(map(str, found)) if None not in found else None


def _command(value: ast.Call, names: Mapping[str, Any]) -> Answer:
    given = {one.arg: one.value for one in value.keywords}
    if None in given or value.args:
        return Answer(value.lineno, None, None, command=True)
    keys = _keys(given["update"]) if "update" in given else frozenset()
    goes, sends, many = _targets(given["goto"], names) if "goto" in given else ((), (), ())
    return Answer(value.lineno, keys, goes, sends, many, True, leaves="graph" in given)


_Targets = tuple[tuple[str, ...] | None, tuple[str, ...], tuple[str, ...]]


def _targets(value: ast.expr, names: Mapping[str, Any]) -> _Targets:
    """Where an expression leads: nodes by name (None: not known), by Send, and by a Send for each of something."""
    match value:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            every = [_targets(one, names) for one in parts]
            known = [one[0] for one in every if one[0] is not None]
            goes = tuple(name for one in known for name in one) if len(known) == len(every) else None
            return goes, _all(every, 1), _all(every, 2)
        case ast.ListComp(elt=ast.Call() as sent) | ast.GeneratorExp(elt=ast.Call() as sent) if _called(sent) == "Send":
            target = _text(sent.args[0], names) if sent.args else None
            return ((), (), (target,)) if target is not None else (None, (), ())
        case ast.Call() if _called(value) == "Send":
            target = _text(value.args[0], names) if value.args else None
            return ((), (target,), ()) if target is not None else (None, (), ())
    target = _text(value, names)
    return ((target,) if target is not None else None), (), ()


def _all(every: list[_Targets], place: int) -> tuple[str, ...]:
    return tuple(name for one in every for name in one[place] or ())


def _text(value: ast.expr, names: Mapping[str, Any]) -> str | None:
    """The text that an expression is known to be: a constant, or a name that holds one (`END`, a member of an enum)."""
    found = _value(value, names)
    found = getattr(found, "value", found)
    return found if isinstance(found, str) else None


def _value(value: ast.expr, names: Mapping[str, Any]) -> Any:
    match value:
        case ast.Constant():
            return value.value
        case ast.Name():
            return names.get(value.id, _UNKNOWN)
        case ast.Attribute():
            owner = _value(value.value, names)
            return vars(owner).get(value.attr, _UNKNOWN) if isinstance(owner, type) else _UNKNOWN
    return _UNKNOWN


def _called(value: ast.expr) -> str:
    """The last part of the name that a call calls: `Send` in `types.Send(...)`."""
    called = value.func if isinstance(value, ast.Call) else value
    if isinstance(called, ast.Subscript):
        called = called.value
    return called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""


def _names(function: FunctionType) -> dict[str, Any]:
    """What the function's free names hold; its own variables hide those of the same name."""
    around = {**function.__globals__, **callables.closure(function)}
    for name in function.__code__.co_varnames:
        around.pop(name, None)
    return around


def _goes_on(body: list[ast.stmt]) -> bool:
    """True if a body may come to its end without a return."""
    match body[-1]:
        case ast.Return() | ast.Raise():
            return False
        case ast.If(body=one, orelse=other):
            return not other or _goes_on(one) or _goes_on(other)
        case ast.With(body=inner) | ast.AsyncWith(body=inner):
            return _goes_on(inner)
        case ast.Try(body=inner, handlers=handlers, orelse=after, finalbody=last):
            if last and not _goes_on(last):
                return False
            return _goes_on(after or inner) or any(_goes_on(one.body) for one in handlers)
        case ast.While(test=ast.Constant(value=True)) as loop:
            return any(isinstance(node, ast.Break) for node in own(loop))
        case ast.Match(cases=cases):
            whole = any(isinstance(one.pattern, ast.MatchAs) and one.pattern.pattern is None for one in cases)
            return not whole or any(_goes_on(one.body) for one in cases)
    return True


# -- what it reads ----------------------------------------------------------------------------------------------------


def reads(code: Code) -> list[Read]:
    """The keys that the code takes from its state by name, without those that it puts there or asks for first."""
    if not code.first:
        return []
    state = code.first
    found: list[Read] = []
    known: set[str] = set()
    for node in _bare(code.tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if name == state:
                return []  # from here on it is another object
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key)), ctx=ctx) if name == state:
                if isinstance(ctx, ast.Load):
                    found.append(Read(key, node.lineno))
                else:
                    known.add(key)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[ast.Constant(value=str(key)), *_]
            ) if name == state:
                found.append(Read(key, node.lineno))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="setdefault" | "update")) if name == state:
                return []
            case ast.Compare(left=ast.Constant(value=str(key)), ops=[ast.In() | ast.NotIn()]):
                known.add(key)
            case ast.Attribute(value=ast.Name(id=name), attr=key, ctx=ctx) if name == state:
                if isinstance(ctx, ast.Load):
                    found.append(Read(key, node.lineno, True))
                else:
                    known.add(key)
            case ast.Call(func=ast.Name(id="hasattr" | "getattr" | "setattr")):
                known |= {
                    one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)
                }
    return [one for one in found if one.key not in known]


def _bare(tree: _Function) -> Iterator[ast.AST]:
    """The nodes of a function that run under no `except`; of inner functions those that mean the same state."""
    body = [tree.body] if isinstance(tree, ast.Lambda) else tree.body
    hidden = {one.arg for one in (*tree.args.posonlyargs, *tree.args.args)}
    queue: list[ast.AST] = list(body)
    while queue:
        node = queue.pop()
        if isinstance(node, ast.Try) and node.handlers:
            queue += [*node.orelse, *node.finalbody]
            continue
        if isinstance(node, _Function) and hidden & {one.arg for one in node.args.args}:
            continue
        yield node
        queue += list(ast.iter_child_nodes(node))


# -- what it does before it asks --------------------------------------------------------------------------------------

_QUIET = ("print", "log", "logger", "logging", "_log", "_logger", "warnings", "writer", "get_stream_writer", "super")
_WORLD = frozenset({"requests", "httpx", "smtplib", "subprocess", "shutil", "sqlite3", "socket", "urllib", "os"})
_MUTATORS = frozenset({"append", "extend", "insert", "add", "update", "pop", "remove", "sort", "reverse", "clear"})


def effects_before_question(code: Code) -> list[tuple[str, int]]:
    """The calls and assignments before the first `interrupt()` that change something outside, with their lines."""
    lines = [node.lineno for node in own(code.tree) if isinstance(node, ast.Call) and _asks(node, code.function)]
    return [one for one in _effects(code.function, code.tree, 2) if one[1] < min(lines)] if lines else []


def _asks(node: ast.Call, function: FunctionType) -> bool:
    called = _value(node.func, _names(function))
    if isinstance(called, FunctionType) and not str(called.__module__).startswith(_LIBRARIES):
        return callables.asks(called)
    return _called(node) == "interrupt" or getattr(called, "__name__", "") == "interrupt"


def _effects(function: FunctionType, tree: ast.AST, depth: int) -> list[tuple[str, int]]:
    """What a function does to the world: calls made only for their effect, and assignments to what is outside."""
    names = _names(function)
    thrown_away = {id(_call_in(node.value)) for node in own(tree) if isinstance(node, ast.Expr)}
    outside = {name for node in own(tree) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    found = []
    for node in own(tree):
        if isinstance(node, ast.Call) and _has_effect(node, names, id(node) in thrown_away, depth):
            found.append((f"{ast.unparse(node.func)}(…)", node.lineno))
        elif isinstance(node, ast.Assign | ast.AugAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                name = target.id if isinstance(target, ast.Name) else ""
                if name in outside or (not isinstance(target, ast.Name) and _root(target) in {*names, "self"}):
                    found.append((ast.unparse(target), node.lineno))
    return found


def _has_effect(node: ast.Call, names: Mapping[str, Any], thrown_away: bool, depth: int) -> bool:
    called = _value(node.func, names)
    if isinstance(called, FunctionType) and not str(called.__module__).startswith(_LIBRARIES):
        tree = _tree(called)
        if tree is not None:
            return depth > 0 and bool(_effects(called, tree, depth - 1))
    root = _root(node.func)
    if root in _QUIET or _called(node) == "interrupt" or str(getattr(called, "__module__", "")).startswith(_LIBRARIES):
        return False
    if getattr(names.get(root), "__name__", "") in _WORLD:
        return thrown_away or root != "os"
    local = root not in names
    return thrown_away and not (local and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS)


def _call_in(value: ast.expr) -> ast.expr:
    return value.value if isinstance(value, ast.Await) else value


def _root(value: ast.expr) -> str:
    """The name that an expression starts from: `ledger` in `ledger.rows[0].append`."""
    while isinstance(value, ast.Attribute | ast.Subscript | ast.Call):
        value = value.func if isinstance(value, ast.Call) else value.value
    return value.id if isinstance(value, ast.Name) else ""
