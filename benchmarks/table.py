"""What is measured, and what must hold: the one place to add a workload or to move a goal."""

from typing import Literal, NamedTuple

from benchmarks.job import Maker
from benchmarks.workloads import growth, models, recording, saved, savers, start, steps, streams, tasks


class Workload(NamedTuple):
    """A job of one size, its clock, and how many times faster than LangGraph it must and should be.

    CPU time is the steadier clock on a shared machine, but it does not see waiting for a disk or another thread.
    A workload that is not `warm` is timed the very first time it runs in its process.
    """

    name: str
    make: Maker
    size: int
    unit: str = "step"
    must: float | None = None
    aim: float | None = None
    clock: Literal["cpu", "wall"] = "cpu"
    warm: bool = True


class Shape(NamedTuple):
    """A job in growing sizes. `most` bounds the exponent: the cost of a unit grows as size ** exponent."""

    name: str
    make: Maker
    sizes: tuple[int, ...]
    unit: str = "step"
    most: float | None = None

    def workloads(self) -> list[Workload]:
        """One workload for each size."""
        return [Workload(f"{self.name}, {size}", self.make, size, self.unit) for size in self.sizes]


STATES = (("1 kB", 1), ("300 keys", 300), ("5 MB", 5000))
SAVERS = [
    Workload(f"{make.__name__.replace('_', ' ')}, {state}", make, size, "checkpoint", 1, 2)
    for make in savers.ALL
    for state, size in STATES
] + [  # most of the work is another process's, and only the wall's clock sees it
    Workload(f"{make.__name__.replace('_', ' ')}, {state}", make, size, "checkpoint", 1, clock="wall")
    for make in savers.ON_SERVER
    for state, size in STATES
]

SAVERS_MUST, SAVERS_AIM = 1.0, 2.0  # the geometric mean over these

WORKLOADS = (
    Workload("import", start.imports, 1, "import", 2.5, 4, warm=False),
    Workload("import_graph", start.import_graph, 1, "import", 3, 4, warm=False),
    Workload("compile_10", start.compile_chain, 10, "node", 6, 12),
    Workload("compile_100", start.compile_chain, 100, "node", 6, 12),
    Workload("compile_1000", start.compile_chain, 1000, "node", 6, 12),
    Workload("cold", start.cold, 100, "node", 8, 14),
    Workload("invoke_1node", start.one_node, 200, "run", 10, 18),
    Workload("first_event", start.first_event, 1000, "run", 40, 100),
    Workload("chain_10", steps.chain_steps, 10, "step", 8, 12),
    Workload("chain_100", steps.chain_steps, 100, "step", 8, 12),
    Workload("chain_1000", steps.chain_steps, 1000, "step", 12, 18),
    Workload("loop_1000", steps.ring_steps, 1000, "step", 8, 12),
    Workload("callbacks", steps.callbacks, 100, "step", 2.5, 4),
    Workload("functional", steps.functional, 200, "task", 10, 30),
    Workload("wide_state", steps.wide_state, 300, "step", 8, 14),
    Workload("wide_dict", steps.wide_dict, 300, "step", 7, 12),
    Workload("pydantic_state", steps.pydantic_state, 100, "step", 3, 5),
    Workload("ainvoke_chain", steps.ainvoke_chain, 100, "step", 7, 12),
    Workload("astream_chain", steps.astream_chain, 100, "step", 7, 12),
    Workload("send_100", tasks.send, 100, "task", 10, 20),
    Workload("send_1000", tasks.send, 1000, "task", 10, 20),
    Workload("ainvoke_send", tasks.ainvoke_send, 300, "task", 6, 10),
    Workload("fan_subgraph", tasks.fan_subgraph, 50, "subgraph", 8, 16),
    Workload("threads", tasks.threads, 50, "step", 8, 14),
    Workload("threads_wall", tasks.threads, 50, "step", 8, 14, clock="wall"),
    Workload("messages", models.messages, 1000, "step", 8, 15),
    Workload("react", models.react, 50, "turn", 2, 3),
    Workload("stream_values", streams.stream_values, 200, "step", 8, 12),
    Workload("stream_updates", streams.stream_updates, 200, "step", 8, 12),
    Workload("stream_debug", streams.stream_debug, 200, "step", 8, 12),
    Workload("stream_custom", streams.stream_custom, 200, "step", 4, 7),
    Workload("stream_custom_wall", streams.stream_custom, 200, "step", 4, 7, clock="wall"),
    Workload("memory_sync", saved.memory_sync, 200, "step", 7, 12),
    Workload("memory_async", saved.memory_async, 200, "step", 7, 12),
    Workload("memory_exit", saved.memory_exit, 200, "step", 7, 12),
    Workload("sqlite_sync_wall", saved.sqlite_sync, 200, "step", 2, 3, clock="wall"),
    Workload("sqlite_async", saved.sqlite_async, 200, "step", 5, 10),
    Workload("sqlite_exit", saved.sqlite_exit, 200, "step", 7, 11),
    Workload("history", saved.history, 500, "checkpoint", 2, 5),
    Workload("get_state", saved.get_state, 500, "call", 1.5, 4),
    Workload("fork", saved.fork, 20, "fork", 8, 15),
    Workload("interrupt", saved.interrupt, 200, "resume", 15, 25),
)

