/* SPDX-License-Identifier: Apache-2.0 */
/* Device-level scheduling: the sessions that may use one GPU now (Strings, SC14, IV-B; Rain,
 * VTDC13, 4.2; DCUDA, SoCC19, 3.3). Pure: no input or output, no clock (the caller says what time
 * it is), no allocation in a decision. gpuaasd and the simulator run this same code.
 *
 * The caller keeps the requests of the sessions up to date (sched_update), says what they have used
 * (sched_charge), and asks for a decision (sched_decide)
 *   - when `again` of the last decision has come, and
 *   - after each change: a join, a leave, another request, a charge of a session that is awake.
 * A decision depends on the state alone: asking twice at one time gives the same answer.
 *
 * Times are nanoseconds of one clock that never goes back. One thread at a time. */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/gpu_engine.h"
#include "base/status.h"

#define SCHED_NEVER UINT64_MAX

/* A session and its requests: a row of the Request Control Block (Strings III-D). */
struct sched_request {
    uint64_t tenant;           /* sessions of the same number share its weight, debt and cap */
    uint32_t weight;           /* of the tenant, from 1 to SCHED_WEIGHT_MAX */
    uint32_t priority;         /* greater goes first (policy `priority`) */
    uint32_t cap_percent;      /* of the GPU's compute time for the tenant; 0 or 100: no cap */
    uint32_t throttle_percent; /* of the GPU's time, on any engine, for the tenant; likewise */
    enum gpu_phase phase;
    uint8_t wants; /* GPU_ENGINE_BIT of the engines for which it has work that is not submitted */
    /* GPU_ENGINE_BIT of the engines that have work of it, submitted and not done, or may get some:
     * it has been woken and has not given its turn back yet. Policies that wake one session at a
     * time wait until nobody is busy. Work that cannot go on by itself (a wait in a stream) is
     * none. */
    uint8_t busy;
    uint64_t idle_ns;    /* if it has neither: for so long already; not later than `now` */
    uint32_t demand_ppm; /* part of the GPU's places that its kernels fill; 0: not known, so all */
    uint64_t bandwidth;  /* of the GPU's memory while its kernels run, bytes/s; 0: not known */
    uint64_t goal_ns;    /* an operation should wait at most so long (policy `latency`); 0: batch */
};
#define SCHED_WEIGHT_MAX 10000u

/* The settings of a GPU. */
struct sched_gpu {
    uint32_t copy_engines; /* 1 or 2 */
    uint64_t bandwidth;    /* of its memory, bytes/s; 0: not known */
    bool side_by_side;     /* work of several sessions runs at a time, for they share a context
                            * (packing); else kernels of several contexts take turns */
    bool copies_overlap;   /* copies of one context run while another one has the kernels */
    bool slices; /* contexts take turns by time, also within a kernel (from Pascal on); else
                  * when the kernels that were launched before are over */
};

/* A member for each row of settings.def, which explains them. */
#define SCHED_MEMBER_TIME(member)   uint64_t member;
#define SCHED_MEMBER_NUMBER(member) uint32_t member;
struct sched_settings {
#define SCHED_SETTING(id, name, of, kind, member, standard, least, most, allowed, help)            \
    SCHED_MEMBER_##kind(member)
#include "sched/settings.def"
};

enum sched_setting_kind { SCHED_KIND_TIME, SCHED_KIND_NUMBER };
enum sched_setting_of { SCHED_OF_POLICY, SCHED_OF_ALWAYS, SCHED_OF_SERVER };

/* A row of settings.def. */
struct sched_setting {
    const char *name;
    enum sched_setting_of of;
    enum sched_setting_kind kind;
    size_t offset; /* in struct sched_settings */
    const char *standard;
    uint64_t least, most;
    const char *allowed, *help;
};
/* The i-th; NULL behind the last one. */
const struct sched_setting *sched_setting_at(size_t i);
uint64_t sched_setting_value(const struct sched_setting *setting,
                             const struct sched_settings *settings);

struct sched_settings sched_settings_default(void);

/* A policy; its members are the business of sched/policy.h. */
struct sched_policy;
/* NULL: there is none of this name. */
const struct sched_policy *sched_policy_find(const char *name);
/* The i-th, in the order of docs/scheduling.md; NULL behind the last one. The first is `none`:
 * everybody may work at any time, within caps. */
const struct sched_policy *sched_policy_at(size_t i);
const char *sched_policy_name(const struct sched_policy *policy);
const char *sched_policy_summary(const struct sched_policy *policy); /* a line for people */

