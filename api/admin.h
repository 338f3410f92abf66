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

/* CODE(NAME, value, "word"): how a request ends. The value is the exit status of gpuaasctl; those
 * without a word are its own. */
#define ADMIN_CODES(CODE)                                                                          \
    CODE(OK, 0, "ok")                                                                              \
    CODE(ERROR, 1, "error")                                                                        \
    CODE(USAGE, 2, "usage")                                                                        \
    CODE(NOT_FOUND, 3, "not_found")                                                                \
    CODE(DENIED, 4, "denied")                                                                      \
    CODE(CONFLICT, 5, "conflict")                                                                  \
    CODE(LIMIT, 6, "limit")                                                                        \
    CODE(UNREACHABLE, 7, "")                                                                       \
    CODE(TIMEOUT, 8, "")                                                                           \
    CODE(PARTIAL, 9, "partial")

enum admin_code {
#define ADMIN_CODE(name, value, word) ADMIN_##name = value,
    ADMIN_CODES(ADMIN_CODE)
#undef ADMIN_CODE
};

#endif
