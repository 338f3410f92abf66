/* SPDX-License-Identifier: Apache-2.0 */
#include "server/rebuild/rebuild_trigger.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "server/rebuild/rebuild.h"

#define TIMES_MAX 256u
#define PAUSE_MAX 16u

struct rebuild_trigger {
    uint32_t count;         /* of the boundaries to rebuild at */
    uint64_t at[TIMES_MAX]; /* which these are, ascending */
    uint64_t boundaries;    /* so far */
    uint32_t each_max; /* how often at one boundary, at most: the end must not come in between */
    uint32_t due, done, busy;
    uint32_t pause;    /* so many boundaries, twice as many each time that it is busy */
    uint64_t again;    /* the boundary at which to try again */
    bool told;         /* the report has been made: nothing is left to do */
    char refused[160]; /* why, the last time that it was; or empty */
};

static int compare(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return first < second ? -1 : first > second;
}

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* False: the file says nothing. */
static bool trigger_read(struct rebuild_trigger *trigger, const char *path)
{
    uint64_t seed, boundaries;
    FILE *file = fopen(path, "re");
    bool read = file != NULL && fscanf(file, "%" SCNu64 " %" SCNu64 " %" SCNu32, &seed, &boundaries,
                                       &trigger->count) == 3;
    if (file != NULL) {
        (void)fclose(file);
    }
    if (!read || trigger->count > TIMES_MAX || (boundaries == 0 && trigger->count != 0)) {
        return false;
    }
    trigger->each_max = boundaries != 0 ? 1 + (uint32_t)(2 * trigger->count / boundaries) : 0;
    for (uint32_t i = 0; i < trigger->count; i++) {
        trigger->at[i] = 1 + next_random(&seed) % boundaries;
    }
    qsort(trigger->at, trigger->count, sizeof *trigger->at, compare);
    return true;
}

struct rebuild_trigger *rebuild_trigger_create(void)
{
    const char *path = getenv("GPUAAS_TEST_REBUILD");
    struct rebuild_trigger *trigger = path != NULL ? calloc(1, sizeof *trigger) : NULL;
    if (trigger != NULL && !trigger_read(trigger, path)) {
        ga_error("GPUAAS_TEST_REBUILD: %s does not have three numbers", path);
        rebuild_trigger_destroy(trigger);
        return NULL;
    }
    return trigger;
}

void rebuild_trigger_destroy(struct rebuild_trigger *trigger)
{
    free(trigger);
}

/* At the first boundary with nothing left to do, it says so: an application's end can take so long
 * that its process is killed. */
void rebuild_trigger_boundary(struct rebuild_trigger *trigger, struct server_app *app)
{
    trigger->boundaries++;
    if (trigger->count != 0 && trigger->done == trigger->count) {
        rebuild_trigger_report(trigger);
        trigger->told = true;
    }
    while (trigger->due < trigger->count && trigger->at[trigger->due] <= trigger->boundaries) {
        trigger->due++;
    }
    uint32_t most = trigger->done + trigger->each_max;
    while (trigger->done < trigger->due && trigger->done < most &&
           trigger->boundaries >= trigger->again) {
        char why[160];
        switch (rebuild_application(app, why, sizeof why)) {
        case REBUILD_DONE:
            trigger->done++;
            trigger->pause = 0;
            break;
        case REBUILD_BUSY:
            trigger->busy++;
            trigger->pause = trigger->pause < PAUSE_MAX ? 2 * trigger->pause + 1 : PAUSE_MAX;
            trigger->again = trigger->boundaries + trigger->pause;
            return; /* only a later call may end what is under way */
        case REBUILD_REFUSED:
            snprintf(trigger->refused, sizeof trigger->refused, "%s", why);
            return; /* likewise: what is in the way may go */
        case REBUILD_LOST:
            ga_error("rebuilding has failed: %s", why);
            abort();
        }
    }
}

void rebuild_trigger_report(const struct rebuild_trigger *trigger)
{
    if (trigger == NULL || trigger->told) {
        return;
    }
    ga_info("rebuilt %u times at %" PRIu64 " boundaries, %u busy%s%s", trigger->done,
            trigger->boundaries, trigger->busy, trigger->refused[0] != 0 ? "; refused: " : "",
            trigger->refused);
}
