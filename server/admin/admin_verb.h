/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs of the admin socket: one table (admin_verb.c) of names, arguments and functions.
 *
 * A verb gets its arguments checked: those that are needed are there, all have their type, and
 * there are no others. It fills in `result` or fails. It waits for nothing, unless it only reads.
 */
#ifndef SERVER_ADMIN_ADMIN_VERB_H
#define SERVER_ADMIN_ADMIN_VERB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/admin.h"
#include "server/admin/admin_peer.h"
#include "server/admin/admin_request.h"

#define ADMIN_WHY_MAX       600u
#define ADMIN_ARGUMENTS_MAX 10u

struct admin_list;
struct gpuaasd;
struct store;
struct status_gpu;

struct admin_call {
    struct gpuaasd *gpuaasd;
    const struct admin_peer *peer;
    json_t *arguments;
    bool dry_run;
    json_t *result; /* an object: the verb fills it in */
    char *items;    /* its member `items` as text, malloc-ed; NULL: it has none, or as it is */
    struct store *reader;    /* admin_store_read has opened it; NULL */
    struct admin_list *list; /* of verbs that have one */
    char why[ADMIN_WHY_MAX];
};

enum admin_type { ADMIN_TEXT, ADMIN_NUMBER, ADMIN_FLAG, ADMIN_TEXTS };

struct admin_argument {
    const char *name;
    enum admin_type type;
    bool needed;
};

struct admin_verb {
    const char *name;
    bool changes; /* it may be tried with dryRun */
    bool reads;   /* it reads the store (admin_store_read), and nothing of `gpuaasd` but its path */
    bool lists;   /* it reads, and page by page (admin_list.h) */
    enum admin_code (*run)(struct admin_call *call);
    struct admin_argument arguments[ADMIN_ARGUMENTS_MAX]; /* the last has no name */
};

extern const struct admin_verb admin_verbs[];
extern const size_t admin_verb_count;

/* Answers a line: the reply is a line of JSON without its newline, to be freed; NULL: no memory.
 * `list` is what admin_answer_way has left; it stays if there are further pages. NULL: the list
 * does not go on. */
char *admin_answer(struct gpuaasd *gpuaasd, const struct admin_peer *peer, const char *line,
                   size_t size, struct admin_list **list);
enum admin_way {
    ADMIN_AT_ONCE,
    ADMIN_READS,   /* any thread may answer the line: its verb only reads, and has a list to read */
    ADMIN_CHANGES, /* the reply is sent when what has changed is on the disk */
};
/* How the line is answered. *list is that of the request before, and then what this one needs;
 * NULL: none. `keep`: it may go on. */
enum admin_way admin_answer_way(struct gpuaasd *gpuaasd, const char *line, size_t size, bool keep,
                                struct admin_list **list);
/* The reply to a line whose changes may not be on the disk. The same. */
char *admin_answer_unsure(const char *line, size_t size, const char *why);
/* A reply that says an error, to a request that could not be read. The same. */
char *admin_answer_wrong(json_t *id, enum admin_code code, const char *message);

/* ---- for the functions of verbs */

/* Sets `why`; returns `code`. */
enum admin_code admin_fail(struct admin_call *call, enum admin_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Arguments; NULL, `standard` or false: not given. Numbers are never negative. */
const char *admin_text(const struct admin_call *call, const char *name);
uint64_t admin_number(const struct admin_call *call, const char *name, uint64_t standard);
bool admin_flag(const struct admin_call *call, const char *name);
json_t *admin_texts(const struct admin_call *call, const char *name);
/* GA_INVALID: the text "KEY=VALUE" at this place of them, or "KEY=VALUE/TIME", says anew what one
 * before it has said. */
GA_CHECKED enum ga_status admin_text_check(const json_t *texts, size_t at, char *why,
                                           size_t why_size);
/* Sets a member; a text that is not UTF-8 becomes one that is. `value` is taken; NULL: no memory,
 * which admin_answer finds at the end. */
void admin_set(json_t *object, const char *name, json_t *value);
void admin_set_text(json_t *object, const char *name, const char *text); /* NULL: null */
json_t *admin_text_value(const char *text);
void admin_set_number(json_t *object, const char *name, uint64_t number); /* past int64: null */
void admin_set_flag(json_t *object, const char *name, bool flag);

/* Sets state, reason and deadline_ms of a GPU, or of the node (DRAIN_NODE), that may drain
 * (admin_life.c). */
void admin_set_drain(json_t *object, const struct gpuaasd *gpuaasd, uint32_t gpu);

/* The use of a GPU by a session, and how it used it (admin_monitor.c). */
json_t *admin_monitor(const struct status_gpu *gpu);

/* ---- the functions of the verbs */

#define VERB(name, changes, run, ...) enum admin_code run(struct admin_call *call);
#define READ(name, run, ...)          enum admin_code run(struct admin_call *call);
#define LIST(name, run, ...)          enum admin_code run(struct admin_call *call);
#include "server/admin/admin_verbs.def"
#undef VERB
#undef READ
#undef LIST

#endif
