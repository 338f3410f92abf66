/* SPDX-License-Identifier: Apache-2.0 */
/* Timed kernels: their demand, and what is refused. */
#include <criterion/criterion.h>
#include <math.h>

#include "model/constants.h"
#include "model/timed.h"

Test(timed, demands_what_it_says)
{
    const struct model_timed timed = {.ns = 7000, .places = 1, .issue = 0.5F, .bandwidth = 0.25F};
    cr_assert_null(model_timed_wrong(&timed));
    struct model_demand demand = model_timed_demand(&timed);
    cr_assert_eq(demand.lead_ns, MODEL_LAUNCH_NS);
    cr_assert_eq(demand.ns, 7000);
    cr_assert_eq(demand.share[MODEL_RESOURCE_SLOTS], 1);
    cr_assert_eq(demand.share[MODEL_RESOURCE_ISSUE], 0.5);
    cr_assert_eq(demand.share[MODEL_RESOURCE_BANDWIDTH], 0.25);
}

Test(timed, bounds)
{
    const struct model_timed none = {0}, longest = {.ns = MODEL_TIMED_NS_MAX};
    cr_assert_null(model_timed_wrong(&none));
    cr_assert_null(model_timed_wrong(&longest));
    const struct model_timed too_long = {.ns = MODEL_TIMED_NS_MAX + 1};
    cr_assert_not_null(model_timed_wrong(&too_long));
    const float wrong[] = {-0.001F, 1.001F, NAN, INFINITY, -INFINITY};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const struct model_timed places = {.places = wrong[i]}, issue = {.issue = wrong[i]},
                                 bandwidth = {.bandwidth = wrong[i]};
        cr_assert_not_null(model_timed_wrong(&places), "%f", wrong[i]);
        cr_assert_not_null(model_timed_wrong(&issue), "%f", wrong[i]);
        cr_assert_not_null(model_timed_wrong(&bandwidth), "%f", wrong[i]);
    }
}
