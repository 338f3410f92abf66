/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduling: whatever sessions ask for and use, and however often the policy changes, a decision
 * wakes sessions that are here and may work, for a time to come, and somebody where work waits and
 * nothing runs; asked for again it is the same. */
#include "sched/sched.h"
#include "tests/fuzz/input.h"

#define SESSIONS_MAX 24u

struct storm {
    struct sched *sched;
    struct sched_settings settings;
    struct sched_gpu gpu;
    bool one_at_a_time;
    struct {
        bool here;
        uint8_t wants, busy;
        uint32_t slot;
    } sessions[SESSIONS_MAX];
    uint64_t now;
};

static uint64_t some_time(struct fuzz_input *input)
{
    static const uint64_t units[] = {0,       1,        1000,       100000,
                                     1000000, 10000000, 1000000000, 60000000000};
    return units[fuzz_u8(input) % 8] * (1 + fuzz_u8(input));
}

static struct sched_settings some_settings(struct fuzz_input *input)
{
    struct sched_settings settings = sched_settings_default();
    uint8_t bits = fuzz_u8(input);
    settings.slice_ns = (bits & 1) != 0 ? some_time(input) : settings.slice_ns;
    settings.epoch_ns = (bits & 2) != 0 ? some_time(input) : settings.epoch_ns;
    settings.quantum_ns = (bits & 4) != 0 ? some_time(input) : settings.quantum_ns;
    settings.hold_ns = (bits & 8) != 0 ? some_time(input) : settings.hold_ns;
    settings.aging_ns = (bits & 16) != 0 ? some_time(input) : settings.aging_ns;
    settings.passed_max = (bits & 32) != 0 ? fuzz_u8(input) : settings.passed_max;
    settings.las_passed_max = (bits & 32) != 0 ? fuzz_u8(input) : settings.las_passed_max;
    settings.cap_window_ns = (bits & 64) != 0 ? some_time(input) : settings.cap_window_ns;
    settings.group_slice_ns = (bits & 128) != 0 ? some_time(input) : settings.group_slice_ns;
    return settings;
}

/* Settings that do not pass are not used; they are explained. */
static const struct sched_policy *some_policy(struct storm *storm, struct fuzz_input *input)
{
    char why[256] = "";
    size_t count = 0;
    while (sched_policy_at(count) != NULL) {
        count++;
    }
    FUZZ_CHECK(count > 0);
    const struct sched_policy *policy = sched_policy_at(fuzz_u8(input) % count);
    struct sched_settings settings = some_settings(input);
    enum ga_status status = sched_settings_check(policy, &settings, &storm->gpu, why, sizeof(why));
    FUZZ_CHECK((status == GA_OK) == (why[0] == '\0'));
    if (status != GA_OK) {
        settings = sched_settings_default();
        if (sched_settings_check(policy, &settings, &storm->gpu, why, sizeof(why)) != GA_OK) {
            policy = sched_policy_at(0);
        }
    }
    storm->settings = settings;
    const char *name = sched_policy_name(policy);
    storm->one_at_a_time = strcmp(name, "rr") == 0 || strcmp(name, "las") == 0 ||
                           strcmp(name, "fs") == 0 || strcmp(name, "tfs") == 0 ||
                           strcmp(name, "priority") == 0 || strcmp(name, "latency") == 0;
    return policy;
}

static struct sched_request some_request(struct fuzz_input *input)
{
    struct sched_request request = {.tenant = fuzz_u8(input) % 8};
    uint8_t bits = fuzz_u8(input);
    request.wants = bits & 7;
    request.busy = (bits >> 3) & 7;
    request.phase = (enum gpu_phase)(fuzz_u8(input) % 5);
    request.weight = (bits & 64) != 0 ? fuzz_u32(input) : 1;
    request.priority = (bits & 64) != 0 ? fuzz_u32(input) : 0;
    request.cap_percent = (bits & 128) != 0 ? fuzz_u8(input) : 0;
    request.throttle_percent = (bits & 128) != 0 ? fuzz_u8(input) : 0;
    request.demand_ppm = fuzz_u32(input) % 1100000;
    request.bandwidth = fuzz_u16(input);
    request.goal_ns = (bits & 64) != 0 ? fuzz_u64(input) : 0;
    return request;
}

