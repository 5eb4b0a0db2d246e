"""What the frames of any recording keep to, on random programs."""

from workbench.index import count_of

VALUES = ["value", "input", "result", "answer"]  # whatever a graph's values are
FOLDED = ("BinaryOperatorAggregate", "LastValue", "DeltaChannel")


def test_each_write_of_a_superstep_belongs_to_a_task_that_ran(recorded):
    for one in recorded:
        rec = one.rec
        loop = rec.supersteps.query("source == 'loop'")[["ns", "step"]].drop_duplicates()
        writes = rec.writes.merge(loop, on=["ns", "step"]).query("node != '__input__'")
        assert set(writes.task_id) <= set(rec.tasks.task_id), one


def test_each_trigger_and_each_read_belongs_to_a_planned_task(recorded):
    for one in recorded:
        planned = {task.id for superstep in one.rec.index.supersteps for task in superstep.tasks.values()}
        assert {*one.rec.triggers.task_id, *one.rec.reads.task_id} <= planned, one


def test_each_triggers_version_is_greater_than_the_seen_one(recorded):
    for one in recorded:
        triggers = one.rec.triggers
        assert (triggers.version > triggers.seen.fillna(-1)).all(), one


def test_versions_are_the_channels_made_wide(recorded):
    for one in recorded:
        for run in one.rec.index.runs:
            for superstep, versions, values in run.states():
                for change in superstep.updated.changes:
                    assert versions[change.channel] == change.version, one
                    assert (change.channel in values) == change.available, one
        last = one.rec.channels.dropna(subset="version").groupby(["ns", "step", "channel"], sort=False).version.last()
        wide = one.rec.versions.set_index(["ns", "step"])
        for (ns, step, channel), version in last.items():
            assert version in set(wide.loc[[(ns, step)], channel].dropna()), (str(one), ns, step, channel)


def test_folding_the_writes_by_the_reducer_gives_the_value(recorded):
    folded = 0
    for one in recorded:
        for row in one.rec.channels.query("updated").itertuples():
            if row.kind in FOLDED and len(row.writers):
                who = one.rec.who(row.channel, row.step, ns=row.ns)
                known = [fold.after for fold in who.writes if fold.known]
                assert not known or known[-1] == who.value, one
                folded += len(known)
    assert folded > 200


def test_a_version_only_grows_within_a_run(recorded):
    for one in recorded:
        for run in one.rec.index.runs:
            for change in (change for superstep in run.supersteps for change in superstep.changes()):
                before = count_of(change.version_before)
                assert before is None or before < count_of(change.version), one


def test_no_column_is_of_objects_where_a_dtype_serves(recorded):
    for one in recorded:
        for name in ("supersteps", "tasks", "triggers", "writes", "channels", "checkpoints", "interrupts"):
            frame = getattr(one.rec, name)
            for column in frame.select_dtypes(object).columns.difference(VALUES):
                kinds = {type(value) for value in frame[column].dropna()}
                assert kinds not in ({int}, {str}, {bool}, {float}), (str(one), name, column)
