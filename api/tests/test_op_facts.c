/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of api/cuda/ by op, which are used before a frame is read. */
#include <criterion/criterion.h>

#include "api/calls.h"
#include "api/wire.h"

static void is(uint16_t op, enum api_engine engine, enum api_work work, unsigned values,
               unsigned bulk_max)
{
    struct api_op_facts facts = api_facts(op);
    cr_expect_eq(facts.engine, engine, "%s", api_op_name(op));
    cr_expect_eq(facts.work, work, "%s", api_op_name(op));
    cr_expect_eq(facts.bulk_values, values, "%s", api_op_name(op));
    cr_expect_eq(facts.bulk_max, bulk_max, "%s", api_op_name(op));
}

Test(op_facts, of_each_engine)
{
    is(API_OP_ga_launch, API_ENGINE_COMPUTE, API_WORK_LASTING, 0, 0);
    is(API_OP_cuMemsetD8Async, API_ENGINE_COMPUTE, API_WORK_SHORT, 0, 0);
    is(API_OP_ga_graph_launch, API_ENGINE_BOTH, API_WORK_LASTING, 0, 0);
    is(API_OP_ga_copy_in, API_ENGINE_H2D, API_WORK_SHORT,
       wire_padded(sizeof(struct ga_copy_in_args)), WIRE_CHUNK);
    is(API_OP_ga_copy_out, API_ENGINE_D2H, API_WORK_LASTING, 0, 0);
    is(API_OP_ga_module_load, API_ENGINE_NONE, API_WORK_SHORT,
       wire_padded(sizeof(struct ga_module_load_args)), API_IMAGE_MAX);
    is(API_OP_ga_event_query, API_ENGINE_NONE, API_WORK_NOTHING, 0, 0);
}

/* An unknown op counts as lasting work, and has no bulk. */
Test(op_facts, of_what_is_no_op)
{
    is(0, API_ENGINE_NONE, API_WORK_LASTING, 0, 0);
    is(WIRE_BULK, API_ENGINE_NONE, API_WORK_LASTING, 0, 0);
    is(API_OPS - 1, API_ENGINE_NONE, API_WORK_LASTING, 0, 0);
    is(API_OPS, API_ENGINE_NONE, API_WORK_LASTING, 0, 0);
    is(UINT16_MAX, API_ENGINE_NONE, API_WORK_LASTING, 0, 0);
}
