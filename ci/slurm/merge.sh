#!/usr/bin/env bash
# merge.sh HARNESS OUT SHARDS: the shards' reports in one, with its page. Exit status: the first shard's that is not 0.
set -euo pipefail
harness=$1 out=$2 shards=$3
reports=()
status=0
for shard in $(seq "$shards"); do
  reports+=("$out/shard-$shard.json")
  code=$(cat "$out/shard-$shard.status")
  [ "$status" -ne 0 ] || status=$code
done
"$harness" merge "${reports[@]}" --out "$out/report.json"
"$harness" report "$out/report.json" --html "$out/report.html"
"$harness" report "$out/report.json" | tail -n 12
exit "$status"
