#!/usr/bin/env bash
# Runs a program in an empty directory, kills it with kill -9 in the middle, runs it again, and prints
# what a person would have seen. Fails unless that is the transcript, so that documents which quote
# the transcript show what really happens.
#
#     tools/kill_and_run_again.sh TRANSCRIPT LINE STORED PROGRAM [argument...]
#
# It is killed when it has printed LINE and its store has STORED in the journal ('' for anything).
set -euo pipefail

transcript=$(readlink -f "${1:?usage: kill_and_run_again.sh TRANSCRIPT LINE STORED PROGRAM ...}")
line=${2:?after which line shall it be killed?}
stored=${3-}
program=$(readlink -f "${4:?which program?}")
shift 4
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/work"
cd "$place/work"
name=$(basename "$program")
command="./$name${*:+ $*}"

: >"$place/first" # the loop below may look before the program is there
"$program" "$@" >"$place/first" &
victim=$!
disown # the shell shall not comment its death
for ((tries = 0; tries < 3000; tries++)); do
    ! { grep -qxF "$line" "$place/first" && grep -qaF "$stored" ./*.store/journal/*.log; } || break
    kill -0 "$victim" 2>/dev/null || break
    sleep 0.01
done
kill -9 "$victim" || { echo "it ended before it could be killed" >&2; exit 1; }
while kill -0 "$victim" 2>/dev/null; do sleep 0.01; done

{
    echo "\$ $command      # meanwhile, in another terminal: pkill -9 $name"
    cat "$place/first"
    echo "Killed"
    echo "\$ $command"
    "$program" "$@"
} | tee "$place/seen"

diff "$transcript" "$place/seen" >&2 ||
    { echo "this is not what ${transcript##*/} says" >&2; exit 1; }
