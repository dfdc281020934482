"""The look is measured, not believed: contrast on both backgrounds, and distance under colour-vision deficiency."""

import itertools
import json

import numpy as np
import pytest

from mlxcel_lab.store.types import Origin, RemovalCause
from mlxcel_lab.view import theme

LIGHT, DARK = "#ffffff", "#111111"  # JupyterLab's two cell backgrounds
# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
MARKS = [theme.HIT, theme.REJECTED, theme.RESIDENT, *theme.CAUSES.values()]


def _linear(colour):
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def _contrast(one, other):
    low, high = sorted(float(TO_XYZ[1] @ _linear(c)) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


def _lab(colour, vision):
    xyz = TO_XYZ @ np.clip(np.array(VISION[vision]) @ _linear(colour), 0, 1) / np.array([0.9505, 1, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("background", [LIGHT, DARK])
def test_text_marks_and_areas_stand_out_on_both_backgrounds(background):
    assert _contrast(theme.INK, background) >= 4.2
    assert all(_contrast(mark.colour, background) >= 2.5 for mark in MARKS)
    assert all(_contrast(colour, background) >= 2.2 for colour in theme.SESSION_COLOURS)


@pytest.mark.parametrize("vision", VISION)
def test_no_two_sessions_and_no_two_causes_look_alike_to_anybody(vision):
    causes = {mark.colour for mark in MARKS}
    for family in (theme.SESSION_COLOURS, causes):
        for one, other in itertools.combinations(family, 2):
            assert np.linalg.norm(_lab(one, vision) - _lab(other, vision)) > 9, (one, other)


def test_every_cause_reason_and_origin_has_a_look_and_causes_differ_by_shape_too():
    assert set(theme.CAUSES) == set(RemovalCause)
    assert set(theme.ORIGINS) == set(Origin)
    assert {*RemovalCause, *theme.MARKS} == {*theme.MARKS}
    on_the_time_line = [theme.HIT, theme.MISS, theme.REJECTED, *theme.CAUSES.values()]
    assert len({mark.shape for mark in on_the_time_line}) == len(on_the_time_line)
    assert len({mark.sign for mark in on_the_time_line}) == len(on_the_time_line)


def test_sessions_keep_their_colour_by_first_appearance_and_no_session_is_grey():
    colours = theme.session_colours(["b", None, "a", "b"])
    assert list(colours) == ["b", "no session", "a"]
    assert colours["b"] == theme.SESSION_COLOURS[0]
    assert colours["no session"] == theme.NO_SESSION_COLOUR
    assert theme.session_colours(map(str, range(9)))["8"] == theme.SESSION_COLOURS[0]


def test_the_look_travels_as_json():
    assert json.loads(json.dumps(theme.tokens())) == theme.tokens()
