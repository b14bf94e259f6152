#!/bin/sh
# A naive and a safe scheme with 10 000 connected clients each, for a minute (or as long as the second word says).
#
#     harness/many_clients.sh [PICKLOCK [DURATION [CLIENTS]]]
#
# Through the proxy: where one process may not have so many open files, its ends of connections are held by processes of their
# own. Commands are late and lost on the way, holders stall, clients crash. The lease is 5 s, since on a small machine a command of
# so many clients waits for hundreds of milliseconds; and clients think for seconds, so that two cores with other work bear them. Ends
# with 0 when every client was connected, the network struck both, the naive scheme broke its lock by its own doing and the safe one
# did not.
set -u
picklock=${1:-build/picklock}
duration=${2:-60s}
clients=${3:-10000}
naive=set-nx-ex-del
safe=set-nx-px-cad

trap 'exit 130' INT
alone=
! setpriv --pdeathsig TERM true 2>/dev/null || alone="setpriv --pdeathsig TERM"
$alone "$picklock" stress --scheme "$naive,$safe" --clients "$clients" --locks $(((clients + 9) / 10)) --lease 5s --timeout 5s \
    --think 1s..5s --hold 100ms..300ms --no-faults --pause 1% --crash 0.1% --delay 0.2% --lose-reply 0.1% --lose-request 0.1% \
    --duration "$duration"
status=$?
[ "$status" -eq 1 ] || { echo "many_clients.sh: ended with status $status, and 1 was due" >&2; exit "$((status ? status : 1))"; }
"${PYTHON:-python3}" - reports/runs/latest/results.json "$clients" "$naive" "$safe" <<'END'
import json
import sys

path, clients, naive, safe = sys.argv[1:]
rows = {row["scheme"]: row for row in json.load(open(path))["results"]}
for row in rows.values():
    if row["stress"]["clients"] != int(clients):
        sys.exit(f"many_clients.sh: {row['scheme']}: {row['stress']['clients']} of {clients} clients were connected")
    struck = row["stress"]["struck"]
    if not all(struck.get(name) for name in ("delay", "lose-reply", "lose-request")):
        sys.exit(f"many_clients.sh: {row['scheme']}: the network did not strike with all faults: {struck}")
causes = {name: {one["cause"] for one in row["properties"] if one["verdict"] == "violated"} for name, row in rows.items()}
if "unlock-bug" not in causes[naive] or "unlock-bug" in causes[safe]:
    sys.exit(f"many_clients.sh: violated, with their causes: {causes}")
END
