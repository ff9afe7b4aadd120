/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOC: Name lookups
 *
 * The C library asks name servers by itself, in real time and with the caller's turn in its hand. A
 * name server is outside the run, so nothing that a rank does is missed meanwhile, and a lookup
 * takes no virtual time. The actor says what it looks up as long as it does, so that a name server
 * that does not answer is given its time and then named in the verdict.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <string.h>

#include "verbs-shim/shim/actor.h"
#include "verbs-shim/shim/libc/real.h"

/* Makes the call between the two notes. */
#define LOOK_UP(ret, what, name, call)           \
    do {                                         \
        struct actor *a_ = actor_self();         \
        if (a_)                                  \
            actor_note_question(a_, what, name); \
        (ret) = (call);                          \
        if (a_)                                  \
            actor_note_question(a_, NULL, NULL); \
    } while (0)

/* An address in words; "" of a kind that has none. */
static const char *show_address(int family, const void *bytes, socklen_t size, char *text,
                                socklen_t room)
{
    bool is_whole = (family == AF_INET && size >= sizeof(struct in_addr)) ||
                    (family == AF_INET6 && size >= sizeof(struct in6_addr));

    return is_whole && bytes && inet_ntop(family, bytes, text, room) ? text : "";
}

static const char *show_socket(const struct sockaddr *at, socklen_t size, char *text,
                               socklen_t room)
{
    struct sockaddr_in six_or_four;
    struct sockaddr_in6 six;

    if (at && at->sa_family == AF_INET && size >= sizeof(six_or_four)) {
        memcpy(&six_or_four, at, sizeof(six_or_four));
        return show_address(AF_INET, &six_or_four.sin_addr, sizeof(struct in_addr), text, room);
    }
    if (at && at->sa_family == AF_INET6 && size >= sizeof(six)) {
        memcpy(&six, at, sizeof(six));
        return show_address(AF_INET6, &six.sin6_addr, sizeof(struct in6_addr), text, room);
    }
    return "";
}

SHIM_EXPORT int getaddrinfo(const char *restrict name, const char *restrict service,
                            const struct addrinfo *restrict hints, struct addrinfo **restrict ret)
{
    int rc;

    LOOK_UP(rc, "getaddrinfo", name, REAL(getaddrinfo)(name, service, hints, ret));
    return rc;
}

// NOLINTNEXTLINE(readability-function-size): the C library's parameters
SHIM_EXPORT int getnameinfo(const struct sockaddr *restrict at, socklen_t size, char *restrict name,
                            socklen_t name_size, char *restrict service, socklen_t service_size,
                            int flags)
{
    char text[INET6_ADDRSTRLEN];
    int rc;

    LOOK_UP(rc, "getnameinfo", show_socket(at, size, text, sizeof text),
            REAL(getnameinfo)(at, size, name, name_size, service, service_size, flags));
    return rc;
}

SHIM_EXPORT struct hostent *gethostbyname(const char *name)
{
    struct hostent *found;

    LOOK_UP(found, "gethostbyname", name, REAL(gethostbyname)(name));
    return found;
}

SHIM_EXPORT struct hostent *gethostbyname2(const char *name, int family)
{
    struct hostent *found;

    LOOK_UP(found, "gethostbyname2", name, REAL(gethostbyname2)(name, family));
    return found;
}

SHIM_EXPORT int gethostbyname_r(const char *restrict name, struct hostent *restrict place,
                                char *restrict bytes, size_t size, struct hostent **restrict ret,
                                int *restrict reterr)
{
    int rc;

    LOOK_UP(rc, "gethostbyname_r", name,
            REAL(gethostbyname_r)(name, place, bytes, size, ret, reterr));
    return rc;
}

// NOLINTNEXTLINE(readability-function-size): the C library's parameters
SHIM_EXPORT int gethostbyname2_r(const char *restrict name, int family,
                                 struct hostent *restrict place, char *restrict bytes, size_t size,
                                 struct hostent **restrict ret, int *restrict reterr)
{
    int rc;

    LOOK_UP(rc, "gethostbyname2_r", name,
            REAL(gethostbyname2_r)(name, family, place, bytes, size, ret, reterr));
    return rc;
}

SHIM_EXPORT struct hostent *gethostbyaddr(const void *at, socklen_t size, int family)
{
    char text[INET6_ADDRSTRLEN];
    struct hostent *found;

    LOOK_UP(found, "gethostbyaddr", show_address(family, at, size, text, sizeof text),
            REAL(gethostbyaddr)(at, size, family));
    return found;
}

// NOLINTNEXTLINE(readability-function-size): the C library's parameters
SHIM_EXPORT int gethostbyaddr_r(const void *restrict at, socklen_t size, int family,
                                struct hostent *restrict place, char *restrict bytes, size_t room,
                                struct hostent **restrict ret, int *restrict reterr)
{
    char text[INET6_ADDRSTRLEN];
    int rc;

    LOOK_UP(rc, "gethostbyaddr_r", show_address(family, at, size, text, sizeof text),
            REAL(gethostbyaddr_r)(at, size, family, place, bytes, room, ret, reterr));
    return rc;
}

SHIM_EXPORT int res_query(const char *name, int class, int type, unsigned char *answer, int size)
{
    int rc;

    LOOK_UP(rc, "res_query", name, REAL(res_query)(name, class, type, answer, size));
    return rc;
}

SHIM_EXPORT int res_search(const char *name, int class, int type, unsigned char *answer, int size)
{
    int rc;

    LOOK_UP(rc, "res_search", name, REAL(res_search)(name, class, type, answer, size));
    return rc;
}

SHIM_EXPORT int res_nquery(res_state state, const char *name, int class, int type,
                           unsigned char *answer, int size)
{
    int rc;

    LOOK_UP(rc, "res_nquery", name, REAL(res_nquery)(state, name, class, type, answer, size));
    return rc;
}

SHIM_EXPORT int res_nsearch(res_state state, const char *name, int class, int type,
                            unsigned char *answer, int size)
{
    int rc;

    LOOK_UP(rc, "res_nsearch", name, REAL(res_nsearch)(state, name, class, type, answer, size));
    return rc;
}

SHIM_EXPORT int res_send(const unsigned char *question, int length, unsigned char *answer, int size)
{
    int rc;

    LOOK_UP(rc, "res_send", "", REAL(res_send)(question, length, answer, size));
    return rc;
}

SHIM_EXPORT int res_nsend(res_state state, const unsigned char *question, int length,
                          unsigned char *answer, int size)
{
    int rc;

    LOOK_UP(rc, "res_nsend", "", REAL(res_nsend)(state, question, length, answer, size));
    return rc;
}
