#!/bin/sh
# Starts install.py with the Python that this kit is for: sh install.sh --target DIR
kit=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
wanted=$(sed -n 's/^ *"python": "\(3\.[0-9]*\)".*/\1/p' "$kit/kit.json")
for python in ${PYTHON:+"$PYTHON"} "python$wanted" python3 python; do
  said=$("$python" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
  [ "$said" = "$wanted" ] && exec "$python" -I "$kit/install.py" "$@"
done
echo "satchel: this kit needs Python $wanted, which is not on the PATH; PYTHON=/path names one" >&2
exit 4
