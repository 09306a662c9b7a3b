#!/usr/bin/env bash
# Runs examples/order_saga, kills it with kill -9 in the middle of its third step, runs it again, and
# makes sure that the order was finished exactly once. Part of ./demo, and a test.
#
#     tools/kill_order_saga.sh build/bin/order_saga
set -euo pipefail

program=${1:?which program? usage: kill_order_saga.sh build/bin/order_saga}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

: >"$place/first" # the loop below may look before the program is there
"$program" "$place/orders" >"$place/first" &
victim=$!
disown # the shell shall not comment its death
for ((tries = 0; tries < 1000; tries++)); do
    ! grep -q 'print label' "$place/first" || break
    kill -0 "$victim" 2>/dev/null || break
    sleep 0.02
done
kill -9 "$victim" || true # it may have ended by itself, which the next lines find out
while kill -0 "$victim" 2>/dev/null; do sleep 0.02; done
cat "$place/first"
grep -q 'print label' "$place/first" || { echo "the order never came to its third step" >&2; exit 1; }
echo "killed with kill -9; what the journal has of it: $(cat "$place"/orders/journal/*.log |
    grep -ac '"op"') records"
echo

"$program" "$place/orders" | tee "$place/second"

# A recorded step never runs again; the one that was under way when the process died does.
! grep -qE '^  (reserve stock|charge card) ' "$place/second" ||
    { echo "a step that was recorded ran again" >&2; exit 1; }
for step in 'reserve stock' 'charge card'; do
    [[ $(grep -cx "$step" "$place/orders.world") == 1 ]] ||
        { echo "'$step' did not happen exactly once" >&2; exit 1; }
done
[[ $(grep -c '"type":"OrchestrationCompleted"' "$place/second") == 1 ]] ||
    { echo "the order was not finished exactly once" >&2; exit 1; }
echo
echo "finished exactly once; no recorded step ran again"
