/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over inputs, without libFuzzer: so that each build, with any compiler, repeats
 * the corpora and all past findings. Arguments are files, folders of files, and archives of files
 * (NAME.tar); it fails when there is not one file. */
#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <tar.h>

#include "tests/fuzz/input.h"

static size_t inputs_run;

__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

/* Custom mutators call this function; nobody calls them here. */
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

/* Reads them from the file, whose name is `path`. */
static void run_bytes(FILE *file, const char *path, const char *name, size_t size)
{
    /* Exactly as large as the input, so that a sanitizer sees the first byte too many. */
    uint8_t *bytes = malloc(size != 0 ? size : 1);
    if (bytes == NULL || fread(bytes, 1, size, file) != size) {
        fail("read", path);
    }
    if (getenv("FUZZ_VERBOSE") != NULL) {
        fprintf(stderr, "%s %s\n", path, name);
    }
    (void)LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    inputs_run++;
}

/* POSIX's ustar format: a header for each file, then its bytes; all in blocks. */
struct tar_head {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, rest[355];
};

static void run_archive(FILE *file, const char *path)
{
    struct tar_head head;
    while (fread(&head, sizeof head, 1, file) == 1 && head.name[0] != 0) {
        char name[sizeof head.name + 1] = {0}, number[sizeof head.size + 1] = {0}, *end;
        memcpy(name, head.name, sizeof head.name);
        memcpy(number, head.size, sizeof head.size);
        size_t size = strtoul(number, &end, 8), block = sizeof head;
        if (end == number || *end != 0 || head.type == SYMTYPE || head.type == LNKTYPE) {
            fail("understand the archive", path);
        }
        if (head.type == REGTYPE || head.type == AREGTYPE) {
            run_bytes(file, path, name, size);
            size = (block - size % block) % block; /* what is left of its last block */
        }
        if (fseek(file, (long)size, SEEK_CUR) != 0) {
            fail("read", path);
        }
    }
}

static void run_file(const char *path, size_t size)
{
    size_t length = strlen(path);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail("open", path);
    }
    if (length > 4 && strcmp(path + length - 4, ".tar") == 0) {
        run_archive(file, path);
    } else {
        run_bytes(file, path, "", size);
    }
    (void)fclose(file);
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
    if (inputs_run == 0) {
        fprintf(stderr, "usage: %s FILE, FOLDER or ARCHIVE.tar...\n", argv[0]);
        return 2;
    }
    printf("%zu inputs\n", inputs_run);
    return 0;
}