MEAN_MUST, MEAN_AIM = 6.0, 11.0  # the geometric mean over all of these
MEMORY_MUST, MEMORY_AIM = 1.0, 2.0  # LangGraph's peak memory / ours, where ours compares worst

RECORDED = (
    Workload("recorded, ten channels", recording.ten_channels, 1000),
    Workload("recorded, fan-out of 100", tasks.send, 100, "task"),
    Workload("recorded, agent of 20 turns", models.react, 20, "turn"),
    Workload("recorded, node of 1 ms", recording.busy_node, 200),
)
RECORDED_MOST = 0.15  # of a run's time

SHAPES = (
    Shape("steps behind it", steps.ring_steps, (250, 1000, 4000), most=0.1),
    Shape("nodes run in a chain", steps.chain_steps, (50, 200, 800), most=0.1),
    Shape("idle nodes", growth.idle_nodes, (1, 300, 3000), most=0.1),
    Shape("idle keys, empty", growth.empty_keys, (1, 300, 3000), most=0.1),
    Shape("idle keys, filled", growth.filled_keys, (1, 300, 3000)),
    Shape("idle keys, filled, saved", growth.filled_keys_saved, (1, 300, 3000)),
    Shape("for scale: dict.copy of the keys", growth.dict_copies, (1, 300, 3000), "copy"),
    Shape("saved steps, small state", growth.steps_saved, (100, 400, 1600), most=0.1),
    Shape("saved nodes in a chain", growth.chain_saved, (50, 200, 800), most=0.1),
    Shape("saved steps, growing list", saved.memory_async, (100, 400, 1600), most=0.3),
    Shape("saved steps, growing list, SQLite", saved.sqlite_async, (100, 400, 1200), most=0.3),
    Shape("history of a growing list", saved.history, (100, 400, 1600), "checkpoint", most=0.3),
    Shape("get_state after so many steps", saved.get_state, (100, 400, 1600), "call", most=0.3),
    Shape("runs on one thread", growth.runs_on_one_thread, (50, 200, 800), "run", most=0.1),
    Shape("interrupts on one thread", saved.interrupt, (50, 200, 800), "resume", most=0.1),
    Shape("tasks by Send", tasks.send, (100, 400, 1600), "task", most=0.1),
    Shape("tasks by Send, saved", growth.send_saved, (100, 400, 1600), "task", most=0.1),
    Shape("nodes in one step", growth.parallel_nodes, (50, 200, 800), "task", most=0.1),
    Shape("messages", models.messages, (100, 400, 1600), most=0.1),
    Shape("frames of a recording", recording.all_frames, (1000, 10_000), "superstep", most=0.1),
    Shape("summary of a recording", recording.summary, (1000, 10_000), "superstep", most=0.1),
    Shape("nodes compiled", start.compile_chain, (50, 200, 800), "node", most=0.1),
    Shape("depth of nesting", growth.nested, (2, 4, 8), "level", most=0.1),
)
