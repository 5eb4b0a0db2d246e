"""Frames, series, indexes and arrays of pandas as plain data and numpy arrays, and back, with their dtypes.

`FORMS` says for each class of pandas how it is told, as keyword arguments, and `made` makes it again. The serializer
stores what is told as an extension, so that nothing is pickled; a reader without pandas, or LangGraph, gets the data.
Columns keep their dtype: numpy's plain ones, objects (whose parts are stored one by one), text, categories, numbers
that may be missing, times with their zone and unit, periods, intervals. Other dtypes are refused with their name.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

Told = dict[str, Any]

MODULE: Final = __name__

NAME: Final = "made"


def teller(cls: type) -> Callable[[Any], Told] | None:
    """The function that tells an object of this class of pandas, or None where there is none."""
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    for name, tell in _TELLERS.items():
        base = getattr(pandas, name, None)
        if base is not None and (cls is base or (name in _FAMILIES and issubclass(cls, base))):
            return tell
    return _array if issubclass(cls, pandas.api.extensions.ExtensionArray) else None


def made(form: str, **told: Any) -> Any:
    """The object of pandas that was told so."""
    return _MAKERS[form](importlib.import_module("pandas"), **told)


# -- telling -----------------------------------------------------------------------------------------------------------


def _frame(frame: Any) -> Told:
    columns = [_column(frame.iloc[:, place]) for place in range(frame.shape[1])]
    return {"form": "frame", "index": frame.index, "columns": frame.columns, "data": columns, "attrs": frame.attrs}


def _series(series: Any) -> Told:
    return {
        "form": "series",
        "index": series.index,
        "data": _column(series),
        "name": series.name,
        "attrs": series.attrs,
    }


def _index(index: Any) -> Told:
    pandas = sys.modules["pandas"]
    if isinstance(index, pandas.RangeIndex):
        return {"form": "range", "start": index.start, "stop": index.stop, "step": index.step, "name": index.name}
    if isinstance(index, pandas.MultiIndex):
        levels, codes = list(map(_dense, index.levels)), [code.astype("int64") for code in index.codes]
        return {"form": "multi", "levels": levels, "codes": codes, "names": list(index.names)}
    freq = getattr(index, "freqstr", None) if not isinstance(index, pandas.PeriodIndex) else None
    return {"form": "index", "data": _column(index), "name": index.name, "freq": freq}


def _dense(index: Any) -> Any:
    """An index that is as long as its bytes."""
    pandas = sys.modules["pandas"]
    return pandas.Index(index.to_numpy(), name=index.name) if isinstance(index, pandas.RangeIndex) else index


def _column(column: Any) -> Any:
    """The values of a series or an index: an array of numpy's, or one of pandas'."""
    return column.to_numpy() if _is_plain(column.dtype) else column.array


def _is_plain(dtype: Any) -> bool:
    return type(dtype).__module__.partition(".")[0] == "numpy"


def _array(array: Any) -> Told:
    pandas = sys.modules["pandas"]
    dtype = array.dtype
    if type(array) is pandas.arrays.NumpyExtensionArray or _is_plain(dtype):
        return {"form": "plain", "values": array.to_numpy()}
    if isinstance(dtype, pandas.CategoricalDtype):
        codes = array.codes.astype("int64")
        return {"form": "categories", "codes": codes, "categories": dtype.categories, "ordered": bool(dtype.ordered)}
    if isinstance(dtype, pandas.StringDtype):
        absent = array.isna()
        texts = [None if gone else text for text, gone in zip(array, absent, strict=True)]
        return {"form": "text", "texts": texts, "storage": dtype.storage, "nullable": dtype.na_value is pandas.NA}
    if isinstance(dtype, pandas.DatetimeTZDtype):
        return {"form": "zoned", "values": array.to_numpy(f"M8[{dtype.unit}]"), "unit": dtype.unit, "zone": dtype.tz}
    if isinstance(dtype, pandas.PeriodDtype):
        periods = pandas.PeriodIndex(array)
        return {"form": "periods", "ordinals": periods.asi8, "freq": periods.freqstr}
    if isinstance(dtype, pandas.IntervalDtype):
        return {"form": "intervals", "left": array.left.array, "right": array.right.array, "closed": array.closed}
    if type(array).__name__ in _MASKED:
        absent, numpy_dtype = array.isna(), dtype.numpy_dtype
        return {"form": "masked", "values": array.to_numpy(numpy_dtype, na_value=numpy_dtype.type(0)), "absent": absent}
    raise TypeError(f"A pandas column of dtype {dtype} can't be serialised")


def is_table(value: Any) -> bool:
    """True for a frame or a series."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, (pandas.DataFrame, pandas.Series))


