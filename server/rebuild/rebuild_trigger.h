/* SPDX-License-Identifier: Apache-2.0 */
/* In builds for tests: rebuilds an application at random boundaries of frames. The environment
 * variable GPUAAS_TEST_REBUILD names a file with three numbers: a seed, how many boundaries there
 * are, and at how many of them to rebuild (0: they are only counted). */
#ifndef SERVER_REBUILD_REBUILD_TRIGGER_H
#define SERVER_REBUILD_REBUILD_TRIGGER_H

struct server_app;

struct rebuild_trigger;

/* NULL: nothing of the kind is wanted, or there is no memory. */
struct rebuild_trigger *rebuild_trigger_create(void);
/* Between two frames. Submit thread. */
void rebuild_trigger_boundary(struct rebuild_trigger *trigger, struct server_app *app);
/* Logs how often it was done. */
void rebuild_trigger_report(const struct rebuild_trigger *trigger);
void rebuild_trigger_destroy(struct rebuild_trigger *trigger);

#endif
