/**
 * Commands about the versions of a configuration.
 *
 * @module
 */

import { createApiClient, spaceFlags } from "../api_client.ts";
import { CliError, type CommandSpec, exits } from "../command.ts";
import { configurationOf, configurationPath } from "./configuration.ts";

interface VersionsBody {
  readonly data: readonly {
    readonly id: string;
    readonly attributes: {
      readonly digest: string;
      readonly created_at_iso: string;
      readonly created_by: string;
      readonly rollback_of: number | null;
    };
  }[];
}

/** `loyalty versions`. */
export const versionsCommand: CommandSpec = {
  words: ["loyalty", "versions"],
  summary: "List the stored versions of a configuration, newest first",
  args: [],
  flags: spaceFlags,
  async run(input, context) {
    const server = createApiClient(input, context);
    const { json } = await server.send(`${configurationPath(server)}/versions`);
    const versions = (json as VersionsBody).data.map(({ id, attributes }) => ({
      version: Number(id),
      ...attributes,
    }));
    const rows = versions.map(({ version, created_at_iso, created_by, rollback_of, digest }) => [
      String(version),
      created_at_iso,
      created_by,
      rollback_of === null ? "" : String(rollback_of),
      digest,
    ]);
    return {
      data: versions,
      shown: { columns: ["VERSION", "CREATED", "BY", "ROLLBACK_OF", "DIGEST"], rows },
    };
  },
};

/** `loyalty rollback`. */
export const rollbackCommand: CommandSpec = {
  words: ["loyalty", "rollback"],
  summary: "Restore an earlier version as a new one",
  args: [{ name: "version", description: "Its number" }],
  flags: spaceFlags,
  async run(input, context) {
    const [text = ""] = input.args;
    if (!/^[1-9]\d{0,8}$/.test(text)) {
      throw new CliError(exits.usage, `rollback needs the number of a version, not "${text}"`, {
        code: "wrong_usage",
      });
    }
    const server = createApiClient(input, context);
    const answer = await server.send(`${configurationPath(server)}/rollback`, {
      method: "POST",
      body: { version: Number(text) },
    });
    const { version, digest, etag } = configurationOf(answer);
    return {
      data: { version, digest, etag },
      notes: [`Version ${version} is now current, with the document of version ${text}`],
    };
  },
};
