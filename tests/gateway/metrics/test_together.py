"""Pages of several processes as one."""

from __future__ import annotations

from gateway.metrics.together import together

ONE = """\
# HELP parley_calls Calls.
# TYPE parley_calls counter
parley_calls{line="sip"} 3
# HELP parley_files Files.
# TYPE parley_files gauge
parley_files 7
"""


def test_each_series_says_whose_it_is_and_families_stay_in_one_piece() -> None:
    assert (
        together({1: ONE.replace("3", "4"), 0: ONE})
        == """\
# HELP parley_calls Calls.
# TYPE parley_calls counter
parley_calls{process="0",line="sip"} 3
parley_calls{process="1",line="sip"} 4
# HELP parley_files Files.
# TYPE parley_files gauge
parley_files{process="0"} 7
parley_files{process="1"} 7
"""
    )


def test_labels_may_hold_anything() -> None:
    page = '# TYPE x gauge\nx{a="} 1 \\" {b",c="d"} +Inf\n'
    assert together({0: page}) == '# TYPE x gauge\nx{process="0",a="} 1 \\" {b",c="d"} +Inf\n'