def parts(held: Any) -> Iterator[tuple[str, Any]]:
    """The columns of a frame, or the values of a column of objects, each with where it is."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(held, pandas.DataFrame):
        yield from ((f"[{name!r}]", held.iloc[:, place]) for place, name in enumerate(held.columns))
    elif pandas is not None and isinstance(held, (pandas.Series, pandas.Index)) and held.dtype == object:
        yield from ((f"[{place}]", part) for place, part in enumerate(held))
    elif pandas is not None and isinstance(held, (pandas.Series, pandas.Index)) and not _is_plain(held.dtype):
        yield ".array", held.array


def _period(period: Any) -> Told:
    return {"form": "period", "ordinal": period.ordinal, "freq": period.freqstr}


def _interval(interval: Any) -> Told:
    return {"form": "interval", "left": interval.left, "right": interval.right, "closed": interval.closed}


_TELLERS: Final[dict[str, Callable[[Any], Told]]] = {
    "DataFrame": _frame,
    "Series": _series,
    "Index": _index,
    "Period": _period,
    "Interval": _interval,
}

_FAMILIES: Final = ("Index",)
"""Classes whose subclasses are told by their form; one of another class would come back as its base."""

_MASKED: Final = {"IntegerArray": "iu", "FloatingArray": "f", "BooleanArray": "b"}
"""The arrays of values that may be missing, with the kinds of their values."""


# -- making ------------------------------------------------------------------------------------------------------------


def _made_frame(pandas: Any, index: Any, columns: Any, data: list[Any], attrs: dict[Any, Any]) -> Any:
    series = {place: _kept(pandas, each, index) for place, each in enumerate(data)}
    frame = pandas.DataFrame(series, index=index)
    frame.columns = columns
    frame.attrs = attrs
    return frame


def _made_series(pandas: Any, index: Any, data: Any, name: Any, attrs: dict[Any, Any]) -> Any:
    series = _kept(pandas, data, index)
    series.name = _key(name)
    series.attrs = attrs
    return series


def _kept(pandas: Any, data: Any, index: Any) -> Any:
    data = _values(pandas, data)
    if len(data) != len(index):
        raise ValueError(f"{len(data)} values stand at {len(index)} places")
    return pandas.Series(data, index=index, dtype=data.dtype)


def _values(pandas: Any, data: Any) -> Any:
    """The data, which are an array: a range or a scalar would become as long as the bytes say."""
    arrays = (pandas.api.extensions.ExtensionArray, sys.modules["numpy"].ndarray)
    if not isinstance(data, arrays) or data.ndim != 1:
        raise TypeError(f"an array is stored here, and not {type(data).__name__}")
    return data


def _made_index(pandas: Any, data: Any, name: Any, freq: str | None) -> Any:
    data = _values(pandas, data)
    index = pandas.Index(data, dtype=data.dtype, name=_key(name))
    if freq is not None:
        index.freq = freq
    return index


def _made_multi(pandas: Any, levels: list[Any], codes: list[Any], names: list[Any]) -> Any:
    codes = [_values(pandas, each) for each in codes]
    if any(isinstance(level, pandas.RangeIndex) for level in levels):
        raise TypeError("the levels of an index are stored value by value")
    return pandas.MultiIndex(levels=levels, codes=codes, names=[_key(name) for name in names])


def _made_masked(pandas: Any, values: Any, absent: Any) -> Any:
    values, absent = _values(pandas, values), _values(pandas, absent)
    [name] = [name for name, kinds in _MASKED.items() if values.dtype.kind in kinds]
    return getattr(pandas.arrays, name)(values, absent)


def _made_text(pandas: Any, texts: list[Any], storage: str, nullable: bool) -> Any:
    absent = pandas.NA if nullable else float("nan")
    try:
        dtype = pandas.StringDtype(storage, na_value=absent)
    except ImportError:  # written where pyarrow was
        dtype = pandas.StringDtype("python", na_value=absent)
    if not isinstance(texts, list):
        raise TypeError(f"texts are stored here, and not {type(texts).__name__}")
    return pandas.array(texts, dtype=dtype)


def _made_zoned(pandas: Any, values: Any, unit: str, zone: Any) -> Any:
    return pandas.DatetimeIndex(_values(pandas, values)).as_unit(unit).tz_localize("UTC").tz_convert(zone).array


def _made_categories(pandas: Any, codes: Any, categories: Any, ordered: bool) -> Any:
    return pandas.Categorical.from_codes(_values(pandas, codes), categories=categories, ordered=ordered)


def _key(name: Any) -> Any:
    """A name as it was: lists were tuples."""
    return tuple(map(_key, name)) if isinstance(name, list) else name


_MAKERS: Final[dict[str, Callable[..., Any]]] = {
    "frame": _made_frame,
    "series": _made_series,
    "index": _made_index,
    "multi": _made_multi,
    "range": lambda pandas, start, stop, step, name: pandas.RangeIndex(start, stop, step, name=_key(name)),
    "plain": lambda pandas, values: pandas.array(_values(pandas, values), dtype=values.dtype),
    "masked": _made_masked,
    "text": _made_text,
    "zoned": _made_zoned,
    "categories": _made_categories,
    "periods": lambda pandas, ordinals, freq: (
        pandas.PeriodIndex.from_ordinals(_values(pandas, ordinals), freq=freq).array
    ),
    "intervals": lambda pandas, left, right, closed: pandas.arrays.IntervalArray.from_arrays(
        _values(pandas, left), _values(pandas, right), closed
    ),
    "period": lambda pandas, ordinal, freq: pandas.Period(ordinal=ordinal, freq=freq),
    "interval": lambda pandas, left, right, closed: pandas.Interval(left, right, closed),
    "missing": lambda pandas: pandas.NA,
}
