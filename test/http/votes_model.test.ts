/** Votes, payments and refusals in any order of what producers and fans do, beside a naive model. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { createRandom } from "../../adapters/conformance/random.ts";
import { sampleSize } from "../support/full.ts";
import { type Fan, ids, loyalty, openPlatform, seed } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { Show } from "./_show.ts";

const rule = (id: string, answer: boolean, metricQuantity: number) => ({
  id,
  trigger: { action: "vote" },
  when: { eq: [{ var: "element.isRight" }, answer] },
  effects: [{ type: "metric", metricId: "points", metricQuantity }],
});
const voting = {
  ...seed,
  loyalty: {
    [ids.space]: {
      ...loyalty,
      actions: [{ name: "vote", clientReportable: true }],
      rules: [rule("right-answer", true, 10), rule("wrong-answer", false, 1)],
      challenges: [],
    },
  },
};

/** An element as the model knows it. */
interface ModelElement {
  readonly id: string;
  readonly perUser: number;
  readonly perOption: number;
  state: "draft" | "open" | "stopped" | "answered" | "revoked";
  answer: number;
  /** Options by fan, in the order of the votes. */
  readonly votes: Map<number, number[]>;
}

const steps = 60;

describeOnStores("votes beside a model", open => {
  it("count, are refused, paid and taken back as a naive model says", async () => {
    for (let run = 1; run <= sampleSize(15, 3); run++) {
      const random = createRandom(run).next;
      const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
      const world = await openPlatform(open, { seed: voting });
      const show = new Show(world);
      await show.start();
      const fans: Fan[] = [];
      for (const name of ["Ann", "Ben", "Cem"]) fans.push(await world.fan(name));
      const account = new Map<number, number>();
      const elements: ModelElement[] = [];
      for (const [perUser, perOption] of [
        [1, 1],
        [3, 1],
        [2, 2],
      ] as const) {
        const bounds = { max_votes_per_user: perUser, max_votes_per_option: perOption };
        const id = await show.draft({ ...bounds, correct_option: 2 });
        elements.push({ id, perUser, perOption, state: "draft", answer: 2, votes: new Map() });
      }
      const note = `seed ${run}`;
      const vote = async (element: ModelElement): Promise<void> => {
        const [fan, option] = [pick([0, 1, 2].filter(each => !account.has(each))), pick([1, 2, 3])];
        const own = element.votes.get(fan) ?? [];
        const isFull =
          own.length >= element.perUser || own.filter(each => each === option).length >= element.perOption;
        const expected = element.state !== "open" ? "vote_closed" : isFull ? "vote_limit" : "counted";
        const { status, json } = (await fans[fan]?.act("vote", { elementId: element.id, option })) ?? {};
        assert.equal(status === 200 ? "counted" : json.code, expected, note);
        if (expected === "counted") element.votes.set(fan, [...own, option]);
      };
      const act = async (element: ModelElement): Promise<void> => {
        const { id, state } = element;
        if (state === "draft") {
          await show.act("elements", id, "publish");
          element.state = "open";
        } else if (state === "open" && random() < 0.5) {
          await show.act("elements", id, "stop");
          element.state = "stopped";
        } else if (state === "answered" && random() < 0.5) {
          element.answer = pick([1, 2, 3]);
          await show.write(`/elements/${id}`, "PATCH", {
            data: { type: "elements", id, attributes: { correct_option: element.answer } },
          });
        } else if (state !== "revoked") {
          const isReveal = state !== "answered";
          await show.act("elements", id, isReveal ? "reveal_answer" : "revoke");
          element.state = isReveal ? "answered" : "revoked";
        }
      };
      const merge = async (): Promise<void> => {
        if (account.size > 0) return;
        const user = (fan: Fan | undefined) => ({
          ...{ organisationId: ids.organisation, spaceId: ids.space },
          ...{ projectId: ids.project, userId: fan?.userId ?? "" },
        });
        await world.platform.idle();
        await world.platform.loyalty.merge(user(fans[2]), user(fans[0]));
        account.set(2, 0);
        for (const { votes } of elements) {
          const moved = votes.get(2);
          votes.delete(2);
          if (moved !== undefined && !votes.has(0)) votes.set(0, moved);
        }
      };
      const settle = async (): Promise<void> => {
        await world.platform.idle();
        world.clock.advance(11_000);
        for (const _ of "12") {
          await world.platform.work();
          await world.platform.idle();
        }
      };
      for (let step = 0; step < steps; step++) {
        const chance = random();
        if (chance < 0.7) await vote(pick(elements));
        else if (chance < 0.95) await act(pick(elements));
        else await settle();
      }
      await settle();
      const paid = (fan: number): number =>
        elements
          .filter(({ state, votes }) => state === "answered" && votes.has(fan))
          .reduce(
            (sum, { votes, answer }) => sum + (votes.get(fan)?.every(each => each === answer) ? 10 : 1),
            0,
          );
      for (const [index, fan] of fans.entries()) {
        assert.equal((await fan.profile()).metrics.points ?? 0, paid(index), `${note} fan ${index}`);
      }
      await merge();
      for (const element of elements) await vote(element);
      const listed = (await show.votesOf(fans[0] as Fan)).json.data as { elementId: string; votes: number }[];
      assert.deepEqual(
        listed.map(({ elementId, votes }) => [elementId, votes]),
        elements.flatMap(({ id, votes }) => (votes.has(0) ? [[id, votes.get(0)?.length]] : [])),
        note,
      );
      await world.dispose();
    }
  });
});
