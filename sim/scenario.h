/* SPDX-License-Identifier: Apache-2.0 */
/* A scenario: what is simulated, as an INI file says it. keys.def is the list of keys, with
 * api/soft_keys.def for those of GPUs. */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include "conf/conf.h"
#include "sched/sched.h"
#include "sim/trace.h"

#define SIM_PATH_BYTES   512
#define SIM_SECTIONS_MAX 4096u /* of each kind */
#define SIM_FILE_MAX     (1u << 22)
/* With the key count: */
#define SIM_NODES_MAX   100000u
#define SIM_GPUS_MAX    100000u
#define SIM_STREAMS_MAX 1000000u

enum sim_isolation { SIM_ISOLATION_APP, SIM_ISOLATION_PACKED };
enum sim_pinned { SIM_PINNED_PACKED, SIM_PINNED_YES, SIM_PINNED_NO };
enum sim_balance { SIM_BALANCE_FIRST, SIM_BALANCE_GRR_NODE, SIM_BALANCE_GRR, SIM_BALANCE_FIXED };
enum sim_arrivals {
    SIM_ARRIVALS_EXPONENTIAL,
    SIM_ARRIVALS_CLOSED,
    SIM_ARRIVALS_ONCE,
    SIM_ARRIVALS_TRACE
};

/* The members are those of keys.def, which explains them. */
struct sim_run_keys {
    uint32_t isolation, balance, pinned;
    char policy[SIM_NAME_BYTES];
    uint64_t forward_ns, gate_ns, seen_ns, until_ns;
    double forward_spread, late_percent;
    uint64_t late_most_ns;
    uint32_t unpinned_most; /* bytes */
    uint32_t warmup_percent, bins;
};

struct sim_node_keys {
    uint32_t number;
    uint32_t count, cpus, threads, link_mbs;
    uint64_t link_latency_ns;
};

struct sim_gpu_keys {
    uint32_t number;
    uint32_t node; /* N of [node.N]; once it is checked, the index in `nodes` */
    struct soft_device device;
    uint64_t given; /* a bit for each of soft_keys */
};

struct sim_app_keys {
    char name[SIM_NAME_BYTES];
    uint32_t table; /* 0: none; else place in table1.def + 1 */
    char trace[SIM_PATH_BYTES], trace_stream[SIM_NAME_BYTES], reference[SIM_NAME_BYTES];
    uint64_t runtime_ns;
    double gpu_share, transfer_share, bandwidth_mbs, places, h2d_part;
    uint32_t rounds;
};

struct sim_stream_keys {
    char name[SIM_NAME_BYTES], app[SIM_NAME_BYTES], tenant[SIM_NAME_BYTES];
    uint32_t app_index; /* once it is checked */
    uint32_t node;      /* likewise an index in `nodes` */
    bool spread;
    uint32_t gpu, weight, priority, cap_percent, throttle_percent;
    uint64_t goal_ns;
    uint32_t arrivals;
    double alpha; /* 0: not given */
    uint64_t mean_ns;
    uint32_t requests;
    uint64_t start_ns;
    uint32_t count;
};

struct sim_scenario {
    char name[SIM_PATH_BYTES]; /* the file */
    struct sim_run_keys run;
    struct sched_settings policy_keys;
    const struct sched_policy *policy;
    struct sim_node_keys *nodes;
    struct sim_gpu_keys *gpus;
    struct sim_app_keys *apps;
    struct sim_stream_keys *streams;
    uint32_t node_count, gpu_count, app_count, stream_count;
};

/* A setting that goes before those of the file: "section.key=value"; the section of streams and
 * applications includes their name: "stream.MC.alpha=0.5". */
struct sim_settings {
    const char *const *texts;
    size_t count;
};

/* Reads a text. Complaints have the form "file:line: [section] key: what is wrong; what is
 * allowed"; with GA_INVALID there was at least one. sim_scenario_free frees what it has filled. */
GA_CHECKED enum ga_status sim_scenario_read(const char *name, const char *text,
                                            const struct sim_settings *settings,
                                            struct sim_scenario *scenario, conf_complain *complain,
                                            void *user);
GA_CHECKED enum ga_status sim_scenario_read_file(const char *path,
                                                 const struct sim_settings *settings,
                                                 struct sim_scenario *scenario,
                                                 conf_complain *complain, void *user);
void sim_scenario_free(struct sim_scenario *scenario);

/* A line for each key: section, key, default, what is allowed, help. */
void sim_keys_write(FILE *out);

/* The name of a row of table1.def, "MC"; NULL behind the last. */
const char *sim_table_name(uint32_t row);

#endif
