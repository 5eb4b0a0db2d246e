"""Small raw graphs for tests of the engine: actors and channels, with no state graph around them."""

from typing import Any

from runtime.channels import BaseChannel, BinaryOperatorAggregate, EphemeralValue, LastValue
from runtime.pregel import NodeBuilder, Pregel


def add(left: int, right: int) -> int:
    return left + right


def chain(**kwargs: Any) -> Pregel:
    """in -> one (adds 1) -> mid -> two (times 10) -> out."""
    return Pregel(
        nodes={
            "one": NodeBuilder().subscribe_only("in").do(lambda x: x + 1).write_to("mid"),
            "two": NodeBuilder().subscribe_only("mid").do(lambda x: x * 10).write_to("out"),
        },
        channels={"in": EphemeralValue(int), "mid": EphemeralValue(int), "out": LastValue(int)},
        input_channels="in",
        output_channels="out",
        **kwargs,
    )


def fan(names: str = "ab", total: BaseChannel | None = None, **kwargs: Any) -> Pregel:
    """Every node of `names` is woken by "in" and writes 1 to "total"."""
    return Pregel(
        nodes={name: NodeBuilder().subscribe_only("in").do(lambda x: 1).write_to("total") for name in names},
        channels={"in": EphemeralValue(int), "total": total or BinaryOperatorAggregate(int, add)},
        input_channels="in",
        output_channels="total",
        **kwargs,
    )
