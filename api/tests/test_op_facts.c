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

static void leaves(uint16_t op, unsigned charge, enum api_record record)
{
    struct api_op_facts facts = api_facts(op);
    cr_expect_eq(facts.charge, charge, "%s: %u", api_op_name(op), facts.charge);
    cr_expect_eq(facts.record, record, "%s", api_op_name(op));
}

Test(op_facts, of_each_record)
{
    leaves(API_OP_ga_event_query, 0, API_RECORD_NONE);
    leaves(API_OP_cuStreamCreate, API_CHARGE_OBJECT, API_RECORD_MAKES);
    leaves(API_OP_ga_module_load, API_CHARGE_DEVICE | API_CHARGE_HOST | API_CHARGE_OBJECT,
           API_RECORD_MAKES);
    leaves(API_OP_cuCtxSetLimit, API_CHARGE_DEVICE, API_RECORD_SETS);
    leaves(API_OP_cuEventDestroy_v2, 0, API_RECORD_DROPS);
    leaves(API_OP_ga_memory_map, API_CHARGE_DEVICE, API_RECORD_MEMORY);
    leaves(API_OP_ga_launch, 0, API_RECORD_WORK);
    leaves(API_OP_ga_copy_in, API_CHARGE_HOST, API_RECORD_WORK);
}

/* Nobody may take anything for it, and nothing of it is kept. */
Test(op_facts, of_what_is_no_op_nothing_stays)
{
    leaves(0, 0, API_RECORD_NONE);
    leaves(API_OPS, 0, API_RECORD_NONE);
}
