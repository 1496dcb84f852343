import type { CommandSpec } from "../command.ts";
import { storeFlags } from "../store_flags.ts";

/** `leaderboards rebuild`. */
export const rebuildCommand: CommandSpec = {
  words: ["leaderboards", "rebuild"],
  summary:
    "Bring a board to what is recorded of its users, in the store itself; may be repeated, and on Redis while servers run",
  args: [{ name: "board", description: "The id of the leaderboard" }],
  flags: {
    ...storeFlags,
    project: { value: "id", description: "The project of the board", required: true },
    event: { value: "id", description: "The event, for a board of an event" },
    season: { value: "id", description: "The season; otherwise the running one, or the one that ended last" },
  },
  async run({ args: [leaderboardId = ""], flags }, { rebuildBoard }) {
    const { redis, data, project = "", event = null, season } = flags;
    const board = { projectId: project, eventId: event, leaderboardId };
    const rebuilt = await rebuildBoard({
      store: { redis, data },
      board: season === undefined ? board : { ...board, season },
    });
    const { written, removed } = rebuilt;
    return { data: rebuilt, notes: [`Wrote ${written} entries, and removed ${removed} that did not belong`] };
  },
};
