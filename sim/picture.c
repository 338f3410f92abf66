/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a run: the use of engines over time (Gantt), and how much each was used. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/timeline.h"
#include "sim/output.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

static char letter_of(uint32_t stream)
{
    return stream < strlen(LETTERS) ? LETTERS[stream] : '?';
}

/* The stream that has most of each column; '*' where that is less than half of the column. */
static void picture_row_fill(char *row, double *most, uint32_t columns,
                             const struct sim_result *result, uint32_t gpu, uint32_t engine,
                             uint64_t from_ns, double column_ns)
{
    for (size_t i = 0; i < result->span_count; i++) {
        const struct sim_span *span = &result->spans[i];
        if (span->gpu != gpu || span->engine != engine || span->to_ns <= from_ns) {
            continue;
        }
        double from = ((double)span->from_ns - (double)from_ns) / column_ns;
        double to = ((double)span->to_ns - (double)from_ns) / column_ns;
        from = fmax(from, 0);
        for (uint32_t c = (uint32_t)from; c < columns && c < to; c++) {
            double part = fmin(to, c + 1) - fmax(from, c);
            if (part > most[c]) {
                most[c] = part;
                row[c] = letter_of(span->stream);
            }
        }
    }
}

void sim_picture_text(FILE *out, const struct sim_result *result, uint64_t from_ns, uint64_t to_ns,
                      uint32_t columns)
{
    char row[1024];
    double most[sizeof row];
    columns = columns < sizeof row ? columns : (uint32_t)sizeof row - 1;
    const double column_ns = (double)(to_ns - from_ns) / columns;
    fprintf(out, "\nfrom %.6f s to %.6f s, a column is %.6f s:", (double)from_ns / 1e9,
            (double)to_ns / 1e9, column_ns / 1e9);
    for (uint32_t i = 0; i < result->stream_count; i++) {
        fprintf(out, " %c %s", letter_of(i), result->streams[i].keys->name);
    }
    fputc('\n', out);
    for (uint32_t g = 0; g < result->gpu_count && result->bin_ns != 0; g++) {
        for (uint32_t e = 0; e < GPU_ENGINES; e++) {
            memset(row, '.', columns);
            row[columns] = 0;
            memset(most, 0, sizeof most);
            picture_row_fill(row, most, columns, result, g, e, from_ns, column_ns);
            fprintf(out, "gpu %-3u %-8s %s\n", g, sim_engine_names[e], row);
        }
    }
}

/* ---- SVG */

#define SVG_LEFT   110
#define SVG_WIDTH  900
#define SVG_ROW    18
#define SVG_CURVES 70

#define SVG_AXIS  20
#define SVG_TICKS 12 /* at most */

/* Okabe and Ito's colours, which colour-blind people tell apart too. */
static const char *const stream_colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                             "#56b4e9", "#d55e00", "#f0e442", "#999999"};
#define COLOURS (sizeof stream_colours / sizeof *stream_colours)
static const char *const engine_colours[GPU_ENGINES] = {
    [GPU_H2D] = "#0072b2", [GPU_D2H] = "#009e73", [GPU_COMPUTE] = "#d55e00"};

static void svg_text(FILE *out, double x, double y, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", x, y, text);
}

/* An operation that begins while another one runs on the engine is drawn over the lower half of
 * that. */
static void svg_spans(FILE *out, const struct sim_result *result, uint32_t gpu, uint32_t engine,
                      double y, uint64_t from_ns, uint64_t to_ns)
{
    const double scale = SVG_WIDTH / (double)(to_ns - from_ns);
    const int height = SVG_ROW - 4;
    const double pixel_ns = 1 / scale;
    uint64_t runs_to_ns = 0;
    for (size_t i = 0; i < result->span_count; i++) {
        const struct sim_span *span = &result->spans[i];
        if (span->gpu != gpu || span->engine != engine || span->to_ns <= from_ns ||
            span->from_ns >= to_ns) {
            continue;
        }
        const bool beside = (double)span->from_ns + pixel_ns < (double)runs_to_ns;
        const uint64_t from = span->from_ns > from_ns ? span->from_ns : from_ns;
        const uint64_t to = span->to_ns < to_ns ? span->to_ns : to_ns;
        runs_to_ns = beside ? runs_to_ns : span->to_ns;
        fprintf(out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>\n",
                SVG_LEFT + (double)(from - from_ns) * scale, y + (beside ? height / 2 : 0),
                fmax((double)(to - from) * scale, 0.2), beside ? height / 2 : height,
                stream_colours[span->stream % COLOURS]);
    }
}

