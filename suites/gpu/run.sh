#!/bin/sh
# run.sh COMMAND...: on the GPU, or under the emulator whose command MLA_EMULATOR begins.
exec ${MLA_EMULATOR:-} "$@"
