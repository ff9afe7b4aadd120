/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of devices lead into the tree that TBMESH_TREE names; other paths do not. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/emulator/emu.h"

static const char *const folders[] = {
    "/dev",       "/dev/infiniband",       "/sys",
    "/sys/class", "/sys/class/infiniband", "/sys/class/infiniband/rdma_en2"};
static const char device[] = "/sys/class/infiniband/rdma_en2";
static const char name[] = "/sys/class/infiniband/rdma_en2/node_guid";
static const char node[] = "/dev/infiniband/uverbs0";

static void in_tree(char *ret, const char *tree, const char *path)
{
    CHECK(snprintf(ret, PATH_MAX, "%s%s", tree, path) < PATH_MAX);
}

static void make_tree(const char *tree)
{
    char path[PATH_MAX];
    FILE *file;

    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        in_tree(path, tree, folders[i]);
        CHECK(mkdir(path, 0700) == 0);
    }
    in_tree(path, tree, name);
    file = fopen(path, "w");
    CHECK(file && fputs("1234\n", file) >= 0 && fclose(file) == 0);
    in_tree(path, tree, node);
    CHECK(symlink("/dev/null", path) == 0);
}

static void remove_tree(const char *tree)
{
    char path[PATH_MAX];

    in_tree(path, tree, name);
    CHECK(unlink(path) == 0);
    in_tree(path, tree, node);
    CHECK(unlink(path) == 0);
    for (size_t i = sizeof(folders) / sizeof(*folders); i > 0; i--) {
        in_tree(path, tree, folders[i - 1]);
        CHECK(rmdir(path) == 0);
    }
    CHECK(rmdir(tree) == 0);
}

static ino_t class_inode(const char *tree)
{
    char path[PATH_MAX];
    struct stat st;

    in_tree(path, tree, "/sys/class");
    CHECK(stat(path, &st) == 0);
    return st.st_ino;
}

static void check_tree(const char *tree)
{
    char text[PATH_MAX] = {0};
    struct stat st;
    FILE *file = fopen(name, "r");
    DIR *folder = opendir(device);
    int fd = open(name, O_RDONLY);

    CHECK(file && fgets(text, sizeof(text), file) && strcmp(text, "1234\n") == 0);
    CHECK(fclose(file) == 0);
    CHECK(fd >= 0 && read(fd, text, 4) == 4 && close(fd) == 0);
    CHECK(folder);
    fd = openat(dirfd(folder), "node_guid", O_RDONLY);
    CHECK(fd >= 0 && close(fd) == 0 && closedir(folder) == 0);
    CHECK(stat(node, &st) == 0 && S_ISCHR(st.st_mode));
    CHECK(lstat(node, &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(access(node, R_OK | W_OK) == 0);
    CHECK(readlink(node, text, sizeof(text)) == (ssize_t)strlen("/dev/null"));
    CHECK(realpath(device, text) && strncmp(text, tree, strlen(tree)) == 0);
    CHECK(access("/sys/class/infiniband/hfi1_0", F_OK) == -1 && errno == ENOENT);
    CHECK(stat("/dev/infinibandwagon", &st) == -1);
    CHECK(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
    /* A container may have no /sys at all: what counts is that it is not the tree's. */
    CHECK(stat("/sys/class", &st) == 0 ? st.st_ino != class_inode(tree) : errno == ENOENT);
}

int main(int argc, char **argv)
{
    char made[] = "/tmp/emu_path_XXXXXX";
    const char *tree = getenv("TBMESH_TREE");

    /* A second start with the environment that the run would give. */
    if (argc == 1) {
        char again[] = "again";
        char *const args[] = {argv[0], again, NULL};

        CHECK(mkdtemp(made));
        make_tree(made);
        CHECK(setenv("TBMESH_TREE", made, 1) == 0);
        CHECK(execv("/proc/self/exe", args) == 0);
    }
    CHECK(tree);
    check_tree(tree);
    remove_tree(tree);
    return 0;
}
