#!/usr/bin/env bash
# Kills a worker process with kill -9 ten thousand times (half an hour and more) and makes sure that
# nothing that was acknowledged is lost and no recorded step runs again. The seed is printed; give it
# to kill at the same moments again.
#
#     tools/kill_nine.sh build/bin/kill_nine [cycles] [seed]
set -euo pipefail

program=${1:?which program? usage: kill_nine.sh build/bin/kill_nine [cycles] [seed]}
exec "$program" --cycles "${2:-10000}" ${3:+--seed "$3"}
