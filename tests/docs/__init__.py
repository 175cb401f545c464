"""That README.md, CONTRIBUTING.md, CHANGELOG.md and docs/ are true.

`pages` reads them, `shown` knows commands with their outputs, `world` is the simulated cluster
that they are run in, `settings_tables` makes the tables of settings, `messages` finds what the
code says to people.
"""

import pytest

# So that a comparison that fails there shows the difference.
pytest.register_assert_rewrite("tests.docs.shown", "tests.docs.world")
