#!/usr/bin/env bash
# differential.sh STEPS: holds Redis and the process to each other in so many random checks of each
# algorithm, and then Redis, asked by several processes at once, to the slow model. TIERLIMIT_SEED repeats the run
# of a failure of the former, which prints it.
set -euo pipefail

TIERLIMIT_DIFFERENTIAL=${1:?usage: differential.sh STEPS} go test -count=1 -timeout=1h -v -run '^TestStoresAgree$' ./core/redisstore
exec go test -count=1 -timeout=1h -v -run '^TestProcessesAgreeWithTheModel$' ./core/redisstore -replays 20
