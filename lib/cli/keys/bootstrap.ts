import type { CommandSpec, FlagSpec } from "../command.ts";
import { organisationFlag } from "./organisation_flag.ts";
import { secretResult } from "./secret_result.ts";

/** Name of a first key where none is given. */
export const bootstrapNameDefault = "Bootstrap";

const store = {
  redis: { value: "urls", description: "The Redis of the deployment", variable: "GRANDSTAND_REDIS" },
  data: {
    value: "folder",
    description: "The folder of its data; its server must not run",
    variable: "GRANDSTAND_DATA",
  },
} as const satisfies Readonly<Record<string, FlagSpec>>;

/** `keys bootstrap`. */
export const bootstrapCommand: CommandSpec = {
  words: ["keys", "bootstrap"],
  summary:
    "Make the first API key of an organisation, with every permission, in the store itself; GRANDSTAND_SECRET is that of the server",
  args: [],
  flags: {
    ...store,
    organisation: organisationFlag,
    name: { value: "text", description: `What the key is for; otherwise ${bootstrapNameDefault}` },
    force: { description: "Make it although the organisation has keys, as where all secrets are lost" },
  },
  async run({ flags }, context) {
    const { organisation = "", name = bootstrapNameDefault, redis, data } = flags;
    const made = await context.bootstrapKey({
      organisationId: organisation,
      name,
      isForced: "force" in flags,
      store: { redis, data },
    });
    return secretResult(made);
  },
};
