"""A wrong value is refused before anything is installed, and the message names it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.manifests.helm import HelmError

if TYPE_CHECKING:
    from tests.manifests.helm import Helm

pytestmark = pytest.mark.e2e

REFUSED = {
    "a name that is none": ("nodeagent.runtimeclass=nvidia", "runtimeclass"),
    "a part that is none": ("agent.hostPort=1", "agent"),
    "no replica": ("controller.replicas=0", "/controller/replicas"),
    "a text for a number": ("controller.replicas=two", "/controller/replicas"),
    "a port too high": ("nodeagent.hostPort=70000", "/nodeagent/hostPort"),
    "the socket for its folder": (
        "nodeagent.containerdFolder=/run/containerd/containerd.sock",
        "/nodeagent/containerdFolder",
    ),
    "a folder that is relative": ("nodeagent.containerdFolder=run", "/nodeagent/containerdFolder"),
    "a pull policy that is none": ("controller.image.pullPolicy=Sometimes", "IfNotPresent"),
    "a share of nothing": ("nodeagent.maxUnavailable=0%", "/nodeagent/maxUnavailable"),
    "an image without a name": ("nodeagent.image.repository=", "/nodeagent/image/repository"),
    "a variable's name with a dash": ("nodeagent.env.LOG-LEVEL=x", "/nodeagent/env"),
    "a class above the system's": ("priorityClass.value=2000000000", "/priorityClass/value"),
    "a caller that is none": ("nodeagent.callers[0].ip=10.0.0.1", "/nodeagent/callers/0"),
}


@pytest.mark.parametrize(("value", "named"), REFUSED.values(), ids=REFUSED.keys())
def test_the_schema_names_what_is_wrong(value: str, named: str, helm: Helm) -> None:
    with pytest.raises(HelmError) as refused:
        helm.template("--set", value)
    assert "don't meet the specifications of the schema" in str(refused.value)
    assert named in str(refused.value)