static void svg_curve(FILE *out, const struct sim_result *result, const struct sim_gpu_result *gpu,
                      uint32_t engine, double y)
{
    const double step = SVG_WIDTH / (double)result->bin_count;
    fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" points=\"", engine_colours[engine]);
    for (uint32_t b = 0; b < result->bin_count; b++) {
        const double top = y + (SVG_CURVES - 10) * (1 - (double)gpu->use[b * GPU_ENGINES + engine]);
        fprintf(out, "%.1f,%.1f %.1f,%.1f ", SVG_LEFT + b * step, top, SVG_LEFT + (b + 1) * step,
                top);
    }
    fputs("\"/>\n", out);
}

/* Times below a row: steps of 1, 2 or 5 times a power of ten. */
static void svg_axis(FILE *out, double y, uint64_t from_ns, uint64_t to_ns)
{
    static const double steps[] = {2, 2.5, 2}; /* from 1 to 2, to 5, to 10 */
    const double length = (double)(to_ns - from_ns), scale = SVG_WIDTH / length;
    const bool seconds = length >= 2e9;
    double step = 1;
    for (size_t i = 0; length / step > SVG_TICKS; i++) {
        step *= steps[i % 3];
    }
    const uint64_t first = (uint64_t)ceil((double)from_ns / step);
    for (uint64_t i = first; (double)i * step <= (double)to_ns; i++) {
        const double at = (double)i * step, x = SVG_LEFT + (at - (double)from_ns) * scale;
        fprintf(out,
                "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#999\"/>\n"
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g %s</text>\n",
                x, y, x, y + 4, x, y + 15, at / (seconds ? 1e9 : 1e6), seconds ? "s" : "ms");
    }
}

/* A square of the colour, and what it stands for. Returns where the next one begins. */
static double svg_legend(FILE *out, double x, double y, const char *colour, const char *text)
{
    fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", x, y - 9,
            colour);
    svg_text(out, x + 14, y, text);
    return x + 30 + 7.0 * (double)strlen(text);
}

/* How much each engine was used over the run; a curve of one part would say nothing. */
static double svg_use(FILE *out, const struct sim_result *result, uint32_t gpu, double y)
{
    if (result->bin_count < 2) {
        return y;
    }
    double x = SVG_LEFT + 10;
    svg_text(out, 10, y + 11, "use over the run:");
    for (uint32_t e = 0; e < GPU_ENGINES; e++) {
        x = svg_legend(out, x, y + 11, engine_colours[e], sim_engine_names[e]);
    }
    y += 20;
    svg_text(out, 70, y + 8, "100 %");
    svg_text(out, 82, y + SVG_CURVES - 10, "0 %");
    fprintf(out,
            "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"none\" "
            "stroke=\"#999\"/>\n",
            SVG_LEFT, y, SVG_WIDTH, SVG_CURVES - 10);
    for (uint32_t e = 0; e < GPU_ENGINES; e++) {
        svg_curve(out, result, &result->gpus[gpu], e, y);
    }
    y += SVG_CURVES - 10;
    svg_axis(out, y, 0, result->bin_count * result->bin_ns);
    return y + SVG_AXIS;
}

void sim_picture_svg(FILE *out, const struct sim_scenario *scenario,
                     const struct sim_result *result, uint64_t from_ns, uint64_t to_ns)
{
    char text[200];
    const uint32_t gpus = result->bin_ns != 0 ? result->gpu_count : 0;
    const uint32_t use = result->bin_count < 2 ? 0 : 20 + SVG_CURVES - 10 + SVG_AXIS;
    const uint32_t height = 50 + gpus * (GPU_ENGINES * SVG_ROW + SVG_AXIS + use + 10);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            SVG_LEFT + SVG_WIDTH + 30, height);
    snprintf(text, sizeof text, "policy %.64s, isolation %s: who uses which engine when",
             scenario->run.policy,
             scenario->run.isolation == SIM_ISOLATION_PACKED ? "packed" : "app");
    svg_text(out, 10, 16, text);
    double x = 10;
    for (uint32_t i = 0; i < result->stream_count && i < 24; i++) {
        x = svg_legend(out, x, 33, stream_colours[i % COLOURS], result->streams[i].keys->name);
    }
    double y = 44;
    for (uint32_t g = 0; g < gpus; g++) {
        for (uint32_t e = 0; e < GPU_ENGINES; e++) {
            snprintf(text, sizeof text, "gpu %u %s", g, sim_engine_names[e]);
            svg_text(out, 10, y + 11, text);
            svg_spans(out, result, g, e, y, from_ns, to_ns);
            y += SVG_ROW;
        }
        svg_axis(out, y, from_ns, to_ns);
        y = svg_use(out, result, g, y + SVG_AXIS) + 10;
    }
    fputs("</svg>\n", out);
}
