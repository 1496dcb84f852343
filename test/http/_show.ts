/** A show with elements that fans vote for. */

import assert from "node:assert/strict";
import { type Answer, type Fan, ids, type TestPlatform } from "../support/platform.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";

type Part = Readonly<Record<string, unknown>>;

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
export class Show {
  readonly world: TestPlatform;
  readonly #projectId: string;
  eventId = "";

  constructor(world: TestPlatform, projectId: string = ids.project) {
    this.world = world;
    this.#projectId = projectId;
  }

  async write(path: string, method: string, body: unknown): Promise<string> {
    const headers = await operatorHeaders(this.world);
    const answer = await this.world.call(`/api/v2${path}`, { method, body, headers });
    assert.ok(answer.status < 300, `${answer.status} ${answer.text}`);
    return answer.json?.data.id;
  }

  /** Creates the event and starts it. */
  async start(attributes: Part = {}): Promise<void> {
    const relationships = { project: to("projects", this.#projectId) };
    const all = { name: "Final", duration: 36_000, ...attributes };
    this.eventId = await this.write("/events", "POST", resource("events", all, { relationships }));
    await this.act("events", this.eventId, "start");
  }

  /** Creates a draft of a poll. */
  element(attributes: Part = {}): Promise<string> {
    const relationships = { event: to("events", this.eventId) };
    const all = { content_type: "poll", question, ...attributes };
    return this.write("/elements", "POST", resource("elements", all, { relationships }));
  }

  /** Creates and publishes a poll. */
  async publish(attributes: Part = {}): Promise<string> {
    const id = await this.element(attributes);
    await this.act("elements", id, "publish");
    return id;
  }

  act(type: "events" | "elements", id: string, action: string, attributes: Part = {}): Promise<string> {
    return this.write(`/${type}/${id}`, "PATCH", resource(type, { action, ...attributes }, { id }));
  }

  votesOf(fan: Fan, eventId: string = this.eventId): Promise<Answer> {
    return this.world.call(`/api/loyalty/votes?event_id=${eventId}`, { token: fan.token });
  }

  /** Returns the figures for screens once everything is counted. */
  async liveStats(): Promise<Stats> {
    await this.world.platform.idle();
    this.world.clock.advance(1_500);
    const prefix = this.eventId.slice(0, 2);
    return (await this.world.call(`/events/${prefix}/${this.eventId}/livestats.json`)).json;
  }
}
