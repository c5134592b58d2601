"""What `cargo xtask free-threaded` runs: threads that nothing but this library keeps
apart."""

import sys

import pytest


def test_there_is_no_gil():
    assert sys.version_info >= (3, 13) and not sys._is_gil_enabled()
