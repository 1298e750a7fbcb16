# Opens a session on a board: a directory with the scripts of this package, and the state of the board.
# The lines before this one set the variables `base`, `session`, `replaced`, `limit`, `tools` and `prefix`.
LC_ALL=C
umask 077
fail() {
  echo "tuninglink-failed $1"
  exit 1
}
if [ -n "$base" ]; then mkdir -p "$base"; fi 2>/dev/null
for place in ${base:-"$TMPDIR" /tmp /data/local/tmp "$HOME"}; do
  [ -d "$place" ] && [ -w "$place" ] && break
  place=
done
[ -n "$place" ] || fail "no directory to write to${base:+: '$base'}"
place=$(cd "$place" && pwd)
boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)

# Remove sessions of an earlier boot, of ended keepers, and the one that this one replaces.
others=0
for old in "$place"/tuninglink-*; do
  [ -d "$old" ] || continue
  if [ "$old" = "$place/tuninglink-$replaced" ] || [ "$(cat "$old/boot")" != "$boot" ] ||
    ! kill -0 "$(cat "$old/keeper")"; then
    # After a reboot, the number may be that of another process.
    [ "$(cat "$old/boot")" = "$boot" ] && kill "$(cat "$old/running")"
    rm -rf "$old"
  else
    others=$((others + 1))
  fi
done 2>/dev/null

dir=$place/tuninglink-$session
mkdir "$dir" "$dir/files" && touch "$dir/lease" || fail "cannot write to '$place'"
full() {
  rm -rf "$dir"
  fail "no space left in '$place'"
}
echo "$boot" >"$dir/boot" || full
cat >"$dir/close.sh" <<'END'
@close@
END
cat >"$dir/serve.sh" <<'END'
@serve@
END
cat >"$dir/keeper.sh" <<'END'
@keeper@
END
sh "$dir/keeper.sh" "$dir" "$limit" </dev/null >/dev/null 2>&1 &
echo $! >"$dir/keeper" || full

# Describe the board: a key and a value in each line.
say() { while read -r line; do echo "$1 $line"; done; }
cpu=/sys/devices/system/cpu
echo "tuninglink-session $dir"
echo "boot $boot"
echo "others $others"
echo "kernel $(uname -r)"
echo "machine $(uname -m)"
echo "processors $(nproc 2>/dev/null || grep -c ^processor /proc/cpuinfo)"
{
  grep -m 1 '^model name' /proc/cpuinfo | sed 's/[^:]*: *//' | say processor
  grep -m 1 '^Hardware' /proc/cpuinfo | sed 's/[^:]*: *//' | say hardware
  grep '^CPU part' /proc/cpuinfo | sed 's/[^:]*: *//' | sort -u | say part
  echo "$(tr -d '\0' </proc/device-tree/model)" | say model
  getprop ro.product.model | say model
  sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo | say memory
  cat "$cpu"/cpu[0-9]*/cpufreq/scaling_governor | sort -u | say governor
  cat "$cpu"/cpu[0-9]*/cpufreq/cpuinfo_max_freq | sort -n | tail -n 1 | say clock
  cat "$cpu"/cpu0/cache/index*/size | say cache
  df -k "$place" | tail -n 1 | sed 's/.* \([0-9][0-9]*\)  *[0-9][0-9]*%.*/\1/' | say space
} 2>/dev/null
for tool in iree-benchmark-module iree-run-module; do
  output=$(eval "$prefix $tools$tool --list_drivers" 2>&1 </dev/null)
  echo "$tool $?"
  echo "$output" | sed -n '1,40p' | say "$tool-output"
done
for program in tar timeout head df; do
  command -v "$program" >/dev/null 2>&1 && echo "program $program"
done
echo tuninglink-opened
