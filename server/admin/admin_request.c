/* SPDX-License-Identifier: Apache-2.0 */
/* The envelope of a request. Members that it does not know are mistakes, so that a misspelt one is
 * not taken for one that is missing. */
#include "server/admin/admin_request.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/admin.h"

#define ID_TEXT_MAX 64u /* bytes: it comes back in the reply */

static enum ga_status request_wrong(char *why, size_t why_size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum ga_status request_wrong(char *why, size_t why_size, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(why, why_size, format, values);
    va_end(values);
    return GA_INVALID;
}

static json_t *id_of(json_t *document)
{
    json_t *id = json_object_get(document, "id");
    bool good = json_is_integer(id) || (json_is_string(id) && json_string_length(id) < ID_TEXT_MAX);
    return good ? id : NULL;
}

static enum ga_status members_check(json_t *document, char *why, size_t why_size)
{
    static const char *const known[] = {"apiVersion", "id", "verb", "arguments", "dryRun"};
    const char *name;
    json_t *value;
    json_object_foreach(document, name, value)
    {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            found = found || strcmp(name, known[i]) == 0;
        }
        if (!found) {
            return request_wrong(why, why_size, "a request has no member %.64s", name);
        }
    }
    return GA_OK;
}

static enum ga_status version_check(json_t *document, char *why, size_t why_size)
{
    json_t *version = json_object_get(document, "apiVersion");
    if (!json_is_integer(version)) {
        return request_wrong(why, why_size, "apiVersion is missing: it is %d here", ADMIN_VERSION);
    }
    if (json_integer_value(version) != ADMIN_VERSION) {
        return request_wrong(why, why_size,
                             "apiVersion %lld of the request does not go with %d of this gpuaasd: "
                             "use a gpuaasctl of the same release",
                             (long long)json_integer_value(version), ADMIN_VERSION);
    }
    return GA_OK;
}

enum ga_status admin_request_read(const char *line, size_t size, struct admin_request *request,
                                  char *why, size_t why_size)
{
    json_error_t error;
    *request =
        (struct admin_request){.document = json_loadb(line, size, JSON_REJECT_DUPLICATES, &error)};
    if (request->document == NULL) {
        return request_wrong(why, why_size, "the request is no JSON: %s (byte %d)", error.text,
                             error.position);
    }
    if (!json_is_object(request->document)) {
        return request_wrong(why, why_size, "the request is no JSON object");
    }
    request->id = id_of(request->document);
    GA_TRY(version_check(request->document, why, why_size));
    GA_TRY(members_check(request->document, why, why_size));
    json_t *verb = json_object_get(request->document, "verb");
    json_t *arguments = json_object_get(request->document, "arguments");
    json_t *dry_run = json_object_get(request->document, "dryRun");
    if (!json_is_string(verb)) {
        return request_wrong(why, why_size, "verb is missing, or no text");
    }
    if (arguments != NULL && !json_is_object(arguments)) {
        return request_wrong(why, why_size, "arguments is no object");
    }
    if (dry_run != NULL && !json_is_boolean(dry_run)) {
        return request_wrong(why, why_size, "dryRun is neither true nor false");
    }
    if (arguments == NULL) {
        arguments = json_object();
        if (json_object_set_new(request->document, "arguments", arguments) != 0) {
            return request_wrong(why, why_size, "no memory");
        }
    }
    request->arguments = arguments;
    request->dry_run = json_is_true(dry_run);
    request->verb = json_string_value(verb);
    return GA_OK;
}

void admin_request_fini(struct admin_request *request)
{
    json_decref(request->document);
    *request = (struct admin_request){.document = NULL};
}
