"""The token strip and the table of lost tokens: nothing unescaped, the difference marked, the sums right."""

from html.parser import HTMLParser

from mlxcel_lab.explain import Cause, Evidence, Explanation, Piece
from mlxcel_lab.view.misses import TokenStrip, lost_chart, where_lost


def _told(cause=Cause.RETOKENISED, lost=7, stored=("<b>", "a\n", "x"), requested=("<b>", "a\n", "y")):
    sides = [tuple(Piece(i + 5, i, text) for i, text in enumerate(side)) for side in (stored, requested)]
    return Explanation(cause, Evidence(20, 7, 12, 7, 1, "user", *sides, {"who": "<script>"}), lost)


class _Titles(HTMLParser):
    """Collects the tags that were opened and the tokens' titles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.titles = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.titles += [value for name, value in attrs if name == "title"]


def test_html_is_escaped_and_marks_the_difference_from_its_position_on():
    read = _Titles(TokenStrip(_told())._repr_html_())
    assert read.tags == {"div", "b", "table", "tr", "th", "td", "span", "i"}
    assert [title.endswith("differs") for title in read.titles] == [False, False, True] * 2


def test_plain_text_shows_both_sides_with_the_difference_in_brackets():
    lines = repr(TokenStrip(_told())).splitlines()
    assert lines[1] == "  stored    <b>|a↵|<x>"
    assert lines[2] == "  requested <b>|a↵|<y>"


def test_without_a_position_nothing_is_marked():
    told = Explanation(Cause.FIRST_REQUEST, Evidence(20))
    assert "differs" not in TokenStrip(told)._repr_html_()


def test_the_strip_takes_the_pages_own_colours():
    shown = TokenStrip(_told())._repr_html_()
    assert "color:inherit" in shown
    assert "#fff" not in shown.lower()


def test_lost_tokens_are_summed_by_cause_the_most_first():
    frame = where_lost([_told(lost=5), _told(Cause.EVICTED, 90), None, _told(lost=5)])
    assert frame["cause"].to_list() == ["evicted", "re-tokenised"]
    assert frame["lost_tokens"].to_list() == [90, 10]
    assert frame["requests"].to_list() == [1, 2]
    assert frame["share"].to_list() == [0.9, 0.1]


def test_a_run_that_lost_nothing_has_an_empty_table_and_still_a_chart():
    frame = where_lost([None])
    assert frame.is_empty()
    assert lost_chart(frame).to_dict()["layer"]
