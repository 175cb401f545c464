"""The main job on real parts: kube-apiserver, containerd, real NVML calls, our console scripts.

`world` is one node with its servers, `scene` the objects that a test puts there, `truth` what the
answer must then be; `askers` ask it in four ways, `watching` asks while something breaks.
"""

import pytest

# So that a comparison that fails in one of these shows the difference.
pytest.register_assert_rewrite("tests.e2e.comparing", "tests.e2e.watching", "tests.e2e.world")
