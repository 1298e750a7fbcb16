# Ends a session on a board: the batch and the call that run, its directory, and its keeper.
dir=${0%/*}
keeper=$(cat "$dir/keeper")
kill $(cat "$dir/batch" "$dir/running" | grep -x '[1-9][0-9]*') 2>/dev/null
rm -rf "$dir"
[ ! -e "$dir" ] || { sleep 1 && rm -rf "$dir"; }
# Another process may have its number by now. Its group has also what it waits for.
case $(tr '\0' ' ' <"/proc/$keeper/cmdline") in
*"$dir/keeper.sh"*) kill -TERM "-$keeper" || kill "$keeper" ;;
esac 2>/dev/null
