"""Warnings in a notebook are lines of its output, each once."""

import logging

from mlxcel_lab.view import notebook_log


def test_a_warning_of_any_part_is_one_line_however_often_the_extension_was_loaded(capsys):
    notebook_log.register()
    notebook_log.register()
    logging.getLogger("mlxcel_lab.store").warning("the budget holds %d", 3)
    logging.getLogger("mlxcel_lab.store").info("nothing to see")
    notebook_log.unregister()
    logging.getLogger("mlxcel_lab.store").info("gone")
    assert capsys.readouterr().out == "warning: the budget holds 3\n"
