"""What the tests of the proof share."""

import pytest

from tamis.panel.proof.effort import Effort


@pytest.fixture(autouse=True)
def no_clock(monkeypatch):
    """Time stands still: no search ends because the machine is busy; 0 seconds still end it."""
    monkeypatch.setattr(Effort, "seconds", 0.0)
