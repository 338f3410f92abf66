/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about the configuration. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf/conf.h"
#include "ctl/ctl.h"

/* A key that repeats is an array. A key without a value is left out: that is what it says. */
static void config_key_print(const char *key, json_t *value)
{
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    for (size_t i = 0; i < count; i++) {
        const char *text =
            json_string_value(json_is_array(value) ? json_array_get(value, i) : value);
        if (text != NULL && text[0] != 0) {
            printf("%s = %s\n", key, text);
        }
    }
}

enum admin_code ctl_config_show(const struct ctl_line *line)
{
    json_t *result, *members, *value;
    const char *section, *key;
    bool first = true;
    enum admin_code code = ctl_ask(line, "config.show", NULL, &result);
    if (code != ADMIN_OK) {
        return code;
    }
    if (ctl_has(line, OPTION_JSON)) {
        code = ctl_print_json("Configuration", result);
    } else {
        json_object_foreach(json_object_get(result, "sections"), section, members)
        {
            printf("%s[%s]\n", first ? "" : "\n", section);
            first = false;
            json_object_foreach(members, key, value)
            {
                config_key_print(key, value);
            }
        }
    }
    json_decref(result);
    return code;
}

#define NOT_THERE 127 /* the exit status of a shell for that */

/* The exit status of `gpuaasd --check-config`, which looks at files, users and addresses, too; it
 * has told what is wrong. */
static int config_ask_gpuaasd(const char *file)
{
    char path[PATH_MAX], *slash;
    int status;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 16);
    path[length > 0 ? length : 0] = 0;
    slash = strrchr(path, '/');
    snprintf(slash != NULL ? slash + 1 : path, 16, "gpuaasd");
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)dup2(nowhere, STDOUT_FILENO); /* "ok" is ours to say */
        execl(path, "gpuaasd", "--config", file, "--check-config", (char *)NULL);
        execlp("gpuaasd", "gpuaasd", "--config", file, "--check-config", (char *)NULL);
        _exit(NOT_THERE);
    }
    bool ended = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status);
    return ended ? WEXITSTATUS(status) : NOT_THERE;
}

static void config_complain(void *user, const char *text)
{
    (void)user;
    (void)ctl_wrong(ADMIN_ERROR, "%s", text);
}

static void config_warn(void *user, const char *text)
{
    ctl_note(user, "%s", text);
}

enum admin_code ctl_config_check(const struct ctl_line *line)
{
    static struct conf conf;
    if (conf_read_file(line->words[0], &conf, config_complain, NULL) != GA_OK) {
        return ADMIN_ERROR;
    }
    int status = config_ask_gpuaasd(line->words[0]);
    if (status == NOT_THERE) { /* which has not said that */
        conf_scheduling_idle(line->words[0], &conf, config_warn, (void *)(uintptr_t)line);
        ctl_note(line,
                 "%s: ok, but there is no gpuaasd beside gpuaasctl, or in PATH, that could say "
                 "whether the files, users and groups which it names are right",
                 line->words[0]);
        return ADMIN_PARTIAL;
    }
    if (status == 0) {
        ctl_note(line, "%s: ok", line->words[0]);
    }
    return status == 0 ? ADMIN_OK : ADMIN_ERROR;
}
