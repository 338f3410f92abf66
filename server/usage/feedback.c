/* SPDX-License-Identifier: Apache-2.0 */
#include "server/usage/feedback.h"

#include <stdlib.h>
#include <string.h>

void feedback_init(struct feedback *feedback)
{
    *feedback = (struct feedback){.count = 0};
    ga_list_init(&feedback->rows);
}

static void feedback_row_free(struct feedback *feedback, struct feedback_row *row)
{
    ga_list_remove(&row->link);
    feedback->count--;
    free(row);
}

void feedback_fini(struct feedback *feedback)
{
    ga_list_each (at, next, &feedback->rows) {
        feedback_row_free(feedback, ga_container(at, struct feedback_row, link));
    }
}

/* FNV-1a. */
static uint64_t feedback_hash_text(uint64_t hash, const char *text)
{
    for (; *text != 0; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return hash * UINT64_C(0x100000001b3);
}

static uint64_t feedback_hash(const struct feedback_key *key)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ key->number;
    hash = feedback_hash_text(hash, key->number == 0 ? key->tenant : "");
    return feedback_hash_text(feedback_hash_text(hash, key->program), key->model);
}

bool feedback_is_of(const struct feedback_row *row, uint64_t number, const char *tenant)
{
    return row->key.number == number && (number != 0 || strcmp(row->key.tenant, tenant) == 0);
}

static bool feedback_row_is(const struct feedback_row *row, const struct feedback_key *key,
                            uint64_t hash)
{
    return row->hash == hash && feedback_is_of(row, key->number, key->tenant) &&
           strcmp(row->key.program, key->program) == 0 && strcmp(row->key.model, key->model) == 0;
}

/* Makes room for one more row of this tenant. */
static void feedback_room_make(struct feedback *feedback, const struct feedback_key *key)
{
    struct feedback_row *oldest_own = NULL;
    uint32_t own = 0;
    ga_list_each (at, next, &feedback->rows) {
        struct feedback_row *row = ga_container(at, struct feedback_row, link);
        if (feedback_is_of(row, key->number, key->tenant)) {
            oldest_own = oldest_own != NULL ? oldest_own : row;
            own++;
        }
    }
    if (own >= FEEDBACK_TENANT_ROWS_MAX) {
        feedback_row_free(feedback, oldest_own);
    } else if (feedback->count >= FEEDBACK_ROWS_MAX) {
        feedback_row_free(feedback, ga_container(feedback->rows.next, struct feedback_row, link));
    }
}

/* NULL: no memory. `*made`: it is new. */
static struct feedback_row *feedback_row_of(struct feedback *feedback,
                                            const struct feedback_key *key, bool *made)
{
    uint64_t hash = feedback_hash(key);
    *made = false;
    ga_list_each (at, next, &feedback->rows) {
        struct feedback_row *row = ga_container(at, struct feedback_row, link);
        if (feedback_row_is(row, key, hash)) {
            return row;
        }
    }
    struct feedback_row *row = calloc(1, sizeof *row);
    if (row != NULL) {
        feedback_room_make(feedback, key);
        row->key = *key;
        row->hash = hash;
        ga_list_append(&feedback->rows, &row->link);
        feedback->count++;
        *made = true;
    }
    return row;
}

static void feedback_rise(uint64_t *sum, uint64_t *told, uint64_t now)
{
    if (now > *told) {
        *sum += now - *told;
        *told = now;
    }
}

void feedback_tell(struct feedback *feedback, const struct feedback_key *key,
                   struct feedback_figures *told, const struct feedback_figures *now)
{
    bool made, begins = told->wall_ns == 0;
    struct feedback_row *row = now->wall_ns != 0 ? feedback_row_of(feedback, key, &made) : NULL;
    if (row == NULL) {
        return;
    }
    struct feedback_figures *sum = &row->sum;
    row->key = *key; /* it may be called otherwise now */
    row->sessions += begins || made;
    feedback_rise(&sum->wall_ns, &told->wall_ns, now->wall_ns);
    feedback_rise(&sum->busy_any_ns, &told->busy_any_ns, now->busy_any_ns);
    feedback_rise(&sum->demand_ns, &told->demand_ns, now->demand_ns);
    feedback_rise(&sum->works, &told->works, now->works);
    for (unsigned i = 0; i < GPU_ENGINES; i++) {
        feedback_rise(&sum->busy_ns[i], &told->busy_ns[i], now->busy_ns[i]);
    }
    for (unsigned way = 0; way < 2; way++) {
        feedback_rise(&sum->copies[way], &told->copies[way], now->copies[way]);
        feedback_rise(&sum->copied_bytes[way], &told->copied_bytes[way], now->copied_bytes[way]);
    }
    ga_list_remove(&row->link);
    ga_list_append(&feedback->rows, &row->link);
}

struct feedback_figures feedback_figures_of(const struct seat_use *use, uint64_t wall_ns)
{
    struct feedback_figures figures = {.wall_ns = wall_ns,
                                       .busy_any_ns = use->busy_any_ns,
                                       .demand_ns = use->demand_ns,
                                       .works = use->works};
    memcpy(figures.busy_ns, use->busy_ns, sizeof figures.busy_ns);
    memcpy(figures.copies, use->copies, sizeof figures.copies);
    memcpy(figures.copied_bytes, use->copied_bytes, sizeof figures.copied_bytes);
    return figures;
}
