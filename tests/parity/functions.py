"""A program's function on one engine: an entrypoint and its tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.parity.bodies import Body, Failed, Wish, finish, finish_async
from tests.parity.build import Builder
from tests.parity.spec import Function, Step


def function(builder: Builder, spec: Function, saver: Any) -> Any:
    """The entrypoint, which can be called as a graph is."""
    engine = builder.engine
    steps = [
        (step, [_task(builder, step, name, index) for name in step.tasks]) for index, step in enumerate(spec.steps)
    ]

    def body(inputs: Any, previous: Any) -> Body:
        builder.runs["main"] += 1
        log = [*inputs["log"], f"before {len(previous['log']) if previous else None}"]
        for index, (step, tasks) in enumerate(steps):
            if not tasks:
                log.append(f"main{index}={engine.types.interrupt(f'main{index}')}")
                continue
            try:
                log += map(str, (yield Wish("call", tasks, len(log))))
            except Failed as error:
                if not step.caught:
                    raise
                log.append(f"caught {error}")
        result = {"log": log}
        return engine.func.entrypoint.final(value=result, save={"log": log[:1]}) if spec.saves else result

    def main(inputs: Any, *, previous: Any = None) -> Any:
        return finish(body(inputs, previous))

    async def amain(inputs: Any, *, previous: Any = None) -> Any:
        return await finish_async(builder.quiet, body(inputs, previous))

    chosen: Any = amain if builder.colour == "async" else main
    chosen.__name__ = "main"
    return engine.func.entrypoint(checkpointer=saver)(chosen)


def _task(builder: Builder, step: Step, name: str, index: int) -> Callable[[Any], Any]:
    engine, where = builder.engine, f"{name}{index}"

    def body(number: int) -> Body:
        builder.runs[f"{where} {number}"] += 1
        word = f"{where}({number})"
        for ask in range(step.asks):
            word += f"={engine.types.interrupt(f'{where}{ask}')}"
        if step.fails:
            builder.runs[f"fail {where}"] += 1
            if step.fails < 0 or builder.runs[f"fail {where}"] <= step.fails:
                yield Wish("settle", where)
                raise Failed(where)
        return {"word": word, "none": None, "zero": 0, "empty": ""}[step.gives]

    def task(number: int) -> Any:
        return finish(body(number))

    async def atask(number: int) -> Any:
        return await finish_async(builder.quiet, body(number))

    policy = engine.types.RetryPolicy(max_attempts=step.tries, initial_interval=0.0, jitter=False, retry_on=Failed)
    chosen: Any = atask if builder.colour == "async" else task
    chosen.__name__ = where
    return engine.func.task(retry_policy=policy)(chosen)
