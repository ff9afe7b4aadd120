/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs-shim/conductor/words.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/text.h"

/* All ranks run here; a side channel is on the loopback device. */
#define RANK_ADDRESS "127.0.0.1"

/* Reads "NAMEK}" at `at`; the number, or -1 when it is something else. */
static long numbered(const char *at, const char *name, const char **ret_end)
{
    size_t length = strlen(name);
    char *end;
    long number;

    if (strncmp(at, name, length) != 0 || at[length] < '0' || at[length] > '9')
        return -1;
    number = strtol(at + length, &end, 10);
    if (*end != '}')
        return -1;
    *ret_end = end + 1;
    return number;
}

/* Replaces what stands at the brace `at`; the place behind it, or NULL when it is nothing known. */
static const char *replace_plain(const char *at, const struct words_rank *rank, struct text *ret)
{
    if (strncmp(at, "{rank}", 6) == 0) {
        text_add(ret, "%u", rank->rank);
        return at + 6;
    }
    if (strncmp(at, "{ranks}", 7) == 0) {
        text_add(ret, "%u", rank->rank_count);
        return at + 7;
    }
    if (strncmp(at, "{host}", 6) == 0) {
        text_add(ret, "%s", rank->hosts[rank->rank]);
        return at + 6;
    }
    return NULL;
}

/* The same for {peerK} and {ipK}; *ret_rank is K, if it is one of those, and may be no rank. */
static const char *replace_numbered(const char *at, const struct words_rank *rank, long *ret_rank,
                                    struct text *ret)
{
    const char *end = NULL;
    bool is_peer;

    *ret_rank = numbered(at + 1, "peer", &end);
    is_peer = *ret_rank >= 0;
    if (!is_peer)
        *ret_rank = numbered(at + 1, "ip", &end);
    if (*ret_rank >= 0 && *ret_rank < (long)rank->rank_count)
        text_add(ret, "%s", is_peer ? rank->hosts[*ret_rank] : RANK_ADDRESS);
    return end;
}

static bool replace_word(const char *word, const struct words_rank *rank, struct text *ret,
                         struct err *reterr)
{
    const char *at = word;

    while (*at) {
        const char *end = *at == '{' ? replace_plain(at, rank, ret) : NULL;
        long named = -1;

        if (*at == '{' && !end)
            end = replace_numbered(at, rank, &named, ret);
        if (named >= (long)rank->rank_count)
            return err_set(reterr, ERR_RANGE, (struct src_pos){0},
                           "'%.100s' names rank %ld; there are ranks 0 to %u", word, named,
                           rank->rank_count - 1);
        if (!end)
            text_add(ret, "%c", *at);
        at = end ? end : at + 1;
    }
    return true;
}

bool words_replace(char *const *argv, const struct words_rank *rank, struct arena *arena,
                   char ***ret, struct err *reterr)
{
    size_t count = 0;
    char **list;

    while (argv[count])
        count++;
    list = arena_alloc_array(arena, count + 1, sizeof *list);
    for (size_t i = 0; i < count; i++) {
        struct text text;

        text_init(&text, arena);
        if (!replace_word(argv[i], rank, &text, reterr))
            return false;
        list[i] = text.bytes;
    }
    *ret = list;
    return true;
}
