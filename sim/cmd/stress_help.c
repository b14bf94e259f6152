/* stress_help.c - what `picklock stress --help` says. */
#include "cmd/cmd.h"
#include "cmd/options.h"

/* clang-format off */
const char cmd_stress_help[] =
    "\n"
    "  --scheme A,B           run these, one after the other\n"
    "                         (default set-nx-ex-del,set-nx-px-cad)\n"
    "  --worker COMMAND       run this lock program, unmodified, a process for each client, in\n"
    "                         real time: 'python3 my_lock.py' (see sim/docs/WORKERS.md)\n"
    "  --clients N            number of clients, 1 to 10000 (default 50); of workers\n"
    "                         1 to 1000 (default 10)\n"
    "  --locks N              number of locks that they share (default: one for 25 clients)\n"
    "  --servers N            number of servers, 1 to 7 (default 1; 5 for quorums)\n"
    "  --cluster              three masters of a Redis Cluster, which are one server to clients:\n"
    "                         they follow MOVED and ASK, at most 5 times a command\n"
    "  --duration TIME        time for each scheme (default 10s); 0: until SIGINT or SIGTERM\n"
    "  --until-violation      end behind the first violation that counts as a failure\n"
    "  --heal TIME            so long behind that without faults; clients ask on, and must be\n"
    "                         granted locks again (default 0s; more than 3 leases)\n"
    "  --lease TIME           lease, rounded up to the scheme's unit (default 500ms)\n"
    "  --pause RATE           part of the critical sections in which the holder stalls\n"
    "                         (default 1%)\n"
    "  --pause-time TIME      mean length of such a stall (default 1.5 leases)\n"
    "  --delay RATE           part of the commands that are late, as request or reply\n"
    "                         (default 0.1%)\n"
    "  --delay-time TIME      mean length of such a delay (default half a lease)\n"
    "  --lose-reply RATE      part of the commands that are executed, the reply lost\n"
    "                         (default 0.05%)\n"
    "  --lose-request RATE    part of the commands that are never executed (default 0.05%)\n"
    "  --crash RATE           part of the operations in which the client crashes (default 0.05%)\n"
#define SERVER_STRIKE(id, field, option, by, choice, help, rates, never) help
#define SERVER_OUTAGE(id, field, option, by, choice, help, rates, never) help
#include "live/server_strikes.def"
#undef SERVER_STRIKE
#undef SERVER_OUTAGE
    "  --pause-after-grant RATE   part of the grants behind which the client stalls at once\n"
    "  --stall-in-release RATE    part of the releases that stall between two of their commands\n"
    "  --delay-past-lease RATE    part of the commands that are late by a lease to two\n"
    "  --drift RATE           part of the clients whose clocks run up to 10% fast or slow\n"
    "                         (default 0%)\n"
    "  --server-drift RATE    part of the servers whose clocks run 5 to 10% fast or slow\n"
    "                         (default 0%)\n"
    "  --no-faults            set all rates to 0, except those that are given\n"
    "  --direct               clients talk to the servers without the proxy: no faults of the\n"
    "                         network; the order is known all the same\n"
    "  --unix-sockets         clients reach the proxy by unix sockets, not over TCP: less CPU a\n"
    "                         command; no --refuse\n"
    "  --timeout TIME         how long a client waits for a reply (default a quarter of a lease)\n"
    "  --think LENGTHS        pause of a client between attempts: 5ms is always that, 2ms..8ms\n"
    "                         even, exponential:5ms of that mean (default 0us..400us a client)\n"
    "  --hold LENGTHS         work of a holder before its release (default 0us)\n"
    "  --seed N               seed of the faults and tokens (default 1)\n"
    "  --shard K/N            run only part K of N of the schemes\n"
    "  --real-time            do not preload our library into the servers: one command at a time\n"
    "                         is with each then, as with a server behind --redis\n"
    "  --history              keep every event (about 1 kB for each operation)\n"
    "  --history-rotate N     in files of about N MB each: NAME.jsonl, NAME.2.jsonl and so on\n"
    FAIL_ON_HELP("bug")
    SERVER_HELP
    OUTPUT_HELP;
/* clang-format on */
