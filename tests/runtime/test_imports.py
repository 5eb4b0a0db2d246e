"""What an import costs: a process loads what it uses, and no more."""

import json
import subprocess
import sys

LOADED = """
import json, sys
{first}
before = set(sys.modules)
{then}
print(json.dumps(sorted(name for name in set(sys.modules) - before if name.partition(".")[0] != "runtime")))
"""


def loaded(then, first=""):
    """The modules that `then` loads in a fresh process after `first`, but for the runtime's own."""
    script = LOADED.format(first=first, then=then)
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    return json.loads(shown)


def test_the_packages_alone_load_nothing_of_langchain():
    found = loaded("import runtime.graph, runtime.pregel, runtime.prebuilt, runtime.checkpoint, runtime.store")
    assert [name for name in found if name.startswith("lang")] == []


def test_a_state_graph_loads_langchains_runnable_and_beyond_it_the_format_and_the_hash_alone():
    found = loaded("from runtime.graph import StateGraph", "import langchain_core.runnables.base")
    assert {name.partition(".")[0] for name in found} <= {"ormsgpack", "xxhash"}


def test_a_saver_in_memory_and_what_nodes_return_load_nothing_more():
    first = "from runtime.graph import StateGraph"
    assert loaded("from runtime.checkpoint.memory import InMemorySaver; from runtime.types import Send", first) == []
