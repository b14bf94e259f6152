/* tls.c - see tls.h. TLS 1.2 and 1.3, as OpenSSL's defaults are; no renegotiation, no resumption.
 */
#include "proxy/tls.h"

#include "base/late_library.h"
#include "base/memory.h"

#include <arpa/inet.h>
#include <assert.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
#define LATE(name) __typeof__(name) *name;
#include "proxy/openssl.def"
#undef LATE
} ssl;

static const struct late_function functions[] = {
#define LATE(name) {#name, &ssl.name},
#include "proxy/openssl.def"
#undef LATE
};

struct tls {
    SSL_CTX *context;
    char *server_name; /* NULL: the host */
    bool skips_verification;
};

struct tls_session {
    SSL *ssl;
    BIO *from_wire, *to_wire; /* of ssl */
    bool is_broken;
    char why[256];
};

/* The last thing that OpenSSL has to say; forgets the rest. */
static const char *reason(char *words, size_t size)
{
    unsigned long code = ssl.ERR_peek_last_error();
    const char *text = code ? ssl.ERR_reason_error_string(code) : NULL;
    if (code && ERR_SYSTEM_ERROR(code))
        text = strerror(ERR_GET_REASON(code));
    snprintf(words, size, "%s", text ? text : "no reason is known");
    ssl.ERR_clear_error();
    return words;
}

/* A key that is locked by a passphrase is refused; nobody is asked for one. */
static int no_passphrase(char *buffer, int size, int is_writing, void *context)
{
    (void)buffer, (void)size, (void)is_writing, (void)context;
    return -1;
}

static enum fail read_files(SSL_CTX *context, const struct tls_options *options,
                            struct failure *failure)
{
    char words[256];
    if (options->ca_file ? !ssl.SSL_CTX_load_verify_locations(context, options->ca_file, NULL)
                         : !ssl.SSL_CTX_set_default_verify_paths(context))
        return failure_set(failure, FAIL_INPUT, "--tls-ca %s: no certificates can be read: %s",
                           options->ca_file ? options->ca_file : "of this machine",
                           reason(words, sizeof words));
    ssl.SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    if (!options->certificate)
        return FAIL_NONE;
    if (!ssl.SSL_CTX_use_certificate_chain_file(context, options->certificate))
        return failure_set(failure, FAIL_INPUT, "--tls-cert %s: no certificate can be read: %s",
                           options->certificate, reason(words, sizeof words));
    if (!ssl.SSL_CTX_use_PrivateKey_file(context, options->key, SSL_FILETYPE_PEM))
        return failure_set(failure, FAIL_INPUT,
                           "--tls-key %s: no key for the certificate can be read (one with a "
                           "passphrase cannot): %s",
                           options->key, reason(words, sizeof words));
    return FAIL_NONE;
}

