/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios: what is read, and which words a mistake gets. */
#include "sim/scenario.h"

#include <criterion/criterion.h>
#include <string.h>

static const char good[] = "[run]\n"
                           "isolation = packed\n"
                           "policy = tfs\n"
                           "[policy]\n"
                           "epoch = 200ms\n"
                           "[gpu.3]\n"
                           "node = 7\n"
                           "model = quadro2000\n"
                           "context_time = 1ms\n"
                           "[app.MC]\n"
                           "table = MC\n"
                           "runtime = 2s\n"
                           "[stream.one]\n"
                           "app = MC\n"
                           "node = 7\n"
                           "alpha = 0.5\n"
                           "weight = 3\n";

struct heard {
    char text[4000];
    unsigned lines;
};

static void hear(void *user, const char *line)
{
    struct heard *heard = user;
    size_t used = strlen(heard->text);
    snprintf(heard->text + used, sizeof heard->text - used, "%s\n", line);
    heard->lines++;
}

static enum ga_status scenario_of(const char *text, const struct sim_settings *settings,
                                  struct sim_scenario *scenario, struct heard *heard)
{
    *heard = (struct heard){.lines = 0};
    return sim_scenario_read("f.ini", text, settings, scenario, hear, heard);
}

Test(scenario, is_read)
{
    struct sim_scenario s;
    struct heard heard;
    cr_assert_eq(scenario_of(good, NULL, &s, &heard), GA_OK, "%s", heard.text);
    cr_assert_eq(s.run.isolation, SIM_ISOLATION_PACKED);
    cr_assert_str_eq(sched_policy_name(s.policy), "tfs");
    cr_assert_eq(s.policy_keys.epoch_ns, 200000000);
    cr_assert_eq(s.policy_keys.slice_ns, 10000000);
    cr_assert_eq(s.node_count, 1);
    cr_assert_eq(s.nodes[0].number, 7);
    cr_assert_eq(s.gpus[0].node, 0);
    cr_assert_eq(s.gpus[0].device.sms, 4);
    cr_assert_eq(s.gpus[0].device.context_ns, 1000000);
    cr_assert_eq(s.apps[0].runtime_ns, 2000000000);
    cr_assert_eq(s.apps[0].transfer_share, .9894);
    cr_assert_str_eq(s.streams[0].tenant, "one");
    cr_assert_eq(s.streams[0].alpha, 0.5);
    sim_scenario_free(&s);
}

Test(scenario, settings_go_before_the_file)
{
    static const char *const texts[] = {"run.policy=ps", "stream.one.alpha=2",
                                        "gpu.3.context_time=2ms", "node.7.threads=3"};
    const struct sim_settings settings = {texts, 4};
    struct sim_scenario s;
    struct heard heard;
    cr_assert_eq(scenario_of(good, &settings, &s, &heard), GA_OK, "%s", heard.text);
    cr_assert_str_eq(sched_policy_name(s.policy), "ps");
    cr_assert_eq(s.streams[0].alpha, 2);
    cr_assert_eq(s.gpus[0].device.context_ns, 2000000);
    cr_assert_eq(s.nodes[0].threads, 3);
    sim_scenario_free(&s);
}

#define TAIL "[gpu.0]\nnode = 0\n[app.A]\ntable = MC\n[stream.S]\napp = A\nalpha = 1\n"

