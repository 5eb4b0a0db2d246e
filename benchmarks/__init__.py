"""How fast the runtime is, as a ratio to LangGraph: the same workloads on both engines, in turns, in one run.

`table` says what is measured and what must hold; `workloads` are the programs; `worker` measures one of them in a
process of its own; `measure` lets the engines take turns; `report` writes the figures down. Nothing imports this.
"""
