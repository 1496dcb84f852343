import type { CommandSpec } from "../command.ts";
import { storeFlags } from "../store_flags.ts";
import { organisationFlag } from "./organisation_flag.ts";
import { secretResult } from "./secret_result.ts";

/** Name of a first key where none is given. */
export const bootstrapNameDefault = "Bootstrap";

/** `keys bootstrap`. */
export const bootstrapCommand: CommandSpec = {
  words: ["keys", "bootstrap"],
  summary:
    "Make the first API key of an organisation, with every permission, in the store itself; GRANDSTAND_SECRET is that of the server",
  args: [],
  flags: {
    ...storeFlags,
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
