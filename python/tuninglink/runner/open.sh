# Opens a session on a board: a directory with the scripts of this package, and the state of the board.
# The lines before this one set the variables `base`, `session`, `replaced`, `kept`, `limit`, `tools` and `prefix`.
LC_ALL=C
umask 077
fail() {
  echo "tuninglink-failed $1"
  exit 1
}
if [ -n "$base" ]; then mkdir -p "$base"; fi 2>/dev/null
for place in ${base:-"$TMPDIR" /tmp /data/local/tmp "$HOME"}; do
  # A shell on the way changes other characters.
  place=$([ -w "$place" ] && cd "$place" && pwd)
  case $place in
  '' | *[!A-Za-z0-9_./+@%:=-]*) place= ;;
  *) break ;;
  esac
done 2>/dev/null
[ -n "$place" ] || fail "no directory to write to${base:+: '$base'}"
boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)
is_of_this_boot() { [ "$(cat "$1/boot")" = "$boot" ]; }
# Whether a session has a keeper or, where the command that runs this ends all processes with it, a lease that is not over.
is_in_use() {
  is_of_this_boot "$1" || return
  case $(tr '\0' ' ' <"/proc/$(cat "$1/keeper")/cmdline") in
  *"$1/keeper.sh"*) return ;;
  esac
  heard=$(date -r "$1/lease" +%s) || return
  [ $(($(date +%s) - heard)) -lt "$(cat "$1/limit")" ]
}

# Remove sessions of an earlier boot and those that are not in use. The one that this one replaces may have files to keep.
others=0
replaced=$place/tuninglink-session-$replaced
for old in "$place"/tuninglink-session-*; do
  # Another user may have made one, to name processes of ours.
  [ -d "$old" ] && [ ! -h "$old" ] && [ -O "$old" ] || continue
  # Another run may be about to open it.
  if [ "$old" != "$replaced" ] && [ ! -s "$old/boot" ]; then
    made=$(date -r "$old" +%s) || continue
    [ $(($(date +%s) - made)) -ge "$limit" ] || continue
  fi
  if [ "$old" != "$replaced" ] && is_in_use "$old"; then
    others=$((others + 1))
    continue
  fi
  # After a reboot, the numbers may be those of other processes.
  is_of_this_boot "$old" && kill $(cat "$old/batch" "$old/running" | grep -x '[1-9][0-9]*')
  [ "$old" = "$replaced" ] && is_of_this_boot "$old" && [ -n "$kept" ] || rm -rf "$old"
done 2>/dev/null

dir=$place/tuninglink-session-$session
mkdir "$dir" "$dir/files" && touch "$dir/lease" || fail "cannot write to '$place'"
full() {
  rm -rf "$dir"
  fail "no space left in '$place'"
}
# From here on, other runs see that it is in use.
mark() { echo "$limit" >"$dir/limit" && echo "$boot" >"$dir/boot"; }
mark 2>/dev/null
for name in $kept; do
  mv "$replaced/files/$name" "$dir/files" && echo "kept $name"
done 2>/dev/null
rm -rf "$replaced"
[ -s "$dir/boot" ] || mark || full # the files that are removed now may have taken all space
cat >"$dir/close.sh" <<'END'
@close@
END
cat >"$dir/serve.sh" <<'END'
@serve@
END
cat >"$dir/keeper.sh" <<'END'
@keeper@
END
# A command that ends the group of its processes leaves one of another group.
$(command -v setsid) sh "$dir/keeper.sh" "$dir" "$limit" </dev/null >/dev/null 2>&1 &
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
  df -Pk "$place" | tail -n 1 | sed 's/.* \([0-9][0-9]*\)  *[0-9][0-9]*%.*/\1/' | say space
  df -Pk "$place" | tail -n 1 | while read -r source rest; do
    case $source in tmpfs | ramfs | none) echo "in-memory $source" ;; esac
  done
} 2>/dev/null
for tool in iree-benchmark-module iree-run-module; do
  output=$(eval "$prefix $tools$tool --list_drivers" 2>&1 </dev/null)
  echo "$tool $?"
  echo "$output" | sed -n '1,40p' | say "$tool-output"
done
for program in tar timeout head df; do
  command -v "$program" >/dev/null 2>&1 && echo "program $program"
done
# Its scripts run only where the directory is still of this user, as far as `find` can tell.
user=$(id -u)
if [ "$(echo yes | find "$dir" -prune -user "$user" -exec sh -c cat {} +)" = yes ]; then echo "owner $user"; fi 2>/dev/null
echo tuninglink-opened
