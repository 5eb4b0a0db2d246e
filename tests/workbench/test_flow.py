from hypothesis import given
from hypothesis import strategies as st

from workbench.flow import aside, backward, by_itself, fan


def test_a_line_has_no_way_back():
    assert backward("abc", [("a", "b"), ("b", "c")]) == set()


def test_a_loop_is_broken_where_it_returns():
    assert backward("abc", [("a", "b"), ("b", "c"), ("c", "a")]) == {("c", "a")}


def test_a_loop_begins_where_it_is_entered():
    ways = [("start", "b"), ("b", "a"), ("a", "b")]
    assert backward(["start", "a", "b"], ways) == {("a", "b")}


def test_the_fewest_ways_lead_back():
    ways = [("s", "r"), ("r", "g"), ("g", "x"), ("g", "t"), ("x", "t"), ("t", "r")]
    assert backward(["s", "x", "t", "g", "r"], ways) == {("t", "r")}


def test_a_way_to_itself_leads_nowhere_back():
    assert backward("a", [("a", "a")]) == set()


def test_a_way_back_to_what_was_just_passed_needs_no_help():
    ways = [("s", "a"), ("a", "b"), ("b", "a"), ("b", "c"), ("c", "a")]
    back = backward("sabc", ways)
    assert back == {("b", "a"), ("c", "a")}
    assert by_itself("sabc", ways, back) == {("b", "a")}


def test_a_way_back_to_what_may_be_passed_by_needs_help():
    ways = [("s", "a"), ("s", "b"), ("a", "b"), ("b", "a")]
    assert by_itself("sab", ways, {("b", "a")}) == set()


def test_a_trip_aside_only_leads_back():
    ways = [("agent", "tools"), ("tools", "agent"), ("agent", "end")]
    assert aside(ways) == {("agent", "tools"), ("tools", "agent")}


def test_a_fan_is_as_wide_as_nodes_with_the_same_neighbours():
    assert fan([("hub", one) for one in "abc"] + [("c", "hub"), ("c", "d")]) == 2
    assert fan([("a", "b"), ("b", "c"), ("c", "d")]) == 1
    assert fan([]) == 0


@given(st.lists(st.tuples(st.sampled_from("abcdefg"), st.sampled_from("abcdefg")), max_size=20))
def test_without_the_ways_back_no_loop_is_left(ways):
    nodes = list("abcdefg")
    left = {way for way in ways if way[0] != way[1]} - backward(nodes, ways)
    while left:
        targets = {target for _, target in left}
        free = {way for way in left if way[0] not in targets}
        assert free, f"a loop is left in {left}"
        left -= free
