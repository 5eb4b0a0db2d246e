import importlib

import pytest

from runtime.errors import EmptyChannelError

NAMES = {
    "runtime.checkpoint.base": "Checkpoint CheckpointMetadata CheckpointTuple BaseCheckpointSaver ChannelVersions"
    " PendingWrite DeltaChannelHistory SerializerProtocol EmptyChannelError copy_checkpoint empty_checkpoint"
    " create_checkpoint get_checkpoint_id get_checkpoint_metadata get_serializable_checkpoint_metadata WRITES_IDX_MAP"
    " EXCLUDED_METADATA_KEYS writes_sort_key",
    "runtime.checkpoint.base.id": "uuid6 UUID",
    "runtime.checkpoint.memory": "InMemorySaver MemorySaver PersistentDict",
    "runtime.checkpoint.postgres": "PostgresSaver ShallowPostgresSaver BasePostgresSaver Conn",
    "runtime.checkpoint.postgres.aio": "AsyncPostgresSaver AsyncShallowPostgresSaver Conn",
    "runtime.checkpoint.postgres.base": "BasePostgresSaver",
    "runtime.checkpoint.postgres.shallow": "ShallowPostgresSaver AsyncShallowPostgresSaver",
    "runtime.checkpoint.serde.base": "SerializerProtocol UntypedSerializerProtocol SerializerCompat CipherProtocol"
    " maybe_add_typed_methods",
    "runtime.checkpoint.serde.jsonplus": "JsonPlusSerializer InvalidModuleError EXT_CONSTRUCTOR_SINGLE_ARG"
    " EXT_CONSTRUCTOR_POS_ARGS EXT_CONSTRUCTOR_KW_ARGS EXT_METHOD_SINGLE_ARG EXT_PYDANTIC_V1 EXT_PYDANTIC_V2"
    " EXT_NUMPY_ARRAY EXT_DELTA_SNAPSHOT",
    "runtime.checkpoint.serde.encrypted": "EncryptedSerializer",
    "runtime.checkpoint.serde.event_hooks": "SerdeEvent register_serde_event_listener emit_serde_event",
    "runtime.checkpoint.serde.types": "ERROR SCHEDULED INTERRUPT RESUME TASKS ChannelProtocol SendProtocol",
    "runtime.store.base": "BaseStore Item SearchItem Op GetOp PutOp SearchOp ListNamespacesOp MatchCondition"
    " NamespacePath NamespaceMatchType Result IndexConfig TTLConfig InvalidNamespaceError NOT_PROVIDED NotProvided"
    " Embeddings ensure_embeddings tokenize_path get_text_at_path validate_op_namespace",
    "runtime.store.base.batch": "AsyncBatchedBaseStore",
    "runtime.store.memory": "InMemoryStore",
    "runtime.store.sqlite": "SqliteStore AsyncSqliteStore",
    "runtime.store.sqlite.aio": "AsyncSqliteStore",
    "runtime.store.postgres": "PostgresStore AsyncPostgresStore PoolConfig",
    "runtime.store.postgres.aio": "AsyncPostgresStore",
    "runtime.cache.base": "BaseCache FullKey Namespace ValueT",
    "runtime.cache.memory": "InMemoryCache",
}


@pytest.mark.parametrize("module", NAMES)
def test_a_module_has_the_names_that_programs_import(module: str):
    found = importlib.import_module(module)
    assert [name for name in NAMES[module].split() if not hasattr(found, name)] == []
    assert [name for name in getattr(found, "__all__", ()) if not hasattr(found, name)] == []


def test_there_is_one_error_for_an_empty_channel():
    assert importlib.import_module("runtime.checkpoint.base").EmptyChannelError is EmptyChannelError
