/** The command about client tokens of projects. */

import type {
  ClientTokenAnswer,
  ClientTokensAnswer,
  IssuedClientTokenAnswer,
} from "../../fans/identity/mod.ts";
import { createApiClient, organisationFlags } from "../api_client.ts";
import type { CommandSpec } from "../frame/command.ts";
import { wrongUsage } from "../frame/errors.ts";
import { json } from "../frame/output.ts";
import { isoTime } from "../frame/times.ts";

const nameDefault = "App";

/** `projects client-token`. */
export const clientTokenCommand: CommandSpec = {
  words: ["projects", "client-token"],
  isOurs: true,
  summary:
    "Issue a client token, which the project's app carries so that users without a session recover their passwords; or list or end them",
  changes: "issues a token, or ends one with --end",
  examples: [
    "projects client-token $PROJECT --name iOS",
    "projects client-token $PROJECT --list",
    "projects client-token $PROJECT --end $CLIENT_TOKEN",
  ],
  requests: 1,
  output: json,
  args: [{ name: "project", description: "The id of the project" }],
  flags: {
    key: organisationFlags.key,
    name: { value: "text", description: `Purpose of the new token; otherwise ${nameDefault}` },
    list: { description: "List the tokens of the project instead" },
    end: { value: "id", description: "End this token instead" },
  },
  async run(input, context) {
    const [projectId = ""] = input.args;
    const { name, list, end } = input.flags;
    if ([name, list, end].filter(flag => flag !== undefined).length > 1) {
      throw wrongUsage("projects client-token takes one of --name, --list and --end");
    }
    const server = await createApiClient(input, context, { kind: "project", id: projectId.toLowerCase() });
    const path = `/internal/identity/projects/${encodeURIComponent(projectId)}/client-tokens`;
    if (list !== undefined) {
      const { json } = await server.send<typeof ClientTokensAnswer>(path);
      const { clientTokens } = json.data;
      const rows = clientTokens.map(token => [
        token.id,
        token.name,
        isoTime(token.createdAt),
        isoTime(token.expiresAt),
        isoTime(token.endedAt) ?? "",
      ]);
      return { data: clientTokens, shown: { columns: ["ID", "NAME", "CREATED", "EXPIRES", "ENDED"], rows } };
    }
    if (end !== undefined) {
      const { json } = await server.send<typeof ClientTokenAnswer>(`${path}/${encodeURIComponent(end)}`, {
        method: "DELETE",
      });
      return { data: json.data, shown: `${end}\n`, notes: [`${end} does not work any more`] };
    }
    const { json } = await server.send<typeof IssuedClientTokenAnswer>(path, {
      method: "POST",
      body: { name: name ?? nameDefault },
      // A second attempt could issue another token.
      isRepeatable: false,
    });
    const { id, expiresAt, token } = json.data;
    return {
      data: json.data,
      shown: `${token}\n`,
      notes: [`Token ${id} works until ${isoTime(expiresAt)}; it is not shown again`],
    };
  },
};
