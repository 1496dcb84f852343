import type { CommandSpec } from "../command.ts";
import { storeFlags } from "../store_flags.ts";

/** `users index`. */
export const indexUsersCommand: CommandSpec = {
  words: ["users", "index"],
  summary:
    "List users who were there before the index of users for searches and exports, in the store itself; may be repeated, and on Redis while servers run",
  args: [],
  flags: storeFlags,
  async run({ flags: { redis, data } }, { indexUsers, tell }) {
    const done = await indexUsers({
      store: { redis, data },
      onProgress: ({ examined, listed }) => tell(`Looked at ${examined} records, listed ${listed} users`),
    });
    const { examined, listed, metrics } = done;
    const what = `Looked at ${examined} records, listed ${listed} users, and built ${metrics} indexes of metrics.`;
    return { data: done, notes: [what] };
  },
};
