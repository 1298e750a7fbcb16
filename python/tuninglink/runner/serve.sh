# Runs a batch on a board: reads an archive from standard input, runs its calls, and writes an archive of what they left.
LC_ALL=C
dir=${0%/*}
cd "$dir" || exit 3
touch lease
echo $$ >batch
rm -rf calls batch.sh
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

# Runs a command within a number of seconds, in its own directory.
call() {
  number=$1 seconds=$2
  shift 2
  touch "$dir/lease" # commands may come one after the other, so that the client cannot renew it meanwhile
  mkdir -p "$dir/calls/$number" && cd "$dir/calls/$number" || exit 3
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
  echo $code >status
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
free=$(df -k . | tail -n 1 | sed 's/.* \([0-9][0-9]*\)  *[0-9][0-9]*%.*/\1/')
echo "tuninglink-answer $free $(echo "$error" | sed -n 1p)"
[ -d calls ] && tar cf - calls
rm -rf calls
