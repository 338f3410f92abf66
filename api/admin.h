/* SPDX-License-Identifier: Apache-2.0 */
/* Agreements of both ends of gpuaasd's admin socket (docs/admin-protocol.md): a request is a line
 * of JSON, and so is its reply. */
#ifndef API_ADMIN_H
#define API_ADMIN_H

#define ADMIN_VERSION     1
#define ADMIN_SOCKET      "/run/gpuaas/admin.sock" /* where gpuaasctl looks unless it is told */
#define ADMIN_SOCKET_MAX  107u                     /* characters of its path: struct sockaddr_un */
#define ADMIN_REQUEST_MAX 65536u                   /* bytes of a request, with its newline */
#define ADMIN_REPLY_MAX   (8u << 20)               /* the same of a reply */
#define ADMIN_PAGE_ITEMS  256u                     /* of a list in one reply, at most */

/* CODE(NAME, value, "word", "text for people"): how a request ends. The value is the exit status of
 * gpuaasctl, whose --help and manual have this table; those without a word are its own. */
#define ADMIN_CODES(CODE)                                                                          \
    CODE(OK, 0, "ok", "it is done")                                                                \
    CODE(ERROR, 1, "error", "it has failed, or what was looked at is not well")                    \
    CODE(USAGE, 2, "usage", "the command line, or the request, makes no sense")                    \
    CODE(NOT_FOUND, 3, "not_found", "there is no such thing")                                      \
    CODE(DENIED, 4, "denied", "you may not")                                                       \
    CODE(CONFLICT, 5, "conflict", "somebody else has changed it meanwhile")                        \
    CODE(LIMIT, 6, "limit", "over a limit")                                                        \
    CODE(UNREACHABLE, 7, "", "gpuaasd cannot be reached, or is not whom it should be")             \
    CODE(TIMEOUT, 8, "", "no answer in time")                                                      \
    CODE(PARTIAL, 9, "partial", "done in part")

enum admin_code {
#define ADMIN_CODE(name, value, word, text) ADMIN_##name = value,
    ADMIN_CODES(ADMIN_CODE)
#undef ADMIN_CODE
};

#endif
