# Ends a session on a board: the call that runs, and its directory.
dir=${0%/*}
kill "$(cat "$dir/batch")" "$(cat "$dir/running")" 2>/dev/null
rm -rf "$dir"
[ ! -e "$dir" ] || { sleep 1 && rm -rf "$dir"; }
