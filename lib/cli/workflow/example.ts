/** Serves an example backend. */

import { oneOf, whole } from "../frame/checks.ts";
import type { CommandSpec } from "../frame/command.ts";
import { exits } from "../frame/errors.ts";
import { record } from "../frame/output.ts";
import { platformUrl } from "../frame/profile.ts";

/** `workflow example`. */
export const exampleCommand: CommandSpec = {
  words: ["workflow", "example"],
  summary: "Serve an example backend on this machine until Ctrl-C",
  args: [
    {
      name: "name",
      description: "quiz-from-csv or leaderboard-winners",
      check: oneOf("quiz-from-csv", "leaderboard-winners"),
    },
  ],
  flags: {
    port: { value: "port", description: "Port of the backend", otherwise: "3000", check: whole(0, 65_535) },
  },
  examples: ["workflow example quiz-from-csv", "workflow example leaderboard-winners --port 3001"],
  output: record({ url: ["URL", "text"] }),
  exits: { [exits.conflict]: "Another program has the port" },
  async run({ args: [name = ""], flags }, { settings, fetch, memoryStore, serve, note, interruption }) {
    const { generateMasterSecret, systemRandom } = await import("../../workflow/mod.ts");
    const { leaderboardWinners, quizFromCsv } = await import("../../workflow/examples/mod.ts");
    const create = name === "quiz-from-csv" ? quizFromCsv : leaderboardWinners;
    const given = {
      control: platformUrl(settings),
      secret: generateMasterSecret(systemRandom),
      store: await memoryStore(),
      fetch: (address: string, init: RequestInit) => fetch(new Request(address, init)),
    };
    const served = await serve(Number(flags.port), async request => await backend.fetch(request));
    const { url, stop } = served;
    const backend = create({ ...given, endpoint: [url, url.replace("127.0.0.1", "localhost")] });
    note(`${name} is at ${url}: grandstand workflow run ${url} --event $EVENT`);
    const stopped = interruption();
    await new Promise<void>(resolve => {
      if (stopped.aborted) resolve();
      stopped.addEventListener("abort", () => resolve(), { once: true });
    });
    await stop();
    return { data: { url } };
  },
};
