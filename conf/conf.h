/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of gpuaasd: an INI file with one [server] section and a [gpu.N] for each GPU.
 *
 * keys.def is the only list of keys, with api/soft_keys.def for those of software GPUs. Reading
 * goes on after an error, so that one run names all errors; a struct conf is usable only if there
 * was none. */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "api/soft_device.h"
#include "base/log.h"
#include "base/status.h"
#include "sched/sched.h"

#define CONF_TEXT_MAX    256u
#define CONF_LISTENS_MAX 16u
#define CONF_GPUS_MAX    1024u

enum conf_driver { CONF_DRIVER_SOFT, CONF_DRIVER_NVIDIA };

struct conf_listen {
    char url[CONF_TEXT_MAX]; /* as written; the listener checks it */
    unsigned line;           /* of the file, for the listener's error */
};

struct conf_ports {
    uint16_t first, last; /* 0, 0: any free port */
};

/* The part of [server] that backend processes need; it is sent to them as it is. */
struct conf_backend {
    struct conf_ports data_ports;
    char advertise_address[CONF_TEXT_MAX]; /* "": that of the listener */
    bool shm, rdma, compression, sandbox, record_phases;
    uint32_t bulk_connections;
    uint64_t session_queue_bytes, copy_overflow, image_store, client_cache;
    uint64_t shared_memory, application_host_memory; /* of one application, at most */
    uint32_t copy_overflow_wait_s;
    uint32_t pending_connections;
    uint32_t handshake_timeout_s, ticket_s, dead_after_s;
};

struct conf_server {
    struct conf_listen listen[CONF_LISTENS_MAX];
    unsigned listen_count;
    bool auth, insecure;
    struct conf_backend backend;
    char tls_cert[CONF_TEXT_MAX], tls_key[CONF_TEXT_MAX], tls_client_ca[CONF_TEXT_MAX];
    char admin_socket[CONF_TEXT_MAX], admin_group[CONF_TEXT_MAX], store[CONF_TEXT_MAX];
    char http[CONF_TEXT_MAX];
    char backend_user[CONF_TEXT_MAX], backend_groups[CONF_TEXT_MAX];
    char audit_log[CONF_TEXT_MAX];
    bool audit_full; /* deny */
    char pool[CONF_TEXT_MAX];
    char node[CONF_TEXT_MAX];
    enum ga_log_level log_level;
    enum ga_log_format log_format;
    uint32_t clients;
    uint32_t spare_backends;
    uint32_t ledger_interval_s;
    uint32_t ledger_keep_days;
    uint32_t idle_timeout_s, open_timeout_s, drain_s;
    uint32_t health_check_s;
};

/* The scheduling of a GPU: keys that change while it is used. */
struct conf_scheduling {
    const struct sched_policy *policy;
    struct sched_settings settings;
    uint64_t given; /* a bit for each of sched_setting_at: the file has it */
};

struct conf_gpu {
    unsigned number; /* N of [gpu.N] */
    enum conf_driver driver;
    char driver_path[CONF_TEXT_MAX];
    uint32_t device;
    char name[CONF_TEXT_MAX];
    struct soft_device soft; /* of a software GPU; without name and uuid */
    uint64_t soft_given;     /* a bit for each of soft_keys */
    struct conf_scheduling scheduling;
};

struct conf {
    struct conf_server server;
    struct conf_gpu gpus[CONF_GPUS_MAX]; /* by number, ascending */
    unsigned gpu_count;
};

/* Receives each error as one line: "file:line: [section] key: what is wrong; what is allowed". */
typedef void conf_complain(void *user, const char *line);

/* GA_INVALID after at least one complaint. */
GA_CHECKED enum ga_status conf_read_file(const char *path, struct conf *conf,
                                         conf_complain *complain, void *user);
/* Reads a text in memory; complaints have `name` in the place of the file. */
GA_CHECKED enum ga_status conf_read_text(const char *name, const char *text, struct conf *conf,
                                         conf_complain *complain, void *user);

/* Gets a value of a configuration; the texts are lent. `section`: "server", "gpu.0". */
typedef void conf_value(void *user, const char *section, const char *key, const char *value);
/* Tells all values that are in force, those that the file leaves out as well; `listen` once for
 * each address. Keys of a software GPU are one value, `software`, as SOFTGPU_DEVICES has them. */
void conf_values_tell(const struct conf *conf, conf_value *tell, void *user);
/* Takes from `fresh` every value of [server] whose key says RELOAD; `ignored` gets the name of each
 * other key whose value in `fresh` differs from the one in `read`, which is what `now` was read
 * from. */
void conf_server_reload(struct conf_server *now, const struct conf_server *read,
                        const struct conf_server *fresh,
                        void (*ignored)(void *user, const char *key), void *user);

/* An INI text while it is read; its other members begin as 0. */
struct conf_ini {
    const char *name; /* of the file, for complaints */
    const char *next; /* the text that is not yet read */
    conf_complain *complain;
    void *user;         /* of `complain` */
    unsigned line;      /* that is read now */
    unsigned errors;    /* complaints so far */
    bool sections_lost; /* some section lines were wrong: a missing key may be in such a section */
    bool skipping;      /* behind a wrong section line: the section of the keys is unknown */
};
/* Gets an entry; `section` is empty before the first section line. */
typedef void conf_ini_take(void *user, const char *section, const char *key, const char *value);
/* Gives all entries of the text, and complains about lines that are none. */
void conf_ini_read(struct conf_ini *ini, conf_ini_take *take, void *user);
/* line 0: about no line. */
void conf_ini_complain(struct conf_ini *ini, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- scheduling (scheduling.c); `why` gets a sentence for people, on failure */

/* The facts of a GPU that its scheduler needs, as far as the configuration says. */
struct sched_gpu conf_gpu_sched(const struct conf_gpu *gpu);
/* Whether the GPU can be used so. GA_INVALID, GA_UNSUPPORTED: see sched_settings_check; of the
 * latter `why` has the policies that the GPU can have. */
GA_CHECKED enum ga_status conf_scheduling_check(const struct conf_scheduling *scheduling,
                                                const struct sched_gpu *gpu, char *why,
                                                size_t why_size);
/* Sets one key: "slice=5ms". GA_INVALID: it is not allowed, or there is no such key. */
GA_CHECKED enum ga_status conf_scheduling_set(const char *text, struct conf_scheduling *scheduling,
                                              char *why, size_t why_size);
/* Keys of scheduling that the file gives and that have no effect with the policy of their GPU: a
 * line for each, "FILE: [gpu.N] key: ...", with what to do. */
void conf_scheduling_idle(const char *file, const struct conf *conf, conf_complain *warn,
                          void *user);
/* Gets a key's value; of a time it is in ns, and the name ends in _ns. `text` is of the policy,
 * which has no number; else NULL. Lent. */
typedef void conf_scheduling_value(void *user, const char *name, const char *text, uint64_t number);
void conf_scheduling_tell(const struct conf_scheduling *scheduling, conf_scheduling_value *tell,
                          void *user);
/* Whether the GPUs are the same but for their scheduling. */
bool conf_gpus_same(const struct conf *one, const struct conf *other);

/* The example file: every key with its help, its default and the allowed values. It is a valid
 * configuration, equal to the smallest one. */
void conf_example_write(FILE *out);
/* The man page gpuaasd.conf(5), as roff. */
void conf_manual_write(FILE *out);

#endif
