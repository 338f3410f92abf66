/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over files, without libFuzzer: so that every build, with any compiler, repeats
 * the corpora and all past findings. Arguments are files and folders of files; it fails when there
 * is not one file. */
#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

#include "tests/fuzz/input.h"

static size_t files_run;

__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

/* What a custom mutator calls; nobody calls that here. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
{
    (void)data;
    (void)most;
    return size;
}

static void fail(const char *what, const char *path)
{
    fprintf(stderr, "cannot %s %s\n", what, path);
    exit(2);
}

static void run_file(const char *path, size_t size)
{
    /* Exactly as large as the input, so that a sanitizer sees the first byte too many. */
    uint8_t *bytes = malloc(size != 0 ? size : 1);
    FILE *file = fopen(path, "rb");
    if (bytes == NULL || file == NULL || fread(bytes, 1, size, file) != size) {
        fail("read", path);
    }
    (void)fclose(file);
    if (getenv("FUZZ_VERBOSE") != NULL) {
        fprintf(stderr, "%s\n", path);
    }
    (void)LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    files_run++;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void run_path(const char *path)
{
    struct stat info;
    struct dirent **entries = NULL;
    if (stat(path, &info) != 0) {
        fail("open", path);
    }
    if (!S_ISDIR(info.st_mode)) {
        run_file(path, (size_t)info.st_size);
        return;
    }
    int count = scandir(path, &entries, visible, alphasort);
    for (int i = 0; i < count; i++) {
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        run_path(name);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    (void)LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        run_path(argv[i]);
    }
    if (files_run == 0) {
        fprintf(stderr, "usage: %s FILE-OR-FOLDER...\n", argv[0]);
        return 2;
    }
    printf("%zu inputs\n", files_run);
    return 0;
}
