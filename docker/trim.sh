#!/bin/sh
# Takes out of an environment what no running service reads. Used by the Dockerfile only.
set -eu
environment=$1

# Wheels bring their tests, C sources, and debug symbols: of uvloop's 14 MB 12 are such.
find "$environment" -type d \( -name tests -o -name test \) -path '*/site-packages/*' -prune \
    -exec rm -rf {} +
find "$environment" \( -name '*.c' -o -name '*.h' -o -name '*.pyx' -o -name '*.pxd' \) -delete
find "$environment" -name '*.so' -exec strip --strip-debug {} +
rm -f "$environment"/bin/activate* "$environment"/bin/Activate.ps1

# The Kubernetes client is there twice, and gpupods uses the one without asyncio. Its API classes
# are generated, and two thirds of their source are comments: they are kept compiled alone.
kubernetes=$(echo "$environment"/lib/python3*/site-packages/kubernetes)
if [ -d "$kubernetes" ]; then
    rm -rf "$kubernetes/aio"
    "$environment/bin/python" -m compileall -q -b "$kubernetes/client"
    find "$kubernetes/client" -name '*.py' -delete
    find "$kubernetes/client" -name __pycache__ -prune -exec rm -rf {} +
fi
