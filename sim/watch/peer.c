/* peer.c - see peer.h. Source: proc(5), /proc/net/tcp and /proc/PID/fd. */
#include "watch/peer.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 300, NAME_BYTES = 40 };

/* The inode of the socket at the other end; 0: none. */
static unsigned long inode_in(const char *path, int peer_port, int own_port)
{
    char line[512];
    unsigned long inode = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    while (!inode && fgets(line, sizeof line, file)) {
        unsigned from, to;
        unsigned long found;
        if (sscanf(line,
                   " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%x %*x %*x:%*x %*x:%*x %*x %*u %*u %lu",
                   &from, &to, &found) == 3 &&
            (int)from == peer_port && (int)to == own_port)
            inode = found;
    }
    (void)fclose(file);
    return inode;
}

static bool has_socket(const char *pid, const char *socket)
{
    char path[PATH_BYTES], link[PATH_BYTES + NAME_BYTES], target[NAME_BYTES];
    bool is_there = false;
    (void)snprintf(path, sizeof path, "/proc/%s/fd", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry = NULL; folder && !is_there && (entry = readdir(folder));) {
        (void)snprintf(link, sizeof link, "%s/%.20s", path, entry->d_name);
        const ssize_t length = readlink(link, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        is_there = strcmp(target, socket) == 0;
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

static int known(const struct peers *peers, const char *socket)
{
    for (int i = 0; i < (int)(sizeof peers->pids / sizeof *peers->pids); i++) {
        char pid[NAME_BYTES];
        (void)snprintf(pid, sizeof pid, "%d", peers->pids[i]);
        if (peers->pids[i] && has_socket(pid, socket))
            return peers->pids[i];
    }
    return 0;
}

void peers_know(struct peers *peers, int pid)
{
    peers->pids[peers->next++ % (int)(sizeof peers->pids / sizeof *peers->pids)] = pid;
}

/* The newest processes first: it is most likely one of them. */
static int look_through(struct peers *peers, const char *socket)
{
    struct dirent **entries = NULL;
    int pid = 0;
    const int count = scandir("/proc", &entries, NULL, versionsort);
    for (int i = count - 1; i >= 0; i--) {
        const char *name_of = entries[i]->d_name;
        if (!pid && isdigit((unsigned char)name_of[0]) && has_socket(name_of, socket))
            pid = atoi(name_of);
        free(entries[i]);
    }
    free(entries);
    if (pid)
        peers_know(peers, pid);
    return pid;
}

void peer_find(struct peers *peers, int peer_port, int own_port, struct peer_process *peer)
{
    char socket[NAME_BYTES];
    *peer = (struct peer_process){0};
    unsigned long inode = inode_in("/proc/net/tcp", peer_port, own_port);
    if (!inode)
        inode = inode_in("/proc/net/tcp6", peer_port, own_port);
    if (!inode)
        return;
    (void)snprintf(socket, sizeof socket, "socket:[%lu]", inode);
    peer->pid = known(peers, socket);
    if (!peer->pid)
        peer->pid = look_through(peers, socket);
    if (peer->pid)
        name(peer);
}