Test(scenario, mistakes_have_words)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", "there is no GPU: a section [gpu.N] is missing"},
        {"[gpu.0]\nnode = 0\n", "there is no stream: a section [stream.NAME] is missing"},
        {"key = 1\n" TAIL, "f.ini:1: []: there is no such section; allowed: [run], [policy]"},
        {"[rum]\nx = 1\n" TAIL, "f.ini:2: [rum]: there is no such section; allowed: [run]"},
        {"[run]\npolcy = tfs\n" TAIL, "f.ini:2: [run] polcy: there is no such key, did you mean "
                                      "policy?"},
        {"[run]\nzzz = tfs\n" TAIL, "there is no such key; allowed: isolation, policy"},
        {"[run]\npolicy = best\n" TAIL, "f.ini:2: [run] policy: there is no policy of this name; "
                                        "allowed: none, rr, las"},
        {"[run]\nisolation = none\n" TAIL, "\"none\" is not allowed; allowed: app, packed"},
        {"[run]\nuntil = 5\n" TAIL, "f.ini:2: [run] until: \"5\" is not allowed"},
        {"[run]\nbins = 1\nbins = 2\n" TAIL, "f.ini:3: [run] bins: given twice, first in line 2"},
        {"[run]\npolicy = las\n[policy]\nhold = 1ms\nquantum = 10ms\nhorizon = 1ms\n" TAIL,
         "f.ini:5: [policy] quantum: 10ms is not allowed: it must be longer than slice, which is "
         "10ms"},
        {"[node.x]\ncpus = 1\n" TAIL, "f.ini:2: [node.x]: N must be 0 to"},
        {"[app.]\ntable = MC\n" TAIL, "[app.]: there is no such section"},
        {"[app.a b]\ntable = MC\n" TAIL, "[app.a b]: a name has at most 63 characters"},
        {"[app.B]\ntable = XY\n" TAIL, "f.ini:2: [app.B] table: \"XY\" is not allowed; allowed: "
                                       "none, DC"},
        {"[app.B]\nrounds = 2\n" TAIL, "f.ini:2: [app.B] runtime: is missing"},
        {"[app.B]\ntable = MC\ntrace = t\n" TAIL, "f.ini:2: [app.B] table: contradicts trace"},
        {"[app.B]\ntable = MC\ngpu_share = nan\n" TAIL, "\"nan\" is not allowed"},
        {"[app.B]\ntable = MC\nreference = generic\n" TAIL, "f.ini:3: [app.B] reference"},
        {"[gpu.1]\nmodel = generic\n" TAIL, "f.ini:2: [gpu.1] model: generic is as large as"},
        {"[stream.T]\nweight = 0\n" TAIL, "f.ini:2: [stream.T] weight: \"0\" is not allowed; "
                                          "allowed: 1 to 10000"},
        {"[stream.T]\nalpha = 1\n" TAIL, "[stream.T] app: is missing"},
        {"[stream.T]\napp = B\nalpha = 1\n" TAIL, "f.ini:2: [stream.T] app: there is no section "
                                                  "[app.B]"},
        {"[stream.T]\napp = A\n" TAIL, "[stream.T] alpha: is missing; allowed: it, or mean"},
        {"[stream.T]\napp = A\nalpha = 1\nmean = 1s\n" TAIL, "alpha: contradicts mean"},
        {"[stream.T]\napp = A\narrivals = closed\nrequests = 0\n" TAIL, "0 needs [run] until"},
        {"[stream.T]\napp = A\narrivals = trace\n" TAIL, "trace needs an application with a trace"},
        {"[stream.T]\napp = A\nalpha = 1\nnode = 4\n" TAIL, "f.ini:4: [stream.T] node: there is no "
                                                            "node 4"},
        {"[stream.T]\napp = A\nalpha = 1\ngpu = 4\n" TAIL, "gpu: needs [run] balance = fixed"},
        {"[stream.T]\napp = A\nalpha = 1\ntenant = S\nweight = 2\n" TAIL,
         "the same tenant with another weight"},
        {"[run]\nbalance = fixed\n[stream.T]\napp = A\nalpha = 1\ngpu = 4\n" TAIL,
         "f.ini:6: [stream.T] gpu: there are fewer GPUs"},
        {"[node.0]\ncount = 100000\n[node.1]\ncount = 100000\n" TAIL, "more than 100000 nodes"},
        {"[node.1]\ncpus = 1\n[stream.T]\nnode = 1\napp = A\nalpha = 1\n" TAIL,
         "[node.1] has streams and no GPU"},
        {"[run\nbins = 1\n" TAIL, "f.ini:1: \"[run\": ']' is missing"},
        {"[run]\nnonsense\n" TAIL, "f.ini:2: \"nonsense\" is neither [section] nor key = value"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sim_scenario s;
        struct heard heard;
        cr_assert_eq(scenario_of(rows[i].text, NULL, &s, &heard), GA_INVALID, "%s", rows[i].text);
        cr_assert(strstr(heard.text, rows[i].words) != NULL, "\"%s\" is not in \"%s\"",
                  rows[i].words, heard.text);
    }
}

Test(scenario, wrong_settings_have_words)
{
    static const struct {
        const char *setting, *words;
    } rows[] = {
        {"policy", "policy: a setting has the form section.key=value"},
        {"run=1", "a setting has the form"},
        {"run.=1", "a setting has the form"},
        {"run.policy=best", "there is no policy of this name"},
        {"stream.T.alpha=1", "[stream.T] app: is missing"},
        {"gpu.3.sms=0", "gpu.3.sms=0: [gpu.3] sms: \"0\" is not allowed; allowed: 1 to 1024"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct sim_settings settings = {&rows[i].setting, 1};
        struct sim_scenario s;
        struct heard heard;
        cr_assert_eq(scenario_of(good, &settings, &s, &heard), GA_INVALID, "%s", rows[i].setting);
        cr_assert(strstr(heard.text, rows[i].words) != NULL, "\"%s\" is not in \"%s\"",
                  rows[i].words, heard.text);
    }
}

/* A word of `table` must name the row of table1.def at its place. */
Test(scenario, tables_rows_are_named)
{
    char text[400];
    for (uint32_t row = 0; sim_table_name(row) != NULL; row++) {
        struct sim_scenario s;
        struct heard heard;
        snprintf(text, sizeof text,
                 "[gpu.0]\nnode = 0\n[app.A]\ntable = %s\n[stream.S]\napp = A\nalpha = 1\n",
                 sim_table_name(row));
        cr_assert_eq(scenario_of(text, NULL, &s, &heard), GA_OK, "%s", heard.text);
        cr_assert_eq(s.apps[0].table, row + 1);
        sim_scenario_free(&s);
    }
    cr_assert_eq(sim_table_name(10), NULL);
}
