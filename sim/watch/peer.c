/* peer.c - see peer.h. Source: sock_diag(7); proc(5), /proc/PID/fd. */
#include "watch/peer.h"

#include <ctype.h>
#include <dirent.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PATH_BYTES = 300,
    NAME_BYTES = 40,
    MISSES_MAX = 8 /* processes that may not be looked into: then nobody is looked for any more */
};

/* The inode of the socket at the other end; 0: none. The kernel is asked for that one socket: the
 * table of all of them is long on a busy machine. */
static unsigned inode_of(int peer_port, int own_port)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 wanted;
    } question = {.head = {.nlmsg_len = sizeof question,
                           .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                           .nlmsg_flags = NLM_F_REQUEST},
                  .wanted = {.sdiag_family = AF_INET,
                             .sdiag_protocol = IPPROTO_TCP,
                             .idiag_states = UINT32_MAX,
                             .id = {.idiag_sport = htons((uint16_t)peer_port),
                                    .idiag_dport = htons((uint16_t)own_port),
                                    .idiag_src = {htonl(INADDR_LOOPBACK)},
                                    .idiag_dst = {htonl(INADDR_LOOPBACK)},
                                    .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};
    struct {
        struct nlmsghdr head;
        struct inet_diag_msg found;
        char more[256];
    } answer;
    const int kernel = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    const bool is_sent =
        kernel >= 0 && send(kernel, &question, sizeof question, 0) == (ssize_t)sizeof question;
    const ssize_t got = is_sent ? recv(kernel, &answer, sizeof answer, 0) : -1;
    if (kernel >= 0)
        (void)close(kernel);
    const size_t least = sizeof answer.head + sizeof answer.found;
    const bool is_found = got >= (ssize_t)least && answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY;
    return is_found ? answer.found.idiag_inode : 0;
}

static bool has_socket(const char *pid, const char *wanted)
{
    char path[PATH_BYTES], link[PATH_BYTES + NAME_BYTES], target[NAME_BYTES];
    bool is_there = false;
    (void)snprintf(path, sizeof path, "/proc/%s/fd", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry = NULL; folder && !is_there && (entry = readdir(folder));) {
        (void)snprintf(link, sizeof link, "%s/%.20s", path, entry->d_name);
        const ssize_t length = readlink(link, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        is_there = strcmp(target, wanted) == 0;
    }
    if (folder)
        (void)closedir(folder);
    return is_there;
}

static void name(struct peer_process *peer)
{
    char path[PATH_BYTES], words[NAME_BYTES] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/comm", peer->pid);
    FILE *file = fopen(path, "re");
    if (file) {
        if (!fgets(words, sizeof words, file))
            words[0] = '\0';
        (void)fclose(file);
    }
    words[strcspn(words, "\n")] = '\0';
    for (char *at = words; *at; at++)
        if (!isprint((unsigned char)*at) || *at == '"' || *at == '\\')
            *at = '?';
    (void)snprintf(peer->label, sizeof peer->label, "%s[%d]", words, peer->pid);
}

/* 0: it has ended, or is the first one. */
static int parent_of(int pid)
{
    char path[PATH_BYTES], line[PATH_BYTES] = "";
    int parent = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (!fgets(line, sizeof line, file))
        line[0] = '\0';
    (void)fclose(file);
    const char *behind_name = strrchr(line, ')'); /* "7 (a name) S 1 ...": 1 is the parent */
    if (behind_name && strlen(behind_name) > 4)
        parent = atoi(behind_name + 4);
    return parent;
}

static void find_ancestors(struct peer_process *peer)
{
    int at = peer->pid;
    for (int i = 0; i < ANCESTORS_MAX && !peer->has_ancestors; i++) {
        at = parent_of(at);
        if (!at)
            return;
        peer->ancestors[i] = at;
        peer->has_ancestors = at == 1 || at == getpid();
    }
}

static bool descends(const struct peer_process *one, int pid)
{
    for (int i = 0; i < ANCESTORS_MAX; i++)
        if (one->ancestors[i] == pid)
            return true;
    return false;
}

bool peer_may_be_kin(const struct peer_process *one, const struct peer_process *other)
{
    return !one->has_ancestors || !other->has_ancestors || descends(one, other->pid) ||
           descends(other, one->pid);
}

static int known(const struct peers *peers, const char *wanted)
{
    for (int i = 0; i < (int)(sizeof peers->pids / sizeof *peers->pids); i++) {
        char pid[NAME_BYTES];
        (void)snprintf(pid, sizeof pid, "%d", peers->pids[i]);
        if (peers->pids[i] && has_socket(pid, wanted))
            return peers->pids[i];
    }
    return 0;
}

void peers_know(struct peers *peers, int pid)
{
    peers->pids[peers->next++ % (int)(sizeof peers->pids / sizeof *peers->pids)] = pid;
}

/* The newest processes first: it is most likely one of them. */
static int look_through(struct peers *peers, const char *wanted)
{
    struct dirent **entries = NULL;
    int pid = 0;
    const int count = scandir("/proc", &entries, NULL, versionsort);
    for (int i = count - 1; i >= 0; i--) {
        const char *name_of = entries[i]->d_name;
        if (!pid && isdigit((unsigned char)name_of[0]) && has_socket(name_of, wanted))
            pid = atoi(name_of);
        free(entries[i]);
    }
    free(entries);
    if (pid)
        peers_know(peers, pid);
    return pid;
}

static const char *socket_text(unsigned inode, char *text, size_t size)
{
    (void)snprintf(text, size, "socket:[%u]", inode);
    return text;
}

bool peer_has(int peer_port, int own_port, int pid)
{
    char target[NAME_BYTES], text[NAME_BYTES];
    const unsigned inode = inode_of(peer_port, own_port);
    (void)snprintf(text, sizeof text, "%d", pid);
    return inode && has_socket(text, socket_text(inode, target, sizeof target));
}

void peer_find(struct peers *peers, int peer_port, int own_port, struct peer_process *peer)
{
    char target_of[NAME_BYTES];
    *peer = (struct peer_process){0};
    const unsigned inode = peers->misses < MISSES_MAX ? inode_of(peer_port, own_port) : 0;
    if (!inode)
        return;
    (void)socket_text(inode, target_of, sizeof target_of);
    peer->pid = known(peers, target_of);
    if (!peer->pid)
        peer->pid = look_through(peers, target_of);
    peers->misses += !peer->pid;
    if (!peer->pid)
        return;
    name(peer);
    find_ancestors(peer);
}