enum fail tls_new(struct tls **made, const struct tls_options *options, struct failure *failure)
{
    if (late_library_bind(LATE_FILE("libssl", OPENSSL_SHLIB_VERSION), functions,
                          sizeof functions / sizeof *functions, failure))
        return failure->code;
    struct tls *tls = memory_new(1, sizeof *tls);
    tls->skips_verification = options->skips_verification;
    tls->server_name = options->server_name ? memory_text(options->server_name) : NULL;
    tls->context = ssl.SSL_CTX_new(ssl.TLS_client_method());
    enum fail fail = tls->context
                         ? read_files(tls->context, options, failure)
                         : failure_set(failure, FAIL_UNAVAILABLE, "OpenSSL cannot be set up");
    if (fail) {
        tls_free(tls);
        return fail;
    }
    ssl.SSL_CTX_ctrl(tls->context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
    ssl.SSL_CTX_set_options(tls->context, SSL_OP_NO_RENEGOTIATION);
    ssl.SSL_CTX_ctrl(tls->context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
    ssl.SSL_CTX_ctrl(tls->context, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
    *made = tls;
    return FAIL_NONE;
}

void tls_free(struct tls *tls)
{
    if (!tls)
        return;
    ssl.SSL_CTX_free(tls->context); /* NULL is nothing; sessions hold it, too */
    free(tls->server_name);
    free(tls);
}

/* --- sessions --- */

static bool is_address(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

static bool names_host(SSL *session, const char *name)
{
    char *text = memory_text(name);
    const long set =
        ssl.SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, text);
    free(text);
    return set == 1;
}

struct tls_session *tls_session_new(const struct tls *tls, const char *host)
{
    struct tls_session *session = memory_new(1, sizeof *session);
    const char *name = tls->server_name ? tls->server_name : host;
    session->ssl = ssl.SSL_new(tls->context);
    session->from_wire = ssl.BIO_new(ssl.BIO_s_mem());
    session->to_wire = ssl.BIO_new(ssl.BIO_s_mem());
    assert(session->ssl && session->from_wire && session->to_wire); /* only memory could lack */
    ssl.SSL_set_bio(session->ssl, session->from_wire, session->to_wire);
    ssl.SSL_set_connect_state(session->ssl);
    int is_set = is_address(name)
                     ? ssl.X509_VERIFY_PARAM_set1_ip_asc(ssl.SSL_get0_param(session->ssl), name)
                     : ssl.SSL_set1_host(session->ssl, name);
    if (!is_address(name))
        is_set &= names_host(session->ssl, name);
    if (!is_set && !tls->skips_verification) {
        session->is_broken = true;
        snprintf(session->why, sizeof session->why, "'%.100s' is no name of a server", name);
    }
    ssl.SSL_set_verify(session->ssl, tls->skips_verification ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                       NULL);
    ssl.ERR_clear_error();
    return session;
}

void tls_session_free(struct tls_session *session)
{
    if (!session)
        return;
    ssl.SSL_free(session->ssl);
    free(session);
}

void tls_session_feed(struct tls_session *session, const char *bytes, size_t length)
{
    assert(length <= INT_MAX);
    int fed = ssl.BIO_write(session->from_wire, bytes, (int)length);
    assert(fed == (int)length); /* it is memory */
}

static enum tls_state broken(struct tls_session *session)
{
    char words[200];
    long verified = ssl.SSL_get_verify_result(session->ssl);
    reason(words, sizeof words);
    session->is_broken = true;
    if (verified != X509_V_OK && ssl.SSL_get_verify_mode(session->ssl) != SSL_VERIFY_NONE)
        snprintf(session->why, sizeof session->why, "its certificate is refused: %s",
                 ssl.X509_verify_cert_error_string(verified));
    else
        snprintf(session->why, sizeof session->why, "%s%s", words,
                 !strcmp(words, "wrong version number") ? " (does the server speak TLS there?)"
                                                        : "");
    return TLS_BROKEN;
}

static enum tls_state state_of(struct tls_session *session, int result)
{
    switch (ssl.SSL_get_error(session->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: /* memory always takes it */
        return TLS_GOES_ON;
    case SSL_ERROR_ZERO_RETURN:
        return TLS_ENDED;
    default:
        return broken(session);
    }
}

enum tls_state tls_session_handshake(struct tls_session *session)
{
    if (session->is_broken)
        return TLS_BROKEN;
    ssl.ERR_clear_error();
    int result = ssl.SSL_do_handshake(session->ssl);
    return result == 1 ? TLS_STANDS : state_of(session, result);
}

size_t tls_session_read(struct tls_session *session, char *bytes, size_t size,
                        enum tls_state *state)
{
    size_t length = 0;
    *state = TLS_BROKEN;
    if (session->is_broken)
        return 0;
    ssl.ERR_clear_error();
    int result = ssl.SSL_read_ex(session->ssl, bytes, size, &length);
    *state = result == 1 ? TLS_STANDS : state_of(session, result);
    return result == 1 ? length : 0;
}

void tls_session_write(struct tls_session *session, const char *bytes, size_t length)
{
    size_t wrote = 0;
    if (session->is_broken || !length)
        return;
    ssl.ERR_clear_error();
    int result = ssl.SSL_write_ex(session->ssl, bytes, length, &wrote);
    if (result != 1)
        broken(session); /* memory takes all, so it is not for want of room */
    else
        assert(wrote == length);
}

void tls_session_end(struct tls_session *session)
{
    if (session->is_broken || !ssl.SSL_is_init_finished(session->ssl))
        return;
    ssl.ERR_clear_error();
    (void)ssl.SSL_shutdown(session->ssl); /* only says it; what the server says is read on */
    ssl.ERR_clear_error();
}

size_t tls_session_take(struct tls_session *session, char *bytes, size_t size)
{
    int length = ssl.BIO_read(session->to_wire, bytes, size > INT_MAX ? INT_MAX : (int)size);
    return length > 0 ? (size_t)length : 0;
}

const char *tls_session_why(const struct tls_session *session)
{
    return session->why;
}
