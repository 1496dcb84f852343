import * as v from "valibot";
import { route, stream, streamedBody } from "../../../http/mod.ts";
import { createFactsSource } from "../../loyalty/views/loyalty_reader.ts";
import { ImportLineSchema, importUsers } from "../imports/import_users.ts";
import { columnsOf } from "../search/columns.ts";
import { userOfSpace } from "./batch_users.ts";
import type { AudienceContext } from "./context.ts";
import { updateRules } from "./profile_routes.ts";

const fileBytesMax = 1_073_741_824;

const csv = "text/csv";

export function importRoutes(context: AudienceContext) {
  const { guards, loyalty, clock } = context;
  const facts = createFactsSource({ clock, configOf: loyalty.config });
  return [
    route({
      method: "POST",
      path: "/v1/api/audience/internal/users/import",
      operation: "importAudienceUsers",
      summary: "Change or create the users of a file, row by row",
      description:
        "Reads a file with the columns of an export, as CSV or as JSON with an object on every line. Sets display names, preferences, custom fields and metrics; `email`, `emailVerified` and `passwordHash` create an account. Other columns of exports are ignored. The same file again changes nothing. The answer streams a line for each row while the file is sent, then a summary: a client that cannot read while it sends asks for `results=failed`.",
      auth: guards.privateAudience("users:write"),
      query: v.object({
        results: v.optional(
          v.pipe(
            v.picklist(["all", "failed"]),
            v.description(
              "Rows that have a line in the answer: all, or those that were not applied. A dry run has those of new users too",
            ),
          ),
          "all",
        ),
        dry_run: v.optional(
          v.pipe(
            v.picklist(["true", "false"]),
            v.description(
              "`true` checks the rows, tells users who would be created from known ones, and changes nothing",
            ),
          ),
          "false",
        ),
      }),
      body: streamedBody({
        description: "The file in UTF-8, up to 1 GiB. A row may have 262,144 characters",
        mediaTypes: [csv, "application/x-ndjson", "application/json"],
        maxBytes: fileBytesMax,
        example: '{"userId":"somebody","displayName":"Some","metrics":{"points":5}}\n',
      }),
      responses: {
        200: { description: "A line for each row, and a summary as the last one", lines: ImportLineSchema },
      },
      handle: async ({ principal, request, info, query, body }) => {
        const rules = await updateRules(context, principal);
        const find = columnsOf(rules.fields, await facts.of(principal.space.id));
        const isCsv = request.headers.get("content-type")?.toLowerCase().startsWith(csv) === true;
        const lines = await importUsers(context, {
          body,
          format: isCsv ? "csv" : "json",
          find,
          rules,
          space: principal.space,
          userOf: userId => userOfSpace(principal, userId),
          onlyFailed: query.results === "failed",
          isDryRun: query.dry_run === "true",
          stopping: info.stopping,
        });
        return stream(200, lines, { "content-type": "application/x-ndjson" });
      },
    }),
  ];
}
