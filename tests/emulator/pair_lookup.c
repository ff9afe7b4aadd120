/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 0 asks a name server that does not answer; rank 1 waits for it. "never" in the place of
 * the folder: longer than anybody has patience for. */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/emulator/pair.h"

/* A server that never answers: a socket that nobody reads. */
static void use_mute_server(int seconds, int tries)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    CHECK(bind(fd, (struct sockaddr *)&at, sizeof at) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&at, &size) == 0);
    CHECK(res_init() == 0);
    _res.nscount = 1;
    _res.nsaddr_list[0] = at;
    _res.retrans = seconds;
    _res.retry = tries;
    _res.options &= ~(unsigned long)(RES_DNSRCH | RES_DEFNAMES);
}

static void look_up(int seconds, int tries)
{
    unsigned char answer[512];
    struct addrinfo hints = {.ai_family = AF_INET};
    struct addrinfo *found = NULL;
    int64_t begun;

    use_mute_server(seconds, tries);
    begun = pair_now();
    CHECK(res_query("host.example", 1, 1, answer, sizeof answer) == -1);
    CHECK(getaddrinfo("127.0.0.1", NULL, &hints, &found) == 0);
    freeaddrinfo(found);
    CHECK(pair_now() - begun < 100 * US); /* no virtual time */
}

int main(int argc, char **argv)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    char byte;

    CHECK(argc == 2);
    if (strcmp(argv[1], "never") == 0) {
        use_mute_server(5, 5);
        (void)gethostbyname("host.example");
        return 0;
    }
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s/socket", argv[1]);
    if (pair_rank() == 1) {
        CHECK(bind(fd, (struct sockaddr *)&at, sizeof at) == 0);
        CHECK(recv(fd, &byte, 1, 0) == 1);
        CHECK_CAUSE(10 * MS);
        return 0;
    }
    look_up(2, 1);
    pair_sleep_until(10 * MS);
    CHECK(sendto(fd, "x", 1, 0, (struct sockaddr *)&at, sizeof at) == 1);
    return 0;
}
