"""What is said of an NVML error."""

import pynvml
import pytest

from nodeagent.gpus.nvml_errors import (
    GPU_GONE,
    LIBRARY_GONE,
    DriverUnavailableError,
    ask_driver,
    explain,
)


@pytest.mark.parametrize("code", sorted(LIBRARY_GONE | GPU_GONE))
def test_errors_that_end_something_say_what_they_mean(code: int) -> None:
    words = explain("nvmlDeviceGetName", pynvml.NVMLError(code))
    function, name, meaning = words.split(": ", 2)
    assert function == "nvmlDeviceGetName"
    assert name.startswith("NVML_ERROR_")
    assert len(meaning) > 20


def test_an_error_without_a_known_meaning_has_its_name() -> None:
    words = explain("nvmlDeviceGetName", pynvml.NVMLError(pynvml.NVML_ERROR_MEMORY))
    assert words == "nvmlDeviceGetName: NVML_ERROR_MEMORY (Insufficient Memory)"


def test_an_error_newer_than_the_binding_has_its_number() -> None:
    assert "NVML error 777" in explain("nvmlDeviceGetName", pynvml.NVMLError(777))


def test_a_driver_that_must_answer_and_does_not() -> None:
    def failing() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_DRIVER_NOT_LOADED)

    with pytest.raises(DriverUnavailableError, match="failing: NVML_ERROR_DRIVER_NOT_LOADED"):
        ask_driver(failing)
