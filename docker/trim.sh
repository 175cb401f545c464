#!/bin/sh
# Takes out of an environment what no running service reads. Used by the Dockerfile only.
set -eu
environment=$1

# Tests that packages install with themselves, and C sources of compiled modules.
find "$environment" -type d \( -name tests -o -name test \) -path '*/site-packages/*' -prune \
    -exec rm -rf {} +
find "$environment" \( -name '*.c' -o -name '*.h' -o -name '*.pyx' -o -name '*.pxd' \) -delete
rm -f "$environment"/bin/activate* "$environment"/bin/Activate.ps1