/* Whether the policy uses a setting or a limit of tenants that is about turns, by its name; true
 * for any other name. */
bool sched_policy_uses(const struct sched_policy *policy, const char *name);
/* "slice, hold, share": the settings and limits that it uses. */
void sched_policy_used(const struct sched_policy *policy, char *text, size_t room);
/* "fs, tfs or las": those that do. */
void sched_policies_using(const char *name, char *text, size_t room);

/* Whether the policy can work so on such a GPU. GA_INVALID: a setting is out of bounds or
 * contradicts another one, and `why` is "KEY: " and one sentence; GA_UNSUPPORTED: the GPU lacks
 * what the policy needs, and `why` is one sentence about it. */
GA_CHECKED enum ga_status sched_settings_check(const struct sched_policy *policy,
                                               const struct sched_settings *settings,
                                               const struct sched_gpu *gpu, char *why,
                                               size_t why_room);

/* The scheduler of one GPU. */
struct sched;

/* Settings that pass sched_settings_check. GA_NO_MEMORY. */
GA_CHECKED enum ga_status sched_create(struct sched **out, const struct sched_policy *policy,
                                       const struct sched_settings *settings,
                                       const struct sched_gpu *gpu, uint64_t now);
void sched_destroy(struct sched *sched);

/* Another policy, or the same with other settings; they pass sched_settings_check. Attained
 * service, CGS, debts and waiting times stay, for the new policy; turns end, so the next decision
 * may wake others, once what runs has ended. */
void sched_change(struct sched *sched, const struct sched_policy *policy,
                  const struct sched_settings *settings, uint64_t now);

/* A new session. The slot is its number until it leaves; freed slots are used again. GA_NO_MEMORY.
 * Values out of bounds are brought within them: requests may be a stranger's words. */
GA_CHECKED enum ga_status sched_join(struct sched *sched, const struct sched_request *request,
                                     uint64_t now, uint32_t *slot);
void sched_leave(struct sched *sched, uint32_t slot, uint64_t now);
/* Sets what the session asks for now. When an operation has ended, call sched_charge before the
 * sched_update that takes it from `busy`. */
void sched_update(struct sched *sched, uint32_t slot, const struct sched_request *request,
                  uint64_t now);
/* The session has used the engine for so long; in one piece at the end of an operation or bit by
 * bit. */
void sched_charge(struct sched *sched, uint32_t slot, enum gpu_engine engine, uint64_t used_ns,
                  uint64_t now);
/* As sched_charge, for the engine COMPUTE, where it is known how much of the time counts for a cap:
 * what the session's kernels have filled of the GPU. Less than 0: too much has been counted
 * before. */
void sched_charge_kernels(struct sched *sched, uint32_t slot, uint64_t used_ns, double filled_ns,
                          uint64_t now);

struct sched_awake {
    uint32_t slot;
    uint32_t rank;  /* 0 has the highest stream priority among those awake */
    uint64_t until; /* it may begin operations before then; SCHED_NEVER: as long as it likes */
};
/* The sessions that are awake; all others begin no operation. Operations that run are never
 * interrupted. */
struct sched_decision {
    const struct sched_awake *awake; /* until the next call for this scheduler */
    uint32_t count;
    uint64_t again; /* ask then at the latest; SCHED_NEVER: after a change */
};
struct sched_decision sched_decide(struct sched *sched, uint64_t now);
/* For how long the session keeps its turn while it has no work, for now: hold_ns, and if its
 * tenant's pauses are longer, and shorter than a twentieth of an epoch, up to that. las_fill: not
 * at all if its own pauses after such work are mostly longer than half of hold_ns. 0 stays 0. */
uint64_t sched_hold_ns(const struct sched *sched, uint32_t slot);

/* For monitoring, tests, and feedback. */
struct sched_account {
    uint64_t attained_ns[GPU_ENGINES]; /* service since it has joined */
    uint64_t waited_ns;                /* wanted to and was not awake, all in all */
    uint64_t turns;                    /* times it has been woken */
    double cgs_ns;                     /* LAS: cumulative GPU service as of the last quantum */
    double debt_ns;                    /* FS, TFS: of its tenant, to be paid in later epochs */
    bool awake;
    bool capped; /* its tenant has used up its cap or throttle for now */
};
struct sched_account sched_account(const struct sched *sched, uint32_t slot, uint64_t now);

#endif
