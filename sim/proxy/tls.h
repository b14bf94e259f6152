/* tls.h - TLS to a server, between bytes and bytes: OpenSSL with memory for sockets, so that the
 * loop keeps its own. Knows no links. */
#ifndef PICKLOCK_PROXY_TLS_H
#define PICKLOCK_PROXY_TLS_H

#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>

/* Files are PEM; each may be NULL. */
struct tls_options {
    const char *ca_file;           /* whom to trust; NULL: whom this machine trusts */
    const char *certificate, *key; /* of ours, for servers that ask for one; both or none */
    const char *server_name; /* that its certificate must have; NULL: the host that is dialled */
    int skips_verification;  /* 0 or 1; whoever answers is trusted */
};

struct tls; /* what is trusted, for all links */

/* FAIL_INPUT: which file, and what is wrong with it. Keeps nothing of options. */
enum fail tls_new(struct tls **tls, const struct tls_options *options, struct failure *failure);
void tls_free(struct tls *tls); /* NULL is nothing; sessions may outlive it */

struct tls_session; /* of one link, as its client */

/* host: that is dialled, a name or an address. */
struct tls_session *tls_session_new(const struct tls *tls, const char *host);
void tls_session_free(struct tls_session *session); /* NULL is nothing */

/* What came from the wire (borrowed). */
void tls_session_feed(struct tls_session *session, const char *bytes, size_t length);

enum tls_state {
    TLS_GOES_ON, /* more must come from the wire */
    TLS_STANDS,  /* the handshake is done */
    TLS_ENDED,   /* the server said close_notify */
    TLS_BROKEN,  /* tls_session_why() */
};
enum tls_state tls_session_handshake(struct tls_session *session);
/* Bytes of the server's, as many as there are; 0: none, and *state says whether there will be. */
size_t tls_session_read(struct tls_session *session, char *bytes, size_t size,
                        enum tls_state *state);
/* Bytes (borrowed) for the server; close_notify behind them. Both only after the handshake. */
void tls_session_write(struct tls_session *session, const char *bytes, size_t length);
void tls_session_end(struct tls_session *session);
/* Takes what is to go to the wire: so many bytes, 0 where there is nothing. */
size_t tls_session_take(struct tls_session *session, char *bytes, size_t size);

/* What broke it, in words. */
const char *tls_session_why(const struct tls_session *session);

#endif
