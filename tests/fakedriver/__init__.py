"""A fake NVIDIA driver: `libnvidia-ml.so.1` in C, following a scenario that tests change.

`scenario` has the values a test writes, `driver` puts them before the library and reads
back what was called, `build` compiles it. The README.md beside this file tells the rest.
"""
