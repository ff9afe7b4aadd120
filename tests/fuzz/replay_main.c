/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over corpus files without libFuzzer, so every preset replays the corpus. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    static uint8_t buf[1 << 20];
    FILE *f = fopen(path, "rb");

    if (!f) {
        perror(path);
        return 1;
    }
    size_t n = fread(buf, 1, sizeof buf, f);

    (void)fclose(f);
    return LLVMFuzzerTestOneInput(buf, n);
}

int main(int argc, char **argv)
{
    int rc = 0;

    if (argc < 2) {
        (void)fprintf(stderr, "no corpus file: a replay of nothing proves nothing\n");
        return 1;
    }
    for (int i = 1; i < argc; i++)
        rc |= replay_file(argv[i]);
    printf("replayed %d files\n", argc - 1);
    return rc;
}
