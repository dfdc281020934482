"""What the dashboard's tests share: dashboards on a model without weights, closed at the end."""

import pytest

from mlxcel_lab.view.dashboard import Dashboard

DRY = "dry/gated-delta"


@pytest.fixture
def dashboard():
    """Makes dashboards on a model without weights, and closes them."""
    made = []

    def make(*things, **settings):
        if not things or hasattr(things[0], "chat"):
            settings = {"model": DRY, **settings}
        made.append(Dashboard(*things, **settings))
        return made[-1]

    yield make
    for one in made:
        one.close()
