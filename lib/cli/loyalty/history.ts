/**
 * Commands about the versions of a configuration.
 *
 * @module
 */

import type { configurationAnswers } from "../../fans/loyalty/mod.ts";
import { createApiClient, spaceFlags } from "../api_client.ts";
import type { CommandSpec } from "../frame/command.ts";
import { wrongUsage } from "../frame/errors.ts";
import { record, rows } from "../frame/output.ts";
import { configurationOf, configurationPath } from "./configuration.ts";

/** `loyalty versions`. */
export const versionsCommand: CommandSpec = {
  words: ["loyalty", "versions"],
  summary: "List the stored versions of a configuration, newest first",
  examples: ["loyalty versions"],
  requests: 1,
  output: rows({
    version: ["VERSION", "whole"],
    created_at: [null, "whole"],
    created_at_iso: ["CREATED", "time"],
    created_by: ["BY", "text"],
    rollback_of: ["ROLLBACK_OF", "whole?"],
    digest: ["DIGEST", "text"],
  }),
  flags: spaceFlags,
  async run(input, context) {
    const server = await createApiClient(input, context);
    const path = `${configurationPath(server)}/versions`;
    const { json } = await server.send<typeof configurationAnswers.VersionsSchema>(path);
    return { data: json.data.map(({ id, attributes }) => ({ version: Number(id), ...attributes })) };
  },
};

/** `loyalty rollback`. */
export const rollbackCommand: CommandSpec = {
  words: ["loyalty", "rollback"],
  summary: "Restore an earlier version as a new one",
  changes: "makes an earlier version the newest one",
  examples: ["loyalty rollback 1"],
  requests: 1,
  output: record({
    version: ["VERSION", "whole"],
    digest: ["DIGEST", "text"],
    etag: [null, "text"],
  }),
  args: [{ name: "version", description: "Its number" }],
  flags: spaceFlags,
  async run(input, context) {
    const [text = ""] = input.args;
    if (!/^[1-9]\d{0,8}$/.test(text)) {
      throw wrongUsage(`rollback needs the number of a version, not "${text}"`);
    }
    const server = await createApiClient(input, context);
    const path = `${configurationPath(server)}/rollback`;
    const answer = await server.send<typeof configurationAnswers.ConfigurationSchema>(path, {
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
