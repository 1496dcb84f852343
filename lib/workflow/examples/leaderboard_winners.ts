/** Publishes the winners of a leaderboard as a message on screens, after the producer has seen them. */

import * as v from "valibot";
import { type Block, escapeMarkup } from "../dialogue/mod.ts";
import {
  alert,
  ControlError,
  input,
  optional,
  type Turn,
  text,
  textInput,
  type View,
  workflow,
} from "../mod.ts";
import type { ExampleOptions } from "./options.ts";

const winnersMax = 10;

const standing = { rank: v.number(), score: v.number() };
const WinnerSchema = v.object({ ...standing, name: v.string() });
const StateSchema = v.object({
  board: v.optional(v.string(), "overall"),
  count: v.optional(v.number(), 3),
  /** The winners as the producer has seen them. */
  winners: v.optional(v.array(WinnerSchema), []),
  /** Names the publication, so that a repetition changes nothing. */
  publication: v.optional(v.string(), ""),
});
type State = v.InferOutput<typeof StateSchema>;
type Winner = v.InferOutput<typeof WinnerSchema>;
type Choice = Pick<State, "board" | "count">;

const EntriesSchema = v.object({
  data: v.array(v.object({ ...standing, publicProfile: v.object({ username: v.string() }) })),
});

const fields = [
  input.text("board", "Leaderboard (otherwise overall)"),
  input.text("count", `Number of winners, 1 to ${winnersMax} (otherwise 3)`),
] as const;
const inputs = {
  board: optional(textInput({ pattern: /^[\w-]{1,64}$/, expected: "Please enter the id of a leaderboard" })),
  count: optional(
    textInput({ pattern: /^([1-9]|10)$/, expected: `Please enter a number from 1 to ${winnersMax}` }),
  ),
};

/** Creates the backend. It runs in events, for creators, and reads the boards of the event. */
export function leaderboardWinners(options: ExampleOptions) {
  const { fetch: send = fetch } = options;

  /** Reads the leaders as everybody can; null if there is no such public board. */
  async function readWinners({ context }: Turn<State>, { board, count }: Choice): Promise<Winner[] | null> {
    const { baseURL, projectId, eventId } = context;
    const path = `projects/${projectId}/events/${eventId}/leaderboards/${board}?limit=${count}`;
    const response = await send(`${baseURL}/${path}`, {});
    if (!response.ok) return null;
    const { data } = v.parse(EntriesSchema, await response.json());
    return data.map(({ rank, score, publicProfile: { username } }) => ({
      rank,
      score,
      name: username || "Somebody",
    }));
  }

  return workflow<State>({
    ...options,
    name: "leaderboard-winners",
    require: { scope: ["event"], role: "creator" },
    state: StateSchema,
  })
    .start(c => choose(c, text`Publish the winners of a leaderboard of this event.`))
    .on("choose", c => choose(c))
    .on("show", { inputs }, async (c, { board = "overall", count = "3" }) => {
      const choice = { board, count: Number(count) };
      const winners = await readWinners(c, choice);
      if (winners === null) return choose(c, alert("warning", `There is no public leaderboard ${board}.`));
      if (winners.length === 0) return choose(c, alert("warning", "Nobody is on this leaderboard yet."));
      return confirm(c.setState({ ...choice, winners, publication: crypto.randomUUID() }));
    })
    .on("publish", async c => {
      const winners = (await readWinners(c, c.state)) ?? [];
      // What was on the screen is published, or nothing.
      if (JSON.stringify(winners) !== JSON.stringify(c.state.winners))
        return confirm(
          c.setState({ winners }),
          alert("warning", "The ranks have changed: please look again."),
        );
      try {
        await c.api.post("/elements", { data: elementOf(c) }, { idempotencyKey: c.state.publication });
      } catch (error) {
        if (!(error instanceof ControlError)) throw error;
        return confirm(c, alert("error", error.safeMessage, "Not published"));
      }
      return c.view(alert("success", "The winners are on screens.", "Published")).end();
    });
}

function choose(c: Turn<State>, ...blocks: readonly Block[]): View {
  return c.view(...blocks, ...fields).button("show", "Show the winners");
}

function confirm(c: Turn<State>, ...blocks: readonly Block[]): View {
  const places = c.state.winners.map(
    ({ rank, score, name }) => text`<strong>${rank}.</strong> ${name} (${score})`,
  );
  return c
    .view(...blocks, ...places)
    .button("publish", "Publish")
    .button("choose", "Choose another leaderboard");
}

function elementOf({ context, state: { winners } }: Turn<State>) {
  const field = (key: string, value: string) => ({ key, values: { all: value } });
  const lines = winners.map(
    ({ rank, name, score }) => `<strong>${rank}.</strong> ${escapeMarkup(name)} (${score})`,
  );
  const custom_fields = [field("title", "Winners"), field("body", lines.join("<br>"))];
  return {
    type: "elements",
    attributes: { content_type: "message", name: "Winners", custom_fields, action: "publish" },
    relationships: { event: { data: { type: "events", id: context.eventId } } },
  };
}
