/* SPDX-License-Identifier: Apache-2.0 */
/* Why sessions end. */
#ifndef SERVER_APPLICATIONS_CLOSE_REASON_H
#define SERVER_APPLICATIONS_CLOSE_REASON_H

/* CLOSE(NAME, "label of the metric") */
#define APPLICATION_CLOSE_REASONS(CLOSE)                                                           \
    CLOSE(LEAVES, "client_exit")    /* the program has */                                          \
    CLOSE(RESET, "reset")           /* its control connection was reset, and it made no other */   \
    CLOSE(SILENT, "timeout")        /* its machine, or the program, gave no sign of life */        \
    CLOSE(KILLED, "killed")         /* by an administrator, or its right has ended */              \
    CLOSE(SPENT, "quota")           /* a limit says so */                                          \
    CLOSE(DRAINED, "drain")         /* the deadline of a drain has come */                         \
    CLOSE(CRASHES, "backend_crash") /* its backend process has ended by itself */

enum application_closes {
#define CLOSE(name, label) APPLICATION_##name,
    APPLICATION_CLOSE_REASONS(CLOSE)
#undef CLOSE
        APPLICATION_CLOSES
};

#endif
