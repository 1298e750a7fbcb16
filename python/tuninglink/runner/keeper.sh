# Removes the session of a board when its lease was not renewed for a number of seconds.
trap '' HUP INT
cd / || exit
dir=$1 limit=$2
step=$((limit / 4))
[ "$step" -gt 0 ] || step=1
touch -r "$dir/lease" "$dir/seen"
idle=0
while [ "$idle" -lt "$limit" ]; do
  sleep $step
  # Another user may have made a directory of this name since.
  [ -d "$dir" ] && [ ! -h "$dir" ] && [ -O "$dir" ] || exit 0
  idle=$((idle + step))
  # The clock of a board may be set while it runs, also back.
  if [ "$dir/lease" -nt "$dir/seen" ] || [ "$dir/lease" -ot "$dir/seen" ]; then
    touch -r "$dir/lease" "$dir/seen"
    idle=0
  fi
done
[ -O "$dir" ] && sh "$dir/close.sh"
