#!/usr/bin/env bash
# differential.sh STEPS: holds Redis and the process to each other in so many random checks of each
# algorithm. TIERLIMIT_SEED repeats the run of a failure, which prints it.
set -euo pipefail

TIERLIMIT_DIFFERENTIAL=${1:?usage: differential.sh STEPS} exec go test -count=1 -timeout=1h -v -run '^TestStoresAgree$' ./core/redisstore
