# Runs a batch on a board: reads an archive from standard input, runs its calls, and writes an archive of what they left.
LC_ALL=C
dir=${0%/*}
cd "$dir" || exit 3
touch lease
echo $$ >batch
# A process that was killed may wait for its parent to notice, or another one may have its number.
case $(tr '\0' ' ' <"/proc/$(cat keeper)/cmdline") in
*"$dir/keeper.sh"*) kept=yes ;;
*) kept=no ;;
esac 2>/dev/null
rm -rf calls batch.sh
mkdir calls
unpacked=$(tar xf - 2>&1) || unpacked=${unpacked:-failed}

# State of the board after a call: clocks in kHz, temperatures in millidegrees.
state() {
  [ -d /sys/devices/system/cpu/cpu0/cpufreq ] &&
    cat /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq | sort -n | tail -n 1 | sed 's/^/clock /'
  for zone in /sys/class/thermal/thermal_zone*; do
    [ -d "$zone" ] || continue
    case $(cat "$zone/type") in
    *[Cc][Pp][Uu]* | *soc* | *pkg*) sed 's/^/temperature /' "$zone/temp" ;;
    esac
  done
} 2>/dev/null

# Sets `up` to the seconds since some time in the past, which go on evenly when the clock is set.
now() {
  { read -r up rest </proc/uptime; } 2>/dev/null || up=$(date +%s)
  up=${up%%.*}
}

# Runs a command within a number of seconds, in its own directory.
call() {
  number=$1 seconds=$2
  shift 2
  touch "$dir/lease" # commands may come one after the other, so that the client cannot renew it meanwhile
  # Not its parents, which are gone when the session was ended.
  mkdir "$dir/calls/$number" && cd "$dir/calls/$number" || exit 3
  now
  began=$up
  if command -v timeout >/dev/null 2>&1; then
    timeout -s KILL "$seconds" "$@" >stdout 2>stderr </dev/null &
    echo $! >"$dir/running"
    wait $!
    code=$?
  else
    "$@" >stdout 2>stderr </dev/null &
    own=$!
    echo $own >"$dir/running"
    (
      left=$seconds
      while [ "$left" -gt 0 ]; do
        kill -0 $own || exit
        sleep 1
        left=$((left - 1))
      done
      kill -9 $own
    ) >/dev/null 2>&1 &
    wait $own
    code=$?
  fi
  # A process may also be killed by a kernel without memory, before its time.
  [ "$code" -gt 123 ] && now && [ $((up - began)) -ge "$seconds" ] && code="$code late"
  echo "$code" >status
  rm -f "$dir/running"
  state >state
  cd "$dir" || exit 3
}

# Writes a file that repeats other ones: for each of them, its name, its size, and the bytes to write.
assemble() {
  target=files/$1
  [ -f "$target" ] && return
  shift
  while [ $# -gt 0 ]; do
    left=$3
    while [ "$left" -ge "$2" ]; do
      cat "files/$1"
      left=$((left - $2))
    done
    [ "$left" -gt 0 ] && head -c "$left" "files/$1"
    shift 3
  done >"$target.part" && mv "$target.part" "$target"
}

error=$unpacked
[ -n "$error" ] || error=$(. ./batch.sh 2>&1)
rm -f batch batch.sh
touch lease
free=$(df -Pk . | tail -n 1 | sed 's/.* \([0-9][0-9]*\)  *[0-9][0-9]*%.*/\1/')
echo "tuninglink-answer $kept $free $(echo "$error" | sed -n 1p)"
[ -d calls ] && tar cf - calls
rm -rf calls
