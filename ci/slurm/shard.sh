#!/usr/bin/env bash
# shard.sh HARNESS OUT SHARDS ARGUMENT...: one task of the array. Ends well where it left a report, whatever that says;
# the report's exit status stands beside it.
set -uo pipefail
harness=$1 out=$2 shards=$3
shift 3
shard=$SLURM_ARRAY_TASK_ID
restarts=${SLURM_RESTART_COUNT:-0}
report=$out/shard-$shard.json
most_restarts=5

echo "shard $shard of $shards on $(hostname), start $((restarts + 1))"
# What an earlier start has put into the journal is not run again.
"$harness" run "$@" --shard "$shard/$shards" --out "$report" --resume --progress always
code=$?
if [ -f "$report" ]; then
  echo "$code" >"$out/shard-$shard.status"
  exit 0
fi
# 128 and more: ended by a signal, such as that of the kernel out of memory or a node being drained. Anything else would
# end the same way again.
if [ "$code" -ge 128 ] && [ "$restarts" -lt "$most_restarts" ]; then
  echo "shard $shard ended by signal $((code - 128)): queued again"
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$shard" && sleep 60
fi
exit "$((code == 0 ? 3 : code))"