static uint32_t session_of(const struct storm *storm, uint32_t slot)
{
    uint32_t i = 0;
    while (i < SESSIONS_MAX && !(storm->sessions[i].here && storm->sessions[i].slot == slot)) {
        i++;
    }
    FUZZ_CHECK(i < SESSIONS_MAX);
    return i;
}

static void storm_decide(struct storm *storm)
{
    bool awake[SESSIONS_MAX] = {false};
    struct sched_decision decision = sched_decide(storm->sched, storm->now);
    uint32_t count = decision.count;
    uint64_t again = decision.again;
    FUZZ_CHECK(again > storm->now);
    FUZZ_CHECK(count <= 1 || !storm->one_at_a_time);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t session = session_of(storm, decision.awake[i].slot);
        FUZZ_CHECK(!awake[session] && decision.awake[i].until > storm->now);
        awake[session] = true;
    }
    bool runs = false, waits = false;
    for (uint32_t i = 0; i < SESSIONS_MAX; i++) {
        if (storm->sessions[i].here) {
            struct sched_account account =
                sched_account(storm->sched, storm->sessions[i].slot, storm->now);
            FUZZ_CHECK(account.awake == awake[i] && !(account.awake && account.capped));
            FUZZ_CHECK(account.debt_ns >= 0 && account.cgs_ns >= 0);
            runs = runs || storm->sessions[i].busy != 0;
            waits = waits || (storm->sessions[i].wants != 0 && !account.capped);
        }
    }
    FUZZ_CHECK(count > 0 || runs || !waits);
    decision = sched_decide(storm->sched, storm->now);
    FUZZ_CHECK(decision.count == count && decision.again == again);
    for (uint32_t i = 0; i < count; i++) {
        FUZZ_CHECK(awake[session_of(storm, decision.awake[i].slot)]);
    }
}

static void storm_event(struct storm *storm, struct fuzz_input *input)
{
    uint8_t what = fuzz_u8(input);
    uint32_t i = fuzz_u8(input) % SESSIONS_MAX;
    if (what % 32 == 0) {
        const struct sched_policy *policy = some_policy(storm, input);
        sched_change(storm->sched, policy, &storm->settings, storm->now);
        return;
    }
    if (what % 4 == 3) {
        uint64_t step = some_time(input);
        storm->now += step;
        return;
    }
    struct sched_request request = some_request(input);
    if (!storm->sessions[i].here) {
        FUZZ_CHECK(sched_join(storm->sched, &request, storm->now, &storm->sessions[i].slot) ==
                   GA_OK);
        storm->sessions[i].here = true;
    } else if (what % 8 == 1) {
        sched_leave(storm->sched, storm->sessions[i].slot, storm->now);
        storm->sessions[i].here = false;
    } else if (what % 8 == 2) {
        sched_charge(storm->sched, storm->sessions[i].slot,
                     (enum gpu_engine)(fuzz_u8(input) % GPU_ENGINES), some_time(input), storm->now);
        return;
    } else {
        sched_update(storm->sched, storm->sessions[i].slot, &request, storm->now);
    }
    storm->sessions[i].wants = request.wants;
    storm->sessions[i].busy = request.busy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {.at = data, .left = size};
    static struct storm storm;
    memset(&storm, 0, sizeof(storm));
    const uint8_t kind = fuzz_u8(&input);
    storm.gpu = (struct sched_gpu){.copy_engines = 1 + kind % 2,
                                   .bandwidth = fuzz_u16(&input),
                                   .side_by_side = (kind & 2) != 0,
                                   .copies_overlap = (kind & 4) != 0,
                                   .slices = (kind & 8) != 0};
    const struct sched_policy *policy = some_policy(&storm, &input);
    FUZZ_CHECK(sched_create(&storm.sched, policy, &storm.settings, &storm.gpu, 0) == GA_OK);
    while (input.left > 0) {
        storm_event(&storm, &input);
        storm_decide(&storm);
    }
    sched_destroy(storm.sched);
    return 0;
}
