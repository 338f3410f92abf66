/* SPDX-License-Identifier: Apache-2.0 */
/* Journals of usage that are not what was written: bytes of a sound one are changed, and it is cut.
 * Its rows are whole, or there are none and it says why; and the next writing is read. */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/journal.h"
#include "store/store.h"
#include "tests/fuzz/input.h"

#define ROWS 3u

static char folder[] = "/tmp/gpuaas_fuzz.XXXXXX";
static char database[64], place[80];
static struct store_usage rows[ROWS];

static void folder_remove(void)
{
    unlink(place);
    unlink(database);
    rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    FUZZ_CHECK(mkdtemp(folder) != NULL);
    snprintf(database, sizeof database, "%s/db", folder);
    snprintf(place, sizeof place, "%s-usage", database);
    int file = open(database, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    FUZZ_CHECK(file >= 0);
    close(file);
    for (unsigned i = 0; i < ROWS; i++) {
        snprintf(rows[i].session, sizeof rows[i].session, "%u", i);
    }
    atexit(folder_remove);
    return 0;
}

static struct usage_journal *opened(void)
{
    struct usage_journal *journal;
    char why[600];
    FUZZ_CHECK(usage_journal_open(database, &journal, why, sizeof why) == GA_OK);
    return journal;
}

static void sound_write(void)
{
    unlink(place);
    struct usage_journal *journal = opened();
    for (size_t count = 1; count <= ROWS; count++) {
        FUZZ_CHECK(usage_journal_write(journal, rows, count) == GA_OK);
    }
    usage_journal_close(journal);
}

/* Heads and rows lie in the first pages of each half. */
static void damage(struct fuzz_input *input)
{
    static const size_t half = 4096 + USAGE_JOURNAL_ROWS * sizeof(struct store_usage);
    int file = open(place, O_WRONLY | O_CLOEXEC);
    FUZZ_CHECK(file >= 0);
    while (input->left > 4) {
        uint64_t at = fuzz_number(input, 2);
        uint8_t size = fuzz_u8(input) % 16;
        const uint8_t *bytes = fuzz_take(input, size);
        if (size == 0) {
            FUZZ_CHECK(ftruncate(file, (off_t)(at * 64)) == 0);
        } else if (bytes != NULL) {
            off_t place_of = (off_t)(at % 2 * half + at / 2 % (4096 + sizeof rows));
            FUZZ_CHECK(pwrite(file, bytes, size, place_of) == size);
        }
    }
    close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct store_usage *found;
    size_t count;
    char why[600] = "";
    sound_write();
    damage(&input);
    struct usage_journal *journal = opened();
    enum ga_status status = usage_journal_read(journal, &found, &count, why, sizeof why);
    FUZZ_CHECK(status == GA_OK || (status == GA_INVALID && why[0] != 0));
    FUZZ_CHECK((found != NULL) == (status == GA_OK && count != 0));
    for (size_t i = 0; found != NULL && i < count; i++) {
        FUZZ_CHECK(strlen(found[i].session) <= STORE_NAME_MAX && found[i].isolation <= 1 &&
                   (found[i].more || !found[i].more));
    }
    free(found);
    FUZZ_CHECK(usage_journal_write(journal, rows, 1) == GA_OK);
    usage_journal_close(journal);
    journal = opened();
    FUZZ_CHECK(usage_journal_read(journal, &found, &count, why, sizeof why) == GA_OK && count == 1);
    free(found);
    usage_journal_close(journal);
    return 0;
}
