/** A show with elements that fans vote for. */

import { type Answer, type Fan, ids, type TestPlatform } from "../support/platform.ts";
import { resource, to } from "./_control_examples.ts";
import { eventFeed, type Part, Producer } from "./_producer.ts";

const option = (text: string) => ({ fields: [{ key: "text", values: { all: text } }] });

/** A question with three options. */
export const question: Part = {
  fields: [{ key: "question", values: { all: "Who wins?" } }],
  options: ["Us", "Them", "Nobody"].map(option),
};

interface Stats {
  readonly elements: readonly {
    readonly id: string;
    readonly actions: number;
    readonly votes?: readonly number[];
  }[];
}

/** A producer with an event. */
export class Show extends Producer {
  readonly #projectId: string;
  eventId = "";

  constructor(world: TestPlatform, projectId: string = ids.project) {
    super(world);
    this.#projectId = projectId;
  }

  /** Creates the event and starts it. */
  async start(attributes: Part = {}): Promise<void> {
    const relationships = { project: to("projects", this.#projectId) };
    const all = { name: "Final", duration: 36_000, ...attributes };
    this.eventId = await this.write("/events", "POST", resource("events", all, { relationships }));
    await this.act("events", this.eventId, "start");
  }

  /** Creates a draft of a poll. */
  draft(attributes: Part = {}): Promise<string> {
    return this.element(this.eventId, { question, ...attributes });
  }

  /** Creates and publishes a poll. */
  async publish(attributes: Part = {}): Promise<string> {
    const id = await this.draft(attributes);
    await this.act("elements", id, "publish");
    return id;
  }

  votesOf(fan: Fan, eventId: string = this.eventId): Promise<Answer> {
    return this.world.call(`/api/loyalty/votes?event_id=${eventId}`, { token: fan.token });
  }

  /** Returns the figures for screens once everything is counted. */
  async liveStats(): Promise<Stats> {
    await this.world.platform.idle();
    return (await this.feed(eventFeed(this.eventId, "livestats"))) as unknown as Stats;
  }
}
