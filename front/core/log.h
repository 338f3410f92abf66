/* SPDX-License-Identifier: Apache-2.0 */
/* The log that programs read by cuLogs*: errors and warnings of the library, and faults of
 * kernels on a server's software GPUs. */
#ifndef FRONT_CORE_LOG_H
#define FRONT_CORE_LOG_H

/* Copies all further errors and warnings of this library into the log. Idempotent. */
void front_log_begin(void);
#endif
